//! Tokens and permits have no place in a message, whoever put them there.

/// A text with the secret of every token, and the signature of every permit, taken out.
pub(crate) fn scrubbed(text: &str) -> String {
    let (mut shown, mut word) = (String::with_capacity(text.len()), String::new());
    for character in text.chars() {
        if is_part(character) {
            word.push(character);
        } else {
            shown += &without_secret(&std::mem::take(&mut word));
            shown.push(character);
        }
    }
    shown + &without_secret(&word)
}

/// The characters of tokens and permits: base64url and dots.
fn is_part(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.')
}

/// `ordain_ID_SECRET` keeps its id, and a permit nothing.
fn without_secret(word: &str) -> String {
    const SECRET_LENGTH_MIN: usize = 20;
    if let Some((before, token)) = word.split_once("ordain_")
        && let Some((id, secret)) = token.split_once('_')
        && secret.len() >= SECRET_LENGTH_MIN
    {
        return format!("{before}ordain_{id}_…");
    }
    let parts: Vec<&str> = word.split('.').collect();
    match parts.as_slice() {
        [.., header, claims, signature]
            if header.contains("eyJ")
                && claims.starts_with("eyJ")
                && signature.len() >= SECRET_LENGTH_MIN =>
        {
            "…".to_owned()
        }
        _ => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_taken_out_and_nothing_else() {
        let secret = "x".repeat(43);
        assert_eq!(scrubbed(&format!("no `ordain_0123_{secret}`!")), "no `ordain_0123_…`!");
        assert_eq!(scrubbed(&format!("=ordain_0123_{secret}")), "=ordain_0123_…");
        assert_eq!(scrubbed(&format!("`eyJh.eyJj.{secret}` is none")), "`…` is none");
        for text in ["", "there is no action `p1`", "ordain_0123_short", "a.b.c", "ünï: 1.2.3"] {
            assert_eq!(scrubbed(text), text);
        }
    }
}
