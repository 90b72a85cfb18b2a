//! `ordain id`.

use super::hash::{print_line, problem, write_line};
use crate::arguments::Lines;
use crate::document::document_failure;
use crate::exit::{self, Failure, Outcome};
use crate::lines::each;
use clap::{Args, ValueEnum};
use ordain_canon::{Canonicalizer, DerivedId, Value};

#[derive(Args)]
#[command(after_help = exit::help(exit::PLAIN))]
pub(crate) struct Id {
    #[command(flatten)]
    pub(crate) lines: Lines,
    /// The part of a document to derive the id of
    #[arg(long = "kind", value_enum, value_name = "WHAT")]
    pub(crate) what: IdOf,
}

#[derive(ValueEnum, Clone, Copy)]
pub(crate) enum IdOf {
    /// A node of a bundle
    Node,
    /// A question
    Question,
    /// An output of a bundle
    Output,
    /// An action of a plan proposal
    Action,
    /// A plan proposal
    Plan,
    /// A bundle
    Bundle,
}

impl From<IdOf> for DerivedId {
    fn from(what: IdOf) -> Self {
        match what {
            IdOf::Node => Self::Node,
            IdOf::Question => Self::Question,
            IdOf::Output => Self::Output,
            IdOf::Action => Self::Action,
            IdOf::Plan => Self::Plan,
            IdOf::Bundle => Self::Bundle,
        }
    }
}

pub(crate) fn run(args: &Id, json: bool) -> Result<Outcome, Failure> {
    let kind = DerivedId::from(args.what);
    let derive = |canon: &mut Canonicalizer, document: &Value<'_>| {
        kind.of(canon, document).map_err(|error| problem(error.to_string()))
    };
    each(
        &args.lines,
        |canon, source| {
            let text = source.text()?;
            let id = text.read(&text.json).and_then(|document| derive(canon, &document));
            print_line("id", &id.map_err(|wrong| document_failure(source, &wrong))?, json)
        },
        |canon, line, output| {
            let id = derive(canon, &Value::read(line)?)?;
            write_line("id", &id, json, output);
            Ok(())
        },
    )
}
