//! Hostile behaviours, one for each name.
fn main() {
    ordain_harness::sandbox::enter_if_asked();
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let ws = args.remove(0);
    let mut session =
        ordain_harness::sandbox::Session::new(ws, ordain_spec::profile::Profile::built_in("dev").unwrap());
    session.steps.push(ordain_harness::sandbox::Step::new(args));
    match ordain_harness::sandbox::run(&session) {
        Ok(report) => {
            println!("{}", serde_json::to_string_pretty(&report).unwrap());
            for step in &report.steps {
                println!(
                    "OUT {}\nERR {}",
                    String::from_utf8_lossy(&step.stdout.kept),
                    String::from_utf8_lossy(&step.stderr.kept)
                );
            }
        }
        Err(error) => println!("ERROR {error}"),
    }
}
