//! Pages that need nothing else: no script, no other file, and every text escaped.

use std::fmt::Write as _;

/// Light and dark on a screen, black on white on paper.
const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1c1e21;--dim:#5b616b;--line:#d5d8dd;--paper:#fff;--soft:#f4f5f7;--good:#12703c;--bad:#a8201a;--wait:#8a5a00}\
@media(prefers-color-scheme:dark){:root{--ink:#e4e6ea;--dim:#9aa1ac;--line:#3a3f47;--paper:#16181b;--soft:#1f2226;--good:#5fd08f;--bad:#ff8a80;--wait:#f0bd55}}\
*{box-sizing:border-box}body{margin:0 auto;max-width:60rem;padding:2rem 1.25rem;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,sans-serif}\
h1{font-size:1.6rem;margin:0 0 .25rem;overflow-wrap:anywhere}h2{font-size:1.15rem;margin:2rem 0 .5rem;border-bottom:1px solid var(--line);padding-bottom:.25rem}\
h3{font-size:1rem;margin:1.25rem 0 .25rem}p{margin:.25rem 0}.dim{color:var(--dim)}\
table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.3rem .6rem .3rem 0;border-bottom:1px solid var(--line);overflow-wrap:anywhere}\
th{font-weight:600;color:var(--dim)}table.facts th{width:11rem}td.number{text-align:right;font-variant-numeric:tabular-nums}\
code,pre{font:13px/1.45 ui-monospace,monospace;unicode-bidi:isolate;direction:ltr}code{overflow-wrap:anywhere}\
pre{background:var(--soft);border:1px solid var(--line);border-radius:6px;padding:.75rem;white-space:pre-wrap;overflow-wrap:anywhere;margin:.5rem 0}\
.good{color:var(--good)}.bad{color:var(--bad)}.wait{color:var(--wait)}.state{font-weight:600}\
footer{margin-top:2.5rem;color:var(--dim);font-size:13px}\
@media print{:root{color-scheme:light;--ink:#000;--dim:#444;--line:#bbb;--paper:#fff;--soft:#fff;--good:#000;--bad:#000;--wait:#000}\
body{max-width:none;padding:0;font-size:10.5pt}h2,h3{break-after:avoid}tr,p{break-inside:avoid}thead{display:table-header-group}pre{border-color:#999}}";

/// A page under way.
pub(super) struct Html {
    text: String,
}

impl Html {
    pub(super) fn new(title: &str) -> Self {
        let title = escape(title);
        Self {
            text: format!(
                "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
                 <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
                 <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n\
                 <body>\n<h1>{title}</h1>\n"
            ),
        }
    }

    pub(super) fn section(&mut self, name: &str) {
        let _infallible = writeln!(self.text, "<h2>{}</h2>", escape(name));
    }

    pub(super) fn part(&mut self, name: &str) {
        let _infallible = writeln!(self.text, "<h3>{}</h3>", escape(name));
    }

    pub(super) fn prose(&mut self, text: &str) {
        let _infallible = writeln!(self.text, "<p class=\"dim\">{}</p>", escape(text));
    }

    pub(super) fn verbatim(&mut self, text: &str) {
        let _infallible = writeln!(self.text, "<pre>{}</pre>", escape(text));
    }

    /// Names and what they are.
    pub(super) fn facts(&mut self, rows: &[(&str, Cell)]) {
        self.text += "<table class=\"facts\"><tbody>\n";
        for (name, cell) in rows {
            let _infallible =
                writeln!(self.text, "<tr><th scope=\"row\">{}</th>{}</tr>", escape(name), cell.html());
        }
        self.text += "</tbody></table>\n";
    }

    pub(super) fn table(&mut self, heads: &[&str], rows: &[Vec<Cell>]) {
        let heads: String =
            heads.iter().map(|head| format!("<th scope=\"col\">{}</th>", escape(head))).collect();
        let _infallible = writeln!(self.text, "<table><thead><tr>{heads}</tr></thead><tbody>");
        for row in rows {
            let cells: String = row.iter().map(Cell::html).collect();
            let _infallible = writeln!(self.text, "<tr>{cells}</tr>");
        }
        self.text += "</tbody></table>\n";
    }

    pub(super) fn end(self, footer: &str) -> String {
        format!("{}<footer>{}</footer>\n</body>\n</html>\n", self.text, escape(footer))
    }
}

/// The content of a cell.
pub(super) enum Cell {
    Text(String),
    /// A hash, an id, a command.
    Code(String),
    Number(u64),
    /// A word that is good, bad, or waits.
    State(&'static str, String),
}

impl Cell {
    fn html(&self) -> String {
        match self {
            Self::Text(text) => format!("<td>{}</td>", escape(text)),
            Self::Code(text) => format!("<td><code>{}</code></td>", escape(text)),
            Self::Number(number) => format!("<td class=\"number\">{number}</td>"),
            Self::State(class, text) => format!("<td class=\"state {class}\">{}</td>", escape(text)),
        }
    }
}

/// Text as HTML. Characters that nobody sees, or that turn the text round, are written out.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            '\n' | '\t' => escaped.push(character),
            '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' => {
                escaped.extend(character.escape_unicode());
            }
            _ if character.is_control() => escaped.extend(character.escape_unicode()),
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_becomes_markup() {
        let hostile = "<script>alert(1)</script> \"'&\u{202e}\u{7}";
        let safe = "&lt;script&gt;alert(1)&lt;/script&gt; &quot;&#39;&amp;\\u{202e}\\u{7}";
        assert_eq!(escape(hostile), safe);
        let mut page = Html::new(hostile);
        page.section(hostile);
        page.part(hostile);
        page.prose(hostile);
        page.verbatim(hostile);
        page.facts(&[(hostile, Cell::Code(hostile.to_owned()))]);
        page.table(
            &[hostile],
            &[vec![Cell::Text(hostile.to_owned()), Cell::State("good", hostile.to_owned())]],
        );
        let page = page.end(hostile);
        assert_eq!(page.matches(safe).count(), 12);
        assert!(!page.contains("<script"), "{page}");
    }
}
