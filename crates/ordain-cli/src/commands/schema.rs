//! `ordain schema`.

use crate::exit::{self, Failure, Outcome};
use cedar_policy::SchemaFragment;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use ordain_canon::Canonicalizer;
use ordain_spec::Kind;
use std::io::Write;

#[derive(Args)]
#[command(after_help = exit::help(exit::PLAIN))]
pub(crate) struct Schema {
    /// The kind of document, or `policy`
    #[arg(value_name = "KIND", value_parser = schemas())]
    pub(crate) of: SchemaOf,
}

/// A schema that can be printed.
#[derive(Clone, Copy)]
pub(crate) enum SchemaOf {
    Kind(Kind),
    /// The schema of policies, in Cedar's form.
    Policy,
}

const POLICY: &str = "policy";

fn schemas() -> impl TypedValueParser<Value = SchemaOf> {
    let names = Kind::ALL.map(Kind::name).into_iter().chain([POLICY]);
    PossibleValuesParser::new(names).try_map(|name| match Kind::parse(&name) {
        _ if name == POLICY => Ok(SchemaOf::Policy),
        Some(kind) => Ok(SchemaOf::Kind(kind)),
        None => Err(format!("`{name}` has no schema")),
    })
}

pub(crate) fn run(args: &Schema, json: bool) -> Result<Outcome, Failure> {
    let mut stdout = std::io::stdout().lock();
    let schema = match args.of {
        SchemaOf::Kind(kind) => kind.schema(),
        SchemaOf::Policy if json => policy_schema()?,
        SchemaOf::Policy => {
            stdout.write_all(ordain_decision::schema_text().as_bytes())?;
            stdout.flush()?;
            return Ok(Outcome::Ok);
        }
    };
    if json {
        stdout.write_all(Canonicalizer::new().value(&schema)?)?;
    } else {
        serde_json::to_writer_pretty(&mut stdout, &schema).map_err(std::io::Error::from)?;
    }
    stdout.write_all(b"\n")?;
    stdout.flush()?;
    Ok(Outcome::Ok)
}

/// The schema of policies in Cedar's JSON form.
fn policy_schema() -> Result<serde_json::Value, Failure> {
    let wrong = |problem: String| Failure::Document { path: "the schema of policies".to_owned(), problem };
    let (schema, _) = SchemaFragment::from_cedarschema_str(&ordain_decision::schema_text())
        .map_err(|error| wrong(error.to_string()))?;
    schema.to_json_value().map_err(|error| wrong(error.to_string()))
}
