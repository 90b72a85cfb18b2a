//! Where a store is.

use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// Where a store is: in memory, in a file, or on a PostgreSQL server.
#[derive(Clone, PartialEq, Eq)]
pub enum Location {
    /// Gone when the last handle is dropped.
    Memory,
    /// A SQLite file.
    File(PathBuf),
    /// The URL of a database. It may hold a password, so that it is never shown as it is.
    Postgres(String),
}

impl Location {
    /// Reads `memory`, a URL that begins with `postgres://` or `postgresql://`, or a path.
    pub fn parse(text: &str) -> Self {
        match text {
            "memory" => Self::Memory,
            url if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
                Self::Postgres(url.to_owned())
            }
            path => Self::File(PathBuf::from(path)),
        }
    }
}

impl FromStr for Location {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self::parse(text))
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("memory"),
            Self::File(path) => write!(f, "`{}`", path.display()),
            Self::Postgres(url) => write!(f, "`{}`", without_secrets(url)),
        }
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Location({self})")
    }
}

/// The URL without user, password and parameters.
fn without_secrets(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", ""));
    // A password may hold an `@` or a `/` that nobody escaped.
    let place = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
    format!("{scheme}://{place}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        for url in [
            "postgres://anna:s3cret@db.example:5432/ordain",
            "postgresql://anna:s3cret@db.example:5432/ordain?sslmode=disable&password=s3cret",
            "postgres://anna:s3cret@s3cret/s3cret@db.example:5432/ordain",
        ] {
            let location = Location::parse(url);
            let shown = format!("{location} {location:?}");
            assert!(!shown.contains("s3cret") && !shown.contains("anna"), "{shown}");
            assert!(shown.contains("db.example:5432/ordain"), "{shown}");
        }
    }

    #[test]
    fn a_path_is_what_is_nothing_else() {
        assert_eq!(Location::parse("memory"), Location::Memory);
        assert_eq!(Location::parse("./memory"), Location::File("./memory".into()));
        assert_eq!(Location::parse("postgres.db"), Location::File("postgres.db".into()));
    }
}
