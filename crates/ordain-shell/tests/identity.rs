//! Which commands do the same, however they are spelled.

#![allow(clippy::panic, reason = "a test may fail loudly")]

use ordain_shell::{EffectKind, Identity, Place, analyse};

/// The things that the effects of a kind are about.
fn of(kind: EffectKind, command: &str) -> Vec<Option<Identity>> {
    let place = Place { workspace: Some("/w"), cwd: ".", home: None };
    let effects = analyse(command, &place).effects;
    let found: Vec<_> = effects.iter().filter(|it| it.effect == kind).map(|it| it.identity()).collect();
    assert!(!found.is_empty(), "{command}: {effects:?}");
    found
}

#[test]
fn pushes_to_one_ref_are_the_same() {
    let sets: [&[&str]; 5] = [
        &[
            "git push origin main",
            "git  push  'origin'  main",
            "git -C sub push origin main",
            "bash -c 'env git push origin main'",
            "git push -f origin main",
            "git push origin +main",
            "git push origin HEAD:main",
            "git push origin next:refs/heads/main",
            "git push origin :main",
            "git push --force-with-lease origin refs/heads/main",
            "true; git push origin main # nothing to see",
        ],
        &["git push", "git  push", "\"git\" 'push'", "git --no-pager push", "env -i git push"],
        &["git push origin next", "git push origin heads/next", "git push -u origin next"],
        &[
            "git push https://github.com/acme/shop main",
            "git push https://me:secret@GitHub.com/acme/shop.git/ main",
            "git push git@github.com:acme/shop.git main",
            "git push ssh://git@github.com:22/acme/shop main:main",
        ],
        &["git push https://github.com/acme/other main"],
    ];
    let seen: Vec<_> = sets
        .iter()
        .map(|same| {
            let first = of(EffectKind::GitPush, same[0]);
            for spelling in *same {
                assert_eq!(of(EffectKind::GitPush, spelling), first, "{spelling}");
            }
            first
        })
        .collect();
    for (at, one) in seen.iter().enumerate() {
        assert!(seen.iter().skip(at + 1).all(|other| other != one), "{one:?} is two things");
    }
}

#[test]
fn some_things_are_others_in_other_workspaces() {
    let cases = [
        (EffectKind::GitPush, "git push origin main", true),
        (EffectKind::GitPush, "git push", true),
        (EffectKind::GitPush, "git push ../other.git main", true),
        (EffectKind::GitPush, "git push https://github.com/acme/shop main", false),
        (EffectKind::GitPush, "git push https://github.com/acme/shop", true),
        (EffectKind::Delete, "rm -r dist", true),
        (EffectKind::Delete, "rm /etc/hosts", false),
        (EffectKind::Delete, "rm \"$X\"", true),
        (EffectKind::Publish, "npm publish", true),
        (EffectKind::NetworkWrite, "curl -d x https://example.org/", false),
    ];
    for (kind, command, of_workspace) in cases {
        let found = of(kind, command);
        let fits = |it: &Option<Identity>| it.as_ref().is_some_and(|it| it.of_workspace == of_workspace);
        assert!(found.iter().all(fits), "{command}: {found:?}");
    }
}

#[test]
fn what_cannot_be_read_has_no_identity() {
    assert_eq!(of(EffectKind::Opaque, "GIT=git; $GIT push"), [None]);
    assert_eq!(of(EffectKind::Opaque, "frobnicate --hard"), [None]);
}
