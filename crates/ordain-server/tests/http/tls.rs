//! TLS with real certificates: requests, silent clients, and a certificate that is replaced.

use crate::support::{Folder, Reply, Server, begin, exchange, proposal, raw, read_reply};
use ordain_server::limits::{CERTIFICATE_LOOK_EVERY, HANDSHAKES_MAX};
use ordain_server::{Tls, TlsError};
use ordain_testkit::{Authority, ServerCertificate};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion, version};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

type Encrypted = BufReader<StreamOwned<ClientConnection, TcpStream>>;

/// A folder with a certificate and its key.
struct Files {
    folder: Folder,
    authority: Authority,
}

impl Files {
    fn new() -> Self {
        let files = Self { folder: Folder::new(), authority: Authority::new("tests") };
        files.put(&files.authority.sign(&["gate.example", "localhost"]));
        files
    }

    fn certificate(&self) -> PathBuf {
        self.folder.0.join("chain.pem")
    }

    fn key(&self) -> PathBuf {
        self.folder.0.join("key.pem")
    }

    fn put(&self, signed: &ServerCertificate) {
        std::fs::write(self.certificate(), &signed.certificate).unwrap();
        self.put_key(&signed.key);
    }

    fn put_key(&self, key: &str) {
        std::fs::write(self.key(), key).unwrap();
        std::fs::set_permissions(self.key(), PermissionsExt::from_mode(0o600)).unwrap();
    }

    fn read(&self) -> Result<Tls, TlsError> {
        Tls::read(&self.certificate(), &self.key())
    }

    fn server(&self) -> Server {
        Server::over_tls(self.read().unwrap())
    }

    /// A client that knows the authority.
    fn client(&self, versions: &[&'static SupportedProtocolVersion]) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.authority.pem().as_bytes()).unwrap()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()));
        let config = config.with_protocol_versions(versions).unwrap();
        Arc::new(config.with_root_certificates(roots).with_no_client_auth())
    }

    fn connect(&self, server: &Server) -> Encrypted {
        connect(&self.client(&[&version::TLS13]), address(server))
    }

    fn ask(&self, server: &Server, request: &[u8]) -> Reply {
        let mut stream = self.connect(server);
        stream.get_mut().write_all(request).unwrap();
        read_reply(&mut stream)
    }

    fn get(&self, server: &Server, who: &str, path: &str) -> Reply {
        self.ask(server, &raw("GET", path, Some(server.token_of(who)), None))
    }

    /// The certificate that the server shows.
    fn shown(&self, server: &Server) -> CertificateDer<'static> {
        let mut stream = self.connect(server);
        let stream = stream.get_mut();
        stream.conn.complete_io(&mut stream.sock).unwrap();
        stream.conn.peer_certificates().unwrap()[0].clone().into_owned()
    }
}

fn address(server: &Server) -> SocketAddr {
    server.tls_address.unwrap()
}

fn connect(config: &Arc<ClientConfig>, address: SocketAddr) -> Encrypted {
    let name = ServerName::try_from("localhost").unwrap();
    let connection = ClientConnection::new(config.clone(), name).unwrap();
    BufReader::new(StreamOwned::new(connection, begin(address, b"")))
}

fn der(signed: &ServerCertificate) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(signed.certificate.as_bytes()).unwrap()
}

fn metric(server: &Server, name: &str) -> u64 {
    let metrics = server.ask_with(None, "GET", "/metrics", None).text();
    let line = metrics.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap_or_else(|| panic!("no `{name}` in {metrics}")).trim().parse().unwrap()
}

fn soon(mut done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < 4 * CERTIFICATE_LOOK_EVERY + Duration::from_secs(16));
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn requests_long_polls_and_streams_work_over_tls() {
    let files = Files::new();
    let server = files.server();
    server.submit(&proposal("p1", "write"));
    assert_eq!(files.get(&server, "ann", "/v1/actions/p1").expect(200)["state"], "held");
    // Both versions, and nothing else than HTTP/1.1.
    for version in [&version::TLS12, &version::TLS13] {
        let mut config = Arc::unwrap_or_clone(files.client(&[version]));
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let mut stream = connect(&Arc::new(config), address(&server));
        stream.get_mut().write_all(&raw("GET", "/health", None, None)).unwrap();
        read_reply(&mut stream).expect(200);
        assert_eq!(stream.get_ref().conn.alpn_protocol(), Some(&b"http/1.1"[..]));
        assert_eq!(stream.get_ref().conn.protocol_version(), Some(version.version));
    }
    // A stream and a long poll hear of an approval that comes while they wait.
    let mut events = files.connect(&server);
    let stream = raw("GET", "/v1/actions/p1/events", Some(server.token_of("audrey")), None);
    events.get_mut().write_all(&stream).unwrap();
    let mut heard = String::new();
    while !heard.contains("\"held\"") {
        assert_ne!(events.read_line(&mut heard).unwrap(), 0, "{heard}");
    }
    let status = server.get("ann", "/v1/actions/p1").expect(200);
    let mut poll = files.connect(&server);
    let wait = raw("GET", "/v1/actions/p1?wait=20", Some(server.token_of("andy")), None);
    poll.get_mut().write_all(&wait).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let started = Instant::now();
    for who in ["ann", "bob"] {
        server.approve(who, &status).expect(200);
    }
    assert_eq!(read_reply(&mut poll).expect(200)["state"], "allowed");
    while !heard.contains("\"allowed\"") {
        assert_ne!(events.read_line(&mut heard).unwrap(), 0, "{heard}");
    }
    assert!(started.elapsed() < Duration::from_secs(10));
    // An answer that is longer than a record of TLS.
    let mut long = proposal("p2", "write");
    long["parameters"]["text"] = "x".repeat(900 << 10).into();
    server.submit(&long);
    assert!(files.get(&server, "andy", "/v1/actions/p2").expect(200).to_string().len() > 900 << 10);
}

#[test]
fn browsers_are_told_to_stay_with_tls_only_over_tls_and_at_the_public_name() {
    let files = Files::new();
    let server = files.server();
    let health = |host: &str| format!("GET /health HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    let strict = |reply: &Reply| {
        assert_eq!(reply.status, 200);
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
        reply.header("strict-transport-security").map(str::to_owned)
    };
    let over_tls = |host: &str| strict(&files.ask(&server, health(host).as_bytes()));
    assert_eq!(over_tls("gate.example"), Some("max-age=31536000".to_owned()));
    assert_eq!(over_tls("Gate.Example:7171"), Some("max-age=31536000".to_owned()));
    assert_eq!((over_tls("localhost"), over_tls("127.0.0.1:1")), (None, None));
    assert_eq!(strict(&exchange(server.address, health("gate.example").as_bytes())), None);
    // The name of the console on this machine leads here without TLS only.
    for host in ["evil.example", "sub.gate.example", Server::CONSOLE, ""] {
        files.ask(&server, health(host).as_bytes()).refused(403, "host");
    }
}

#[test]
fn a_client_without_tls_or_with_an_old_one_is_told() {
    let files = Files::new();
    let server = files.server();
    let plain = exchange(address(&server), &raw("GET", "/v1/gate", Some("secret"), None));
    assert_eq!((plain.status, plain.header("cache-control")), (400, Some("no-store")));
    assert!(plain.text().contains("speaks TLS") && plain.text().contains("https://"), "{}", plain.text());
    // The same hello of TLS 1.1 and of 1.2: an alert (21), fatal (2), protocol_version (70), or a handshake (22).
    let answer = |version: u8| {
        let mut hello = vec![3, version];
        hello.extend([7; 32]);
        // No session, one suite, no compression; one signature algorithm, one group.
        hello.extend([0, 0, 2, 0xc0, 0x2b, 1, 0, 0, 16]);
        hello.extend([0, 13, 0, 4, 0, 2, 4, 3, 0, 10, 0, 4, 0, 2, 0, 23]);
        let body = [&[1, 0, 0, u8::try_from(hello.len()).unwrap()][..], &hello].concat();
        let record = [&[22, 3, 1, 0, u8::try_from(body.len()).unwrap()][..], &body].concat();
        let mut answer = [0; 7];
        begin(address(&server), &record).read_exact(&mut answer).unwrap();
        answer
    };
    assert_eq!(answer(2), [21, 3, 3, 0, 2, 2, 70]);
    assert_eq!(answer(3)[0], 22);
    soon(|| metric(&server, "ordain_tls_handshakes_failed_total") == 3);
    files.get(&server, "ann", "/v1/gate").expect(200);
}

/// Clients that connect and say nothing lose their place to those who do.
#[test]
fn a14_silent_connections_do_not_starve_others() {
    let files = Files::new();
    let mut server = files.server();
    let silent = |count: usize| -> Vec<TcpStream> {
        (0..count).map(|_| TcpStream::connect(address(&server)).unwrap()).collect()
    };
    let ask = || {
        let started = Instant::now();
        files.get(&server, "ann", "/v1/gate").expect(200);
        assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    };
    let mut first = silent(200);
    (0..5).for_each(|_| ask());
    // Half a hello is silence too.
    first.iter_mut().for_each(|stream| drop(stream.write_all(&[22, 3, 1])));
    (0..5).for_each(|_| ask());
    // More than there are places: those that began first are let go at once, and the later ones are not.
    let mut more = silent(HANDSHAKES_MAX);
    (0..5).for_each(|_| ask());
    let is_over = |stream: &mut TcpStream| {
        stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        !matches!(stream.read(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock)
    };
    assert!(first.iter_mut().all(is_over), "an old place is still taken");
    assert!(!is_over(more.last_mut().unwrap()));
    assert!(metric(&server, "ordain_tls_handshakes_failed_total") >= 200);
    // Nobody waits for them when the server ends.
    let started = Instant::now();
    server.stop();
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[test]
fn a_new_certificate_is_taken_and_one_that_cannot_be_used_is_not() {
    let files = Files::new();
    let server = files.server();
    let first = files.shown(&server);
    let mut kept = files.connect(&server);
    kept.get_mut().write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    read_reply(&mut kept).expect(200);
    let taken = || metric(&server, "ordain_tls_certificate_reloads_total{outcome=\"taken\"}");
    let refused = || metric(&server, "ordain_tls_certificate_reloads_total{outcome=\"refused\"}");
    assert_eq!((taken(), refused()), (0, 0));
    std::fs::write(files.certificate(), "no certificate").unwrap();
    soon(|| refused() == 1);
    assert_eq!(files.shown(&server), first);
    let end = "ordain_tls_certificate_end_seconds";
    let before = metric(&server, end);
    let next = files.authority.sign_in(&["gate.example", "localhost"], 2020..2080);
    files.put(&next);
    soon(|| taken() == 1);
    assert_eq!(files.shown(&server), der(&next));
    assert_eq!((before, metric(&server, end)), (4_102_444_800, 3_471_292_800));
    // A connection from before goes on.
    kept.get_mut().write_all(&raw("GET", "/health", None, None)).unwrap();
    read_reply(&mut kept).expect(200);
    assert_eq!((taken(), refused()), (1, 1));
}

#[test]
fn keys_that_others_could_use_and_files_that_do_not_fit_are_refused() {
    let files = Files::new();
    let refused = |says: &str| {
        let error = files.read().err().unwrap_or_else(|| panic!("`{says}` is missing"));
        assert!(error.to_string().contains(says), "{error}");
        error.hint()
    };
    let key = std::fs::read_to_string(files.key()).unwrap();
    for mode in [0o640, 0o604, 0o660] {
        std::fs::set_permissions(files.key(), PermissionsExt::from_mode(mode)).unwrap();
        assert!(refused("not private").unwrap().contains("chmod 600"));
    }
    files.put_key(&key);
    files.read().unwrap();
    let elsewhere = files.folder.0.join("elsewhere.pem");
    std::fs::rename(files.key(), &elsewhere).unwrap();
    refused("key.pem: entity not found");
    std::os::unix::fs::symlink(&elsewhere, files.key()).unwrap();
    assert!(refused("behind a link").unwrap().contains("install -m 600"));
    std::fs::remove_file(files.key()).unwrap();
    files.put_key(&files.authority.sign(&["gate.example"]).key);
    refused("does not belong to the certificate");
    files.put_key("no key");
    refused("no private key");
    // A certificate may be behind a link, as tools that renew it have it, and its key cannot be taken for it.
    files.put_key(&key);
    let chain = files.folder.0.join("chain-1.pem");
    std::fs::rename(files.certificate(), &chain).unwrap();
    std::os::unix::fs::symlink(&chain, files.certificate()).unwrap();
    files.read().unwrap();
    std::fs::write(&chain, &key).unwrap();
    assert!(refused("no certificate").is_some());
    std::fs::write(&chain, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").unwrap();
    refused("chain.pem");
    std::fs::remove_file(files.certificate()).unwrap();
    refused("chain.pem: No such file");
}
