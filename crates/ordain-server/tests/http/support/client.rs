//! An HTTP client that sends exactly the bytes it is given.

use serde_json::Value as Json;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// An answer.
#[derive(Clone, Debug)]
pub struct Reply {
    /// 0 if the server closed the connection without one.
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Json {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The JSON of an answer with this status.
    #[track_caller]
    pub fn expect(&self, status: u16) -> Json {
        assert_eq!(self.status, status, "{}", self.text());
        self.json()
    }

    /// A problem with this status whose text says something.
    #[track_caller]
    pub fn refused(&self, status: u16, says: &str) {
        assert_eq!(self.status, status, "{}", self.text());
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
        assert_eq!(self.header("cache-control"), Some("no-store"));
        let problem = self.json();
        assert_eq!(
            (problem["status"].as_u64(), problem["type"].as_str()),
            (Some(u64::from(status)), Some("about:blank"))
        );
        assert_eq!(problem["correlation_id"].as_str(), self.header("x-request-id"));
        assert!(self.text().contains(says), "`{says}` is not in {}", self.text());
    }
}

/// The bytes of a request that closes its connection.
pub fn raw(method: &str, path: &str, token: Option<&str>, body: Option<&str>) -> Vec<u8> {
    let mut request = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
    if let Some(token) = token {
        request += &format!("Authorization: Bearer {token}\r\n");
    }
    if let Some(body) = body {
        request += &format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
    }
    request += "\r\n";
    request += body.unwrap_or_default();
    request.into_bytes()
}

/// A connection on which something was sent.
pub fn begin(address: SocketAddr, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    // The server may have answered and closed before everything is sent.
    let _ = stream.write_all(bytes);
    stream
}

/// Sends bytes and reads what comes until the connection is closed.
pub fn exchange(address: SocketAddr, bytes: &[u8]) -> Reply {
    read_reply(&mut BufReader::new(begin(address, bytes)))
}

pub fn read_reply(stream: &mut impl BufRead) -> Reply {
    let (status, headers) = read_head(stream);
    let mut reply = Reply { status, headers, body: Vec::new() };
    if reply.header("transfer-encoding") == Some("chunked") {
        while let Some(chunk) = read_chunk(stream) {
            reply.body.extend(chunk);
        }
    } else if let Some(length) = reply.header("content-length") {
        let length: u64 = length.parse().unwrap();
        let _ = stream.take(length).read_to_end(&mut reply.body);
    }
    reply
}

fn read_head(stream: &mut impl BufRead) -> (u16, Vec<(String, String)>) {
    let mut line = String::new();
    if stream.read_line(&mut line).unwrap_or_default() == 0 {
        return (0, Vec::new());
    }
    let status = line.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or_default();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).unwrap_or_default();
        match line.trim_end().split_once(": ") {
            Some((name, value)) => headers.push((name.to_lowercase(), value.to_owned())),
            None => return (status, headers),
        }
    }
}

fn read_chunk(stream: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut line = String::new();
    stream.read_line(&mut line).ok()?;
    let length = usize::from_str_radix(line.trim_end(), 16).ok()?;
    let mut chunk = vec![0; length + 2];
    stream.read_exact(&mut chunk).ok()?;
    chunk.truncate(length);
    (length > 0).then_some(chunk)
}

/// A stream of server-sent events.
pub struct Events {
    pub status: u16,
    stream: BufReader<TcpStream>,
    text: String,
}

impl Events {
    pub fn open(address: SocketAddr, path: &str, token: &str) -> Self {
        let mut stream = BufReader::new(begin(address, &raw("GET", path, Some(token), None)));
        let (status, _) = read_head(&mut stream);
        Self { status, stream, text: String::new() }
    }

    /// The same with exactly these headers.
    pub fn open_with(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> Self {
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let request = format!("GET {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n");
        let mut stream = BufReader::new(begin(address, request.as_bytes()));
        let (status, _) = read_head(&mut stream);
        Self { status, stream, text: String::new() }
    }
}

/// The event's name and its data; comments that keep the connection alive are left out.
impl Iterator for Events {
    type Item = (String, Json);

    fn next(&mut self) -> Option<(String, Json)> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.text = rest;
                let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
                if let (Some(name), Some(data)) = (field("event: "), field("data: ")) {
                    return Some((name.to_owned(), serde_json::from_str(data).unwrap()));
                }
                continue;
            }
            self.text += std::str::from_utf8(&read_chunk(&mut self.stream)?).unwrap();
        }
    }
}
