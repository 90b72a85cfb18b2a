//! `ordain policy show`.

use crate::arguments::Connect;
use crate::exit::{self, Failure, Outcome};
use crate::gateway::{Gateway, Purpose};
use crate::output::{print_json, print_page};
use crate::page::Page;
use clap::Args;

#[derive(Args)]
#[command(after_help = exit::help(exit::PLAIN))]
pub(crate) struct PolicyShow {
    /// The hash of earlier policies; without it those in force
    #[arg(value_name = "HASH")]
    pub(crate) hash: Option<String>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(super) fn run(args: &PolicyShow, json: bool) -> Result<Outcome, Failure> {
    let gateway = Gateway::open(&args.connect, Purpose::Look)?;
    let Some(policy) = gateway.client().policy(args.hash.as_deref())? else {
        return Err(match &args.hash {
            Some(hash) => Failure::unknown("policies", hash),
            None => Failure::Document {
                path: "policy".to_owned(),
                problem: "no policies are in force".to_owned(),
            }
            .with_hint("run `ordain policy push` to put a folder in force"),
        });
    };
    if json {
        print_json(&policy)?;
        return Ok(Outcome::Ok);
    }
    let mut page = Page::default();
    page.title("policies", &policy.policy_hash);
    page.label("in force", if policy.active { "yes" } else { "no" });
    for (name, text) in &policy.files {
        page.section(name);
        page.content(text);
    }
    print_page(&page)?;
    Ok(Outcome::Ok)
}
