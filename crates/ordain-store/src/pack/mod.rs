//! The compact form of the documents that are kept with an entry: hashes and permits as bytes, the rest by LZ4 with a
//! dictionary. Every byte comes back as it was.

mod block;

use crate::limits::{CHANGE_BYTES_MAX, DOCUMENT_BYTES_MAX};
use crate::{StoreError, checks};
use base64ct::{Base64UrlUnpadded, Encoding};
use lz4_flex::block::{compress_with_dict, decompress_with_dict};

/// The first byte of a packed list. Another dictionary or another form needs another version.
const VERSION: u8 = 1;

/// Texts that nearly every document has. The most frequent are last, where LZ4 finds them first.
const DICTIONARY: &[u8] = br#"{"affected_records":null,"at_ms":17,"by":"","duration_ms":null,"outcome":"succeeded","reason":""}{"approver":"","at_ms":17,"proposal_hash":"","reason":"","verdict":"approve","verdict":"reject","view_digest":""}"risk_envelope":{"allowed_side_effects":[],"forbidden_effects":[],"max_affected_records":1,"reversible_required":false},"rollback_semantics":{"strategy":"none"},"preconditions":[{"evidence_ref":"","field":"","operator":"eq","value":true}],"evidence_bindings":[{"evidence_id":"","hash":""}],"approval_class":"none","time_window":{"max_duration_ms":,"valid_from_ms":17,"valid_until_ms":17},{"message":"","path":"","policies":[],"rule_id":"G"},"class":"single","required":1},"outcome":"HOLD","outcome":"DENY",{"action_type":"write","actor":"","parameters":{"input":{},"command":"","cwd":"","path":"","content":"","patch_hash":"","diff":"","fields":["email","name"]},"proposal_id":"","target":{"constraints":{},"domain":"workspace","resource_id":"","resource_type":"file"},"ts_ms":17,{"action_type":"read","actor":"{"approvals":{"class":"none","have":[],"required":0},"decided_at_ms":17,"decision_schema_version":"0.1.0","evidence_set_hash":"","outcome":"ALLOW","policy_hash":"","proposal_hash":"","proposal_id":"","reasons":[]}{"approval_documents":[],"evidence_documents":[],"files_document":"","halted":false,"now_ms":17,"proposal_document":""}{"alg":"EdDSA","kid":"","typ":"ordain-permit+jwt"}{"action_type":"read","aud":"worker","evidence_set_hash":"","exp":17,"iat":17,"iss":"","jti":"permit_","ledger_index":,"max_executions":1,"nbf":17,"nonce":"","parameters_hash":"","policy_hash":"","proposal_hash":"","proposal_id":"","sub":"","target_hash":""}"#;

const DICTIONARY_TABLE: [u16; 4096] = block::table_of(DICTIONARY);

/// `sha256:` and 64 digits follow as 32 bytes. No UTF-8 text has this byte or the next one.
const HASH: u8 = 0xff;
/// So many pairs of lower-case hexadecimal digits follow as bytes.
const HEX: u8 = 0xfe;
const HASH_PREFIX: &[u8] = b"sha256:";
const HASH_DIGITS: usize = 64;
/// Fewer pairs are not worth their two bytes.
const HEX_PAIRS_MIN: usize = 8;
const HEX_PAIRS_MAX: usize = 255;

/// How a document is written.
const RAW: u8 = 0;
const TEXT: u8 = 1;
const TOKEN: u8 = 2;

/// Documents in their compact form, made before the writer's turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    pub(crate) bytes: Vec<u8>,
    /// The bytes of the documents as they were.
    pub(crate) plain_bytes: usize,
}

impl Packed {
    /// Packs documents. This is work for the caller's thread: the writer serves everybody.
    pub fn of(documents: &[Vec<u8>]) -> Result<Self, StoreError> {
        let mut plain_bytes = 0;
        for document in documents {
            checks::length("a document", document.len(), DOCUMENT_BYTES_MAX)?;
            plain_bytes += document.len();
        }
        checks::length("all that a change writes", plain_bytes, CHANGE_BYTES_MAX)?;
        Ok(Self { bytes: pack(documents), plain_bytes })
    }
}

/// Packs documents.
pub(crate) fn pack(documents: &[Vec<u8>]) -> Vec<u8> {
    let documents_bytes = documents.iter().map(Vec::len).sum::<usize>();
    let mut window = Vec::with_capacity(DICTIONARY.len() + documents_bytes + documents.len() * 8);
    window.extend_from_slice(DICTIONARY);
    let mut part = Vec::new();
    for document in documents {
        push_document(&mut window, document, &mut part);
    }
    let plain = window.get(DICTIONARY.len()..).unwrap_or_default();
    let mut packed = Vec::with_capacity(plain.len() / 2 + 16);
    packed.push(VERSION);
    push_length(&mut packed, plain.len());
    if window.len() <= block::WINDOW_MAX {
        block::compress(&window, DICTIONARY.len(), DICTIONARY_TABLE, &mut packed);
    } else {
        packed.extend_from_slice(&compress_with_dict(plain, DICTIONARY));
    }
    packed
}

/// Gives the documents back; `None` for anything that [`pack`] did not write.
pub(crate) fn unpack(packed: &[u8], bytes_max: usize) -> Option<Vec<Vec<u8>>> {
    let (version, mut rest) = packed.split_first()?;
    if *version != VERSION {
        return None;
    }
    let length = take_length(&mut rest).filter(|length| *length <= bytes_max)?;
    let plain = decompress_with_dict(rest, length, DICTIONARY).ok()?;
    if plain.len() != length {
        return None;
    }
    let mut plain = plain.as_slice();
    let mut documents = Vec::new();
    while !plain.is_empty() {
        documents.push(take_document(&mut plain)?);
    }
    Some(documents)
}

/// `part` is work space.
fn push_document(plain: &mut Vec<u8>, document: &[u8], part: &mut Vec<u8>) {
    if let Some((header, claims, signature)) = token_parts(document) {
        plain.push(TOKEN);
        push_part(plain, &header, part);
        push_part(plain, &claims, part);
        push_length(plain, signature.len());
        plain.extend_from_slice(&signature);
    } else if std::str::from_utf8(document).is_ok() {
        plain.push(TEXT);
        push_part(plain, document, part);
    } else {
        plain.push(RAW);
        push_length(plain, document.len());
        plain.extend_from_slice(document);
    }
}

fn take_document(plain: &mut &[u8]) -> Option<Vec<u8>> {
    let (form, rest) = plain.split_first()?;
    *plain = rest;
    match *form {
        RAW => take_bytes(plain).map(<[u8]>::to_vec),
        TEXT => expand(take_bytes(plain)?),
        TOKEN => {
            let header = base64url(&expand(take_bytes(plain)?)?);
            let claims = base64url(&expand(take_bytes(plain)?)?);
            let signature = base64url(take_bytes(plain)?);
            Some(format!("{header}.{claims}.{signature}").into_bytes())
        }
        _ => None,
    }
}

/// A text with its hashes as bytes, after its length.
fn push_part(plain: &mut Vec<u8>, text: &[u8], part: &mut Vec<u8>) {
    part.clear();
    shorten(text, part);
    push_length(plain, part.len());
    plain.extend_from_slice(part);
}

fn shorten(text: &[u8], shortened: &mut Vec<u8>) {
    const RUN_MIN: usize = HEX_PAIRS_MIN * 2;
    // Everything before this is written.
    let mut written = 0;
    // No run begins before this.
    let mut at = 0;
    while let Some(window) = text.get(at..at + RUN_MIN) {
        // From its end: most windows are passed over after one look.
        if let Some(gap) = window.iter().rposition(|byte| hex_value(*byte).is_none()) {
            at += gap + 1;
            continue;
        }
        let rest = text.get(at..).unwrap_or_default();
        let run = hex_run(rest);
        let before = text.get(written..at).unwrap_or_default();
        let pairs = match before.strip_suffix(HASH_PREFIX) {
            Some(before) if run >= HASH_DIGITS => {
                shortened.extend_from_slice(before);
                shortened.push(HASH);
                HASH_DIGITS / 2
            }
            _ => {
                let pairs = (run / 2).min(HEX_PAIRS_MAX);
                shortened.extend_from_slice(before);
                shortened.extend_from_slice(&[HEX, u8::try_from(pairs).unwrap_or(u8::MAX)]);
                pairs
            }
        };
        push_hex(shortened, rest, pairs);
        at += pairs * 2;
        written = at;
    }
    shortened.extend_from_slice(text.get(written..).unwrap_or_default());
}

fn expand(shortened: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::with_capacity(shortened.len() * 2);
    let mut rest = shortened;
    while let Some((first, after)) = rest.split_first() {
        let (pairs, after) = match *first {
            HASH => {
                text.extend_from_slice(HASH_PREFIX);
                (HASH_DIGITS / 2, after)
            }
            HEX => {
                let (pairs, after) = after.split_first()?;
                (usize::from(*pairs), after)
            }
            other => {
                text.push(other);
                rest = after;
                continue;
            }
        };
        let (bytes, after) = after.split_at_checked(pairs)?;
        for byte in bytes {
            text.push(hex_digit(byte >> 4));
            text.push(hex_digit(byte & 15));
        }
        rest = after;
    }
    Some(text)
}

/// How many lower-case hexadecimal digits a text starts with, as far as that matters.
fn hex_run(text: &[u8]) -> usize {
    text.iter().take(HEX_PAIRS_MAX * 2).take_while(|byte| hex_value(**byte).is_some()).count()
}

fn hex_value(digit: u8) -> Option<u8> {
    HEX_VALUES.get(usize::from(digit)).copied().filter(|value| *value < 16)
}

/// The value of each byte as a lower-case hexadecimal digit; 16 for any other byte.
#[expect(clippy::indexing_slicing, reason = "computed by the compiler")]
const HEX_VALUES: [u8; 256] = {
    let digits = b"0123456789abcdef";
    let mut values = [16; 256];
    let mut value = 0_u8;
    while value < 16 {
        values[digits[value as usize] as usize] = value;
        value += 1;
    }
    values
};

/// Writes pairs of digits as bytes.
fn push_hex(shortened: &mut Vec<u8>, text: &[u8], pairs: usize) {
    let value = |digit: u8| hex_value(digit).unwrap_or_default();
    let (digits, _) = text.as_chunks::<2>();
    shortened.extend(digits.iter().take(pairs).map(|[high, low]| value(*high) << 4 | value(*low)));
}

fn hex_digit(value: u8) -> u8 {
    if value < 10 { b'0' + value } else { b'a' + value - 10 }
}

/// The three parts of a signed token, if they come out again as they are.
fn token_parts(document: &[u8]) -> Option<(Vec<u8>, Vec<u8>, Vec<u8>)> {
    const HEADER_START: &[u8] = b"eyJ";
    if !document.starts_with(HEADER_START) {
        return None;
    }
    let mut parts = document.split(|byte| *byte == b'.').map(from_base64url);
    let header = parts.next()??;
    let claims = parts.next()??;
    let signature = parts.next()??;
    let is_text = std::str::from_utf8(&header).is_ok() && std::str::from_utf8(&claims).is_ok();
    (is_text && parts.next().is_none()).then_some((header, claims, signature))
}

fn base64url(bytes: &[u8]) -> String {
    Base64UrlUnpadded::encode_string(bytes)
}

/// The value of each byte as a digit of base64url; 64 for any other byte.
#[expect(clippy::indexing_slicing, reason = "computed by the compiler")]
const BASE64URL: [u8; 256] = {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut values = [64; 256];
    let mut value = 0_u8;
    while value < 64 {
        values[digits[value as usize] as usize] = value;
        value += 1;
    }
    values
};

/// `None` for a text that [`base64url`] does not write. A permit holds no secret, so this need not take the
/// same time for all bytes.
fn from_base64url(text: &[u8]) -> Option<Vec<u8>> {
    let value = |digit: u8| u32::from(BASE64URL.get(usize::from(digit)).copied().unwrap_or(64));
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    // Bit 6 is set in the value of a byte that is not a digit.
    let mut seen = 0;
    let (fours, rest) = text.as_chunks::<4>();
    for four in fours {
        let [first, second, third, fourth] = four.map(value);
        seen |= first | second | third | fourth;
        let [_, high, middle, low] = (first << 18 | second << 12 | third << 6 | fourth).to_be_bytes();
        bytes.extend_from_slice(&[high, middle, low]);
    }
    // The last digit may have bits that belong to no byte. `base64url` writes them as zeros.
    let spare = match rest {
        [] => 0,
        [first, second] => {
            let [first, second] = [first, second].map(|digit| value(*digit));
            seen |= first | second;
            let [_, _, byte, spare] = (first << 10 | second << 4).to_be_bytes();
            bytes.push(byte);
            spare
        }
        [first, second, third] => {
            let [first, second, third] = [first, second, third].map(|digit| value(*digit));
            seen |= first | second | third;
            let [_, high, low, spare] = (first << 18 | second << 12 | third << 6).to_be_bytes();
            bytes.extend_from_slice(&[high, low]);
            spare
        }
        _ => return None,
    };
    if spare != 0 {
        return None;
    }
    (seen & 64 == 0).then_some(bytes)
}

fn push_length(bytes: &mut Vec<u8>, mut length: usize) {
    while length >= 0x80 {
        bytes.push(u8::try_from(length & 0x7f).unwrap_or_default() | 0x80);
        length >>= 7;
    }
    bytes.push(u8::try_from(length).unwrap_or_default());
}

fn take_length(bytes: &mut &[u8]) -> Option<usize> {
    let mut length = 0_usize;
    for shift in [0, 7, 14, 21, 28] {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        length |= usize::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(length);
        }
    }
    None
}

fn take_bytes<'b>(bytes: &mut &'b [u8]) -> Option<&'b [u8]> {
    let length = take_length(bytes)?;
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MAX: usize = 1 << 20;

    fn comes_back(documents: &[Vec<u8>]) {
        assert_eq!(unpack(&pack(documents), MAX).as_deref(), Some(documents));
    }

    #[test]
    fn documents_come_back_as_they_were() {
        let digits = "0123456789abcdef".repeat(70);
        let hash = format!("sha256:{}", &digits[..64]);
        let token = format!(
            "{}.{}.{}",
            base64url(b"{\"alg\":1}"),
            base64url(hash.as_bytes()),
            base64url(&[255, 0, 7])
        );
        for text in [
            String::new(),
            hash.clone(),
            format!("{hash}{hash}0"),
            format!("sha256:{}", &digits[..63]),
            format!("x{digits}y"),
            "sha256:sha256:".to_owned(),
            "0123456789abcdeF0123456789ABCDEF".to_owned(),
            token.clone(),
            format!("{token}."),
            format!("{token}="),
            // The last digit has bits that nobody reads.
            "eyJhIjoxfQ.eyJhIjoxfR.AA".to_owned(),
        ] {
            comes_back(&[text.clone().into_bytes(), vec![0xff, 0xfe, 0], text.into_bytes()]);
        }
        comes_back(&[]);
    }

    #[test]
    fn a_decision_with_its_permit_takes_little_room() {
        let hash = |number: u32| {
            format!("sha256:{}", format!("{:08x}", number.wrapping_mul(2_654_435_769)).repeat(8))
        };
        let decision = format!(
            r#"{{"approvals":{{"class":"none","have":[],"required":0}},"decided_at_ms":1767614400123,"decision_schema_version":"0.1.0","evidence_set_hash":"{}","outcome":"ALLOW","policy_hash":"{}","proposal_hash":"{}","proposal_id":"bench-12345","reasons":[]}}"#,
            hash(1),
            hash(2),
            hash(3)
        );
        assert!(pack(&[decision.clone().into_bytes()]).len() * 3 < decision.len());
    }

    #[test]
    fn texts_around_the_length_of_a_window_come_back() {
        for length in [0, 1, 4, 5, 12, 13, 16, 270, 60_000, 63_000, 70_000] {
            let words: Vec<u8> = (0..length).map(|at| b"{\"actor\":\"sha256:"[at * at % 17 % 13]).collect();
            comes_back(&[words, vec![b'a'; length]]);
        }
        comes_back(&[DICTIONARY.to_vec()]);
    }

    #[test]
    fn foreign_bytes_are_refused() {
        let packed = pack(&[b"{\"a\":1}".to_vec()]);
        assert_eq!(unpack(&[], MAX), None);
        assert_eq!(unpack(&packed[..packed.len() - 1], MAX), None);
        assert_eq!(unpack(&packed, 3), None);
        let mut newer = packed.clone();
        newer[0] = VERSION + 1;
        assert_eq!(unpack(&newer, MAX), None);
    }

    proptest! {
        #[test]
        fn anything_comes_back(documents in proptest::collection::vec(
            prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..300),
                proptest::collection::vec((0..DICTIONARY.len(), 0..90_usize), 0..9).prop_map(|cuts| {
                    let cut = |(at, length)| DICTIONARY.iter().skip(at).take(length);
                    cuts.into_iter().flat_map(cut).copied().collect()
                }),
                "[0-9a-f]{0,90}(sha256:[0-9a-f]{60,70})?[0-9a-fA-F]{0,40}".prop_map(String::into_bytes),
                "eyJ[A-Za-z0-9_-]{0,12}\\.[A-Za-z0-9_-]{0,40}\\.[A-Za-z0-9_-]{0,20}".prop_map(String::into_bytes),
            ],
            0..5,
        )) {
            comes_back(&documents);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = unpack(&bytes, MAX);
            let _ = unpack(&[&[VERSION], bytes.as_slice()].concat(), MAX);
        }
    }
}
