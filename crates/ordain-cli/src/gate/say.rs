//! `ordain approve` and `ordain reject`.

use super::{page, print_page, submit};
use crate::args::{Approve, Reject};
use crate::exit::{Failure, Outcome};
use crate::gateway::{Gateway, Purpose, escaped};
use crate::page::Page;
use crate::report::printable;
use ordain_api::{ActionState, ActionStatus, VerdictRequest};
use ordain_spec::approval::Verdict;
use std::io::{BufRead, IsTerminal, Write};

pub(crate) fn approve(args: &Approve, json: bool) -> Result<Outcome, Failure> {
    let gateway = Gateway::open(&args.connect, Purpose::Decide, json)?;
    let view_digest = match &args.view {
        Some(digest) => digest.clone(),
        None => {
            let status: ActionStatus = gateway.get(&format!("/v1/actions/{}", escaped(&args.id)))?;
            if status.state == ActionState::Held && !asked(&status)? {
                return Err(Failure::Server("nothing was approved".to_owned()));
            }
            status.view_digest
        }
    };
    let say = VerdictRequest { verdict: Verdict::Approve, reason: args.reason.clone(), view_digest };
    send(&gateway, &args.id, &say, json)
}

pub(crate) fn reject(args: &Reject, json: bool) -> Result<Outcome, Failure> {
    let gateway = Gateway::open(&args.connect, Purpose::Decide, json)?;
    let view_digest = match &args.view {
        Some(digest) => digest.clone(),
        None => gateway.get::<ActionStatus>(&format!("/v1/actions/{}", escaped(&args.id)))?.view_digest,
    };
    let say = VerdictRequest { verdict: Verdict::Reject, reason: args.reason.clone(), view_digest };
    send(&gateway, &args.id, &say, json)
}

fn send(gateway: &Gateway, id: &str, say: &VerdictRequest, json: bool) -> Result<Outcome, Failure> {
    let status: ActionStatus = gateway.post(&format!("/v1/actions/{}/approvals", escaped(id)), say)?;
    submit::show(&status, json)?;
    Ok(submit::outcome(&status))
}

/// Shows what there is to approve, and asks. Nobody approves what they were not shown.
fn asked(status: &ActionStatus) -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::Usage(format!(
            "nobody was shown what there is to approve; run this on a terminal, or name what was shown: --view DIGEST, which is \
             `view_digest` of `ordain status {} --json`",
            printable(&status.action_id)
        )));
    }
    let mut page = Page::default();
    page::action(&mut page, status);
    page::shown(&mut page, status);
    print_page(&page)?;
    let mut stdout = anstream::stdout().lock();
    write!(stdout, "\nApprove this? [y/N] ")?;
    stdout.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
