//! Databases of their own on the server that `cargo xtask test` starts.

/// A database. Removed at the end.
pub(crate) struct Database {
    pub(crate) url: String,
    name: String,
}

impl Database {
    pub(crate) fn new() -> Self {
        let name = super::unique("ordain_cli");
        execute(&server(), &format!("CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'"));
        let server = server();
        let (start, _) = server.rsplit_once('/').unwrap();
        Self { url: format!("{start}/{name}"), name }
    }

    /// Whether anybody is let in. Present sessions are thrown out.
    pub(crate) fn let_in(&self, open: bool) {
        let name = &self.name;
        execute(&server(), &format!("ALTER DATABASE {name} ALLOW_CONNECTIONS {open}"));
        let out = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'");
        execute(&server(), &out);
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        execute(&server(), &format!("DROP DATABASE {} WITH (FORCE)", self.name));
    }
}

fn server() -> String {
    std::env::var("ORDAIN_TEST_POSTGRES").expect(
        "ORDAIN_TEST_POSTGRES names no server; run `cargo xtask test`, which starts one, or name one where databases \
         may be created",
    )
}

fn execute(url: &str, sql: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    });
}
