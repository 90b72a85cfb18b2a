//! As much of HTTP/1.1 as a client of the gate needs: one connection that is kept, requests one after the other.

use serde_json::Value as Json;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Longer than the server takes to give up.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Client {
    address: String,
    token: String,
    connection: Option<BufReader<TcpStream>>,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) text: String,
}

impl Answer {
    #[track_caller]
    pub(crate) fn is(self, status: u16) -> Json {
        assert_eq!(self.status, status, "{}", self.text);
        self.json()
    }

    pub(crate) fn json(&self) -> Json {
        serde_json::from_str(&self.text).unwrap_or_default()
    }
}

impl Client {
    pub(crate) fn new(address: &str, token: &str) -> Self {
        Self { address: address.to_owned(), token: token.to_owned(), connection: None }
    }

    /// Opens the connection, so that the first request goes out at once.
    pub(crate) fn connect(&mut self) -> Result<()> {
        if self.connection.is_none() {
            let stream = TcpStream::connect(&self.address)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            self.connection = Some(BufReader::new(stream));
        }
        Ok(())
    }

    pub(crate) fn get(&mut self, path: &str) -> Result<Answer> {
        self.call("GET", path, None)
    }

    pub(crate) fn post(&mut self, path: &str, body: &Json) -> Result<Answer> {
        self.call("POST", path, Some(body))
    }

    /// One request. After an error nobody knows whether it was done, and the next one has a connection of its own.
    pub(crate) fn call(&mut self, method: &str, path: &str, body: Option<&Json>) -> Result<Answer> {
        self.connect()?;
        let mut connection = self.connection.take().ok_or(ErrorKind::NotConnected)?;
        let body = body.map(Json::to_string).unwrap_or_default();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            self.address,
            self.token,
            body.len()
        );
        connection.get_mut().write_all(request.as_bytes())?;
        let (answer, kept) = read(&mut connection)?;
        self.connection = kept.then_some(connection);
        Ok(answer)
    }
}

fn read(connection: &mut BufReader<TcpStream>) -> Result<(Answer, bool)> {
    let wrong = || Error::new(ErrorKind::InvalidData, "no answer of HTTP/1.1");
    let mut line = String::new();
    if connection.read_line(&mut line)? == 0 {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    let status = line.split(' ').nth(1).and_then(|it| it.parse().ok()).ok_or_else(wrong)?;
    let (mut length, mut kept) = (0, true);
    loop {
        let mut line = String::new();
        if connection.read_line(&mut line)? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let line = line.trim_end().to_ascii_lowercase();
        match line.split_once(':') {
            None => break,
            Some(("content-length", value)) => length = value.trim().parse().map_err(|_| wrong())?,
            Some(("connection", value)) => kept = value.trim() != "close",
            Some(_) => {}
        }
    }
    let mut body = vec![0; length];
    connection.read_exact(&mut body)?;
    Ok((Answer { status, text: String::from_utf8(body).map_err(|_| wrong())? }, kept))
}
