//! `ordain keys`.

use crate::arguments::Connect;
use crate::clock::when;
use crate::exit::{self, Failure, Outcome};
use crate::gateway::{Gateway, Purpose};
use crate::output::{print_json, print_page};
use crate::page::Page;
use crate::signing;
use clap::{Args, Subcommand};
use ordain_api::{Jwk, KeyStatus};
use ordain_client::Client;
use ordain_gate::note_verifier;
use serde_json::json;

#[derive(Args)]
pub(crate) struct Keys {
    #[command(subcommand)]
    pub(crate) command: KeysCommand,
}

#[derive(Subcommand)]
pub(crate) enum KeysCommand {
    /// List the public keys of permits and checkpoints
    List(KeysList),
    /// Sign with a new key from now on; permits of the old one hold as long as they say
    Rotate(KeysList),
}

#[derive(Args)]
#[command(after_help = exit::help(exit::PLAIN))]
pub(crate) struct KeysList {
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(crate) fn run(args: &Keys, json: bool) -> Result<Outcome, Failure> {
    match &args.command {
        KeysCommand::Rotate(args) => {
            let gateway = Gateway::open(&args.connect, Purpose::Write)?;
            let (client, signed_for) = signing::for_rotation(gateway.client())?;
            let KeyStatus { key_id, public_key, retired_at_ms, .. } = client.rotate_key()?;
            if signed_for.is_some_and(|signed_for| signed_for != public_key) {
                let problem =
                    format!("the gate signs with another key than the one that you signed for: {public_key}");
                return Err(Failure::Server(problem).with_hint("run `ordain verify --owner KEY`"));
            }
            show(gateway.client(), &[Key { id: key_id, public: public_key, retired_at_ms }], json)
        }
        KeysCommand::List(args) => {
            let gateway = Gateway::open(&args.connect, Purpose::Look)?;
            let keys: Vec<Key> = gateway.client().keys()?.keys.into_iter().map(Key::from).collect();
            show(gateway.client(), &keys, json)
        }
    }
}

/// A public key, as it is shown.
struct Key {
    id: String,
    public: String,
    retired_at_ms: Option<u64>,
}

impl From<Jwk> for Key {
    fn from(key: Jwk) -> Self {
        Self { id: key.kid, public: key.x, retired_at_ms: key.retired_at_ms }
    }
}

fn show(client: &Client, keys: &[Key], json: bool) -> Result<Outcome, Failure> {
    let origin = client.gate()?.origin;
    let mut page = Page::default();
    for Key { id, public, retired_at_ms } in keys {
        let verifier = note_verifier(&origin, public).map(|verifier| verifier.to_string());
        if json {
            let mut key = json!({"key_id": id, "public_key": public, "verifier": verifier});
            if let (Some(retired_at_ms), Some(members)) = (retired_at_ms, key.as_object_mut()) {
                members.insert("retired_at_ms".to_owned(), json!(retired_at_ms));
            }
            print_json(&key)?;
            continue;
        }
        page.title("key", id);
        page.label("public", public);
        page.label(
            "state",
            &retired_at_ms.map_or_else(|| "signs".to_owned(), |at_ms| format!("retired {}", when(at_ms))),
        );
        page.label("verifier", verifier.as_deref().unwrap_or("cannot be checked with this key"));
    }
    print_page(&page)?;
    Ok(Outcome::Ok)
}
