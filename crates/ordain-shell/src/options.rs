//! Takes the arguments of a program apart, as its row says.

use crate::expand::Arg;

/// The arguments of a call, taken apart.
#[derive(Default, Debug)]
pub(crate) struct Parsed {
    pub(crate) operands: Vec<Arg>,
    /// Options that take an operand: what kind it is, and the operand.
    pub(crate) values: Vec<(char, Arg)>,
    /// Effects of options, by the name behind `!`.
    pub(crate) effects: Vec<String>,
    /// Options as they were found, without values.
    pub(crate) found: Vec<String>,
    /// The first argument that the row does not account for.
    pub(crate) unlisted: Option<String>,
}

impl Parsed {
    pub(crate) fn has(&self, option: &str) -> bool {
        self.found.iter().any(|found| found == option)
    }
}

struct Listed<'s> {
    /// How many values it takes: none, one, two, or one only if attached.
    values: u8,
    attached: bool,
    kind: char,
    effect: Option<&'s str>,
}

/// Takes arguments apart. After `first` operands the rest are operands, whatever they look like.
pub(crate) fn parse(spec: &str, args: &[Arg], first: Option<usize>) -> Parsed {
    let mut parsed = Parsed::default();
    let any = spec.split(' ').any(|token| token == "*");
    let safe = spec.split(' ').any(|token| token == "%");
    let plus = spec.split(' ').any(|token| token == "+");
    let mut rest = args.iter();
    let mut only_operands = false;
    while let Some(arg) = rest.next() {
        if only_operands || first.is_some_and(|first| parsed.operands.len() >= first) {
            only_operands = true;
            parsed.operands.push(arg.clone());
            continue;
        }
        if arg.exact && arg.text == "--" {
            only_operands = true;
            continue;
        }
        if plus && arg.exact && arg.text.starts_with('+') {
            parsed.operands.extend(first.is_none().then(|| arg.clone()));
            continue;
        }
        if !arg.may_be_option() {
            parsed.operands.push(arg.clone());
            continue;
        }
        if arg.prefix.is_empty() {
            // It may be any option. Where none is dangerous it does no more than an operand would.
            if !(safe || any) {
                parsed.unlisted.get_or_insert_with(|| arg.text.clone());
            }
            parsed.operands.push(arg.clone());
            continue;
        }
        option(spec, arg, any, &mut rest, &mut parsed);
    }
    parsed
}

fn option<'a>(
    spec: &str,
    arg: &Arg,
    any: bool,
    rest: &mut impl Iterator<Item = &'a Arg>,
    parsed: &mut Parsed,
) {
    let unlisted = |parsed: &mut Parsed| {
        if !any {
            parsed.unlisted.get_or_insert_with(|| arg.text.clone());
        }
    };
    if arg.prefix.starts_with("--") || long_with_one_dash(spec, &arg.prefix) {
        let (name, value) = match arg.prefix.split_once('=') {
            Some((name, _)) => (name.to_owned(), arg.after(&format!("{name}="))),
            None => (arg.prefix.clone(), None),
        };
        parsed.found.push(name.clone());
        let Some(listed) = lookup(spec, &name) else { return unlisted(parsed) };
        if !arg.exact && value.is_none() {
            return unlisted(parsed);
        }
        parsed.effects.extend(listed.effect.map(str::to_owned));
        match (listed.values, value) {
            (0, None) => {}
            (0, Some(_)) => unlisted(parsed),
            (_, Some(value)) => parsed.values.push((listed.kind, value)),
            (_, None) if listed.attached => {}
            (count, None) => take(count, listed.kind, rest, parsed),
        }
        return;
    }
    // Letters behind one dash.
    let letters = arg.prefix.strip_prefix('-').unwrap_or_default();
    let digits = letters.chars().all(|it| it.is_ascii_digit()) && !letters.is_empty() && arg.exact;
    if digits && spec.split(' ').any(|token| token == "-#") {
        return;
    }
    for (at, letter) in letters.char_indices() {
        parsed.found.push(format!("-{letter}"));
        let Some(listed) = lookup(spec, &format!("-{letter}")) else {
            unlisted(parsed);
            if any {
                continue;
            }
            return;
        };
        parsed.effects.extend(listed.effect.map(str::to_owned));
        if listed.values == 0 {
            continue;
        }
        let front = format!("-{}", letters.get(..at + letter.len_utf8()).unwrap_or_default());
        let attached = arg.after(&front).filter(|value| !(value.exact && value.text.is_empty()));
        match attached {
            Some(value) => parsed.values.push((listed.kind, value)),
            None if listed.attached => {}
            None => take(listed.values, listed.kind, rest, parsed),
        }
        return;
    }
    // An unknown end may be more letters.
    if !arg.exact {
        unlisted(parsed);
    }
}

fn take<'a>(count: u8, kind: char, rest: &mut impl Iterator<Item = &'a Arg>, parsed: &mut Parsed) {
    for at in 1..=count {
        match rest.next() {
            Some(value) if at == count => parsed.values.push((kind, value.clone())),
            Some(_) => {}
            None => {
                parsed.unlisted.get_or_insert_with(|| "an option without its value".to_owned());
            }
        }
    }
}

/// Whether the row lists this word as it is, such as `-nc` of wget.
fn long_with_one_dash(spec: &str, prefix: &str) -> bool {
    prefix.len() > 2 && spec.split(' ').any(|token| token == prefix && is_word(token))
}

/// A token such as `-json`: one option, not its letters. Told by being written out twice as letters nowhere; the few
/// there are.
fn is_word(token: &str) -> bool {
    matches!(token, "-nc" | "-nd" | "-nH" | "-nv" | "-np" | "-json" | "-deps" | "-test")
}

fn lookup<'s>(spec: &'s str, name: &str) -> Option<Listed<'s>> {
    let long = name.starts_with("--");
    for token in spec.split(' ') {
        let (token, effect) = match token.split_once('!') {
            Some((token, effect)) => (token, Some(effect)),
            None => (token, None),
        };
        let end = token.find([':', '?']).unwrap_or(token.len());
        let (front, shape) = token.split_at(end);
        let letters = !front.starts_with("--") && !is_word(front);
        let fits = if long || is_word(name) {
            front == name
        } else {
            letters
                && front.starts_with('-')
                && name.chars().nth(1).is_some_and(|letter| front.chars().skip(1).any(|it| it == letter))
        };
        // A token with a value has one letter.
        if !fits || (!long && !shape.is_empty() && front.chars().count() != 2) {
            continue;
        }
        if effect == Some("") {
            return None;
        }
        let mut shape = shape.chars();
        return Some(match shape.next() {
            Some(':') => {
                let two = shape.clone().next() == Some('2');
                if two {
                    shape.next();
                }
                Listed {
                    values: 1 + u8::from(two),
                    attached: false,
                    kind: shape.next().unwrap_or('_'),
                    effect,
                }
            }
            Some(_) => Listed { values: 1, attached: true, kind: shape.next().unwrap_or('_'), effect },
            None => Listed { values: 0, attached: false, kind: '_', effect },
        });
    }
    None
}
