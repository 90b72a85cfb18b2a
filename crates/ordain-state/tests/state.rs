//! The permissions of the state directory, and the project that a folder belongs to.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

use ordain_state::{GateId, GateSettings, Home, Project, Unlocated, WorktreeFolder};
use std::fs::{self, Permissions};
use std::os::fd::AsFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

struct Scene {
    _top: tempfile::TempDir,
    work: PathBuf,
    home: Home,
    gate: GateId,
}

impl Scene {
    fn new() -> Self {
        let top = tempfile::Builder::new().permissions(Permissions::from_mode(0o755)).tempdir().unwrap();
        let base = top.path().canonicalize().unwrap();
        let work = base.join("work");
        fs::create_dir_all(work.join("shop/src")).unwrap();
        let home = Home::in_folder(&base.join("state"));
        let gate = GateId::random().unwrap();
        home.create_gate(&GateSettings { id: gate.clone(), store: None }).unwrap();
        Self { _top: top, work, home, gate }
    }

    fn register(&self, folder: &str) -> Result<(), String> {
        let project = Project::of(&self.work.join(folder), self.gate.clone()).unwrap();
        let added = self.home.change_registry(|registry| registry.add(&self.home, project));
        added.map_err(|error| error.to_string())
    }

    /// The folder that the paths of a folder's project are relative to.
    fn root(&self, folder: &str) -> Result<Option<PathBuf>, String> {
        let found = self.home.project_of(&self.work.join(folder));
        found.map(|found| found.map(|belongs| belongs.root)).map_err(|error| error.to_string())
    }
}

impl Scene {
    fn levels_up(&self, folder: &fs::File) -> Result<usize, Unlocated> {
        let located = self.home.registry().unwrap().locate(&self.gate, folder.as_fd());
        located.map(|located| located.levels_up)
    }
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn the_longest_registered_path_counts_and_no_file_in_it_does() {
    let scene = Scene::new();
    assert_eq!(scene.root("shop/src"), Ok(None));
    scene.register("shop").unwrap();
    assert_eq!(scene.root("shop/src"), Ok(Some(scene.work.join("shop"))));
    assert_eq!(scene.root(""), Ok(None));
    // A link leads where it leads.
    symlink(scene.work.join("shop/src"), scene.work.join("link")).unwrap();
    assert_eq!(scene.root("link"), Ok(Some(scene.work.join("shop"))));
    for taken in ["shop", "shop/src", ""] {
        let error = scene.register(taken).unwrap_err();
        assert!(error.contains("registered"), "{error}");
    }
}

#[test]
fn a1_a_moved_or_replaced_project_is_an_error_and_never_a_folder_without_a_gate() {
    let scene = Scene::new();
    scene.register("shop").unwrap();
    fs::rename(scene.work.join("shop"), scene.work.join("away")).unwrap();
    let error = scene.root("away/src").unwrap_err();
    assert!(error.contains("is registered as"), "{error}");
    fs::create_dir_all(scene.work.join("shop/src")).unwrap();
    let error = scene.root("shop/src").unwrap_err();
    assert!(error.contains("is not the folder that was registered"), "{error}");
}

#[test]
fn worktrees_count_below_the_folder_that_was_named() {
    let scene = Scene::new();
    fs::create_dir_all(scene.work.join("trees/one/src")).unwrap();
    fs::write(scene.work.join("trees/one/.git"), "gitdir: elsewhere").unwrap();
    scene.register("shop").unwrap();
    assert_eq!(scene.root("trees/one/src"), Ok(None));
    scene
        .home
        .change_registry(|registry| {
            let trees = scene.work.join("trees");
            let trees = WorktreeFolder::of(&trees).unwrap();
            registry.projects.iter_mut().for_each(|project| project.worktrees.push(trees.clone()));
            Ok::<_, ordain_state::StateError>(())
        })
        .unwrap();
    assert_eq!(scene.root("trees/one/src"), Ok(Some(scene.work.join("trees/one"))));
    assert_eq!(scene.root("trees"), Ok(Some(scene.work.join("trees"))));
    for (folder, levels) in [("trees/one/src", 1), ("trees/one", 0), ("trees/two/src", 1), ("trees", 0)] {
        fs::create_dir_all(scene.work.join(folder)).unwrap();
        assert_eq!(
            scene.levels_up(&fs::File::open(scene.work.join(folder)).unwrap()),
            Ok(levels),
            "{folder}"
        );
    }
}

/// A descriptor says which folder it is, whatever its path is now.
#[test]
fn an_open_folder_belongs_to_the_nearest_registered_one() {
    let scene = Scene::new();
    let open = |folder: &str| fs::File::open(scene.work.join(folder)).unwrap();
    assert_eq!(scene.levels_up(&open("shop")), Err(Unlocated::NotRegistered));
    scene.register("shop").unwrap();
    assert_eq!(scene.levels_up(&open("shop")), Ok(0));
    assert_eq!(scene.levels_up(&open("shop/src")), Ok(1));
    assert_eq!(scene.levels_up(&open("")), Err(Unlocated::NotRegistered));
    fs::write(scene.work.join("shop/file"), "x").unwrap();
    assert_eq!(scene.levels_up(&open("shop/file")), Err(Unlocated::NotAFolder));
    // The id of another gate.
    let registry = scene.home.registry().unwrap();
    let other = registry.locate(&GateId::random().unwrap(), open("shop").as_fd());
    assert_eq!(other.unwrap_err(), Unlocated::NotRegistered);
    // A renamed folder is the same folder; one in its place is another.
    let held = open("shop/src");
    fs::rename(scene.work.join("shop"), scene.work.join("away")).unwrap();
    assert_eq!(scene.levels_up(&held), Ok(1));
    assert_eq!(scene.levels_up(&open("away")), Ok(0));
    fs::create_dir_all(scene.work.join("shop")).unwrap();
    assert_eq!(scene.levels_up(&open("shop")), Err(Unlocated::NotRegistered));
    // A deleted one is none.
    let held = open("away");
    fs::remove_dir_all(scene.work.join("away")).unwrap();
    assert_eq!(scene.levels_up(&held), Err(Unlocated::Deleted));
}

#[test]
fn a16_everything_is_private_whatever_the_umask() {
    let before = rustix::process::umask(rustix::fs::Mode::empty());
    let scene = Scene::new();
    scene.register("shop").unwrap();
    rustix::process::umask(before);
    let gate = scene.home.gate(&scene.gate);
    for folder in [scene.home.path().parent().unwrap(), scene.home.path(), gate.path()] {
        assert_eq!(mode(folder), 0o700, "{}", folder.display());
    }
    for file in [scene.home.path().join("registry.json"), gate.path().join("gate.json")] {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
    fs::set_permissions(gate.path(), Permissions::from_mode(0o750)).unwrap();
    assert!(gate.settings().err().unwrap().to_string().contains("others may use it (mode 750)"));
    fs::set_permissions(gate.path(), Permissions::from_mode(0o700)).unwrap();
    assert!(gate.settings().is_ok());
}

#[test]
fn a17_links_on_the_way_to_the_state_are_refused() {
    let scene = Scene::new();
    scene.register("shop").unwrap();
    let gate = scene.home.gate(&scene.gate);
    let settings = gate.path().join("gate.json");
    fs::rename(&settings, gate.path().join("elsewhere")).unwrap();
    symlink(gate.path().join("elsewhere"), &settings).unwrap();
    assert!(gate.settings().err().unwrap().to_string().contains("is a link"));
    // The folder of a gate, and the state directory itself.
    let moved = scene.home.path().with_extension("moved");
    fs::rename(scene.home.path(), &moved).unwrap();
    symlink(&moved, scene.home.path()).unwrap();
    assert!(scene.root("shop").unwrap_err().contains("is a link"));
    // Root's own links are part of the system; this test may run as root, and then its links are root's.
    if !rustix::process::geteuid().is_root() {
        let through = scene.work.join("through");
        symlink(moved.parent().unwrap(), &through).unwrap();
        let error = Home::in_folder(&through).registry().err().unwrap().to_string();
        assert!(error.contains("is a link on the way"), "{error}");
    }
}

#[test]
fn the_state_lies_in_no_project() {
    let scene = Scene::new();
    let project = Project::of(scene.work.parent().unwrap(), scene.gate.clone()).unwrap();
    let refused = scene.home.change_registry(|registry| registry.add(&scene.home, project));
    assert!(refused.unwrap_err().to_string().contains("must lie outside every project"));
}
