//! Quoting of strings in each syntax: without quotes where no other meaning is possible. Invariant: parsing the
//! result gives the same string.

/// Words that some version of YAML reads as something other than a string.
const YAML_WORDS: &[&str] = &["null", "true", "false", "yes", "no", "on", "off", "y", "n"];

/// Words that KDL treats as a misspelled keyword.
const KDL_WORDS: &[&str] = &["true", "false", "null", "inf", "nan"];

/// Returns a string as YAML; `flow` means inside brackets.
pub(in crate::config) fn quote_yaml(text: &str, flow: bool) -> String {
    if is_yaml_plain(text, flow) { text.to_owned() } else { yaml_quoted(text) }
}

/// Returns whether a string needs no quotes in YAML. It errs on the side of quotes.
fn is_yaml_plain(text: &str, flow: bool) -> bool {
    let Some(first) = text.chars().next() else { return false };
    let begins = match first {
        '$' => text[1..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'),
        '0'..='9' => !is_number(text) && (text.contains('/') || text.matches('.').count() > 1),
        '/' | '_' => true,
        c => c.is_alphabetic(),
    };
    let inner = |c: char| {
        c.is_alphanumeric()
            || matches!(
                c,
                '_' | '-' | '.' | '/' | '$' | '@' | '+' | '=' | '*' | '(' | ')' | ';' | '~' | '^'
            )
            || (!flow && matches!(c, ',' | ':' | '\'' | '"' | '!' | '?' | '&' | '%'))
            || (c == ' ' && !flow)
    };
    begins
        && text.chars().all(inner)
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains("  ")
        && !YAML_WORDS.contains(&text.to_ascii_lowercase().as_str())
}

/// Returns a string in YAML's quotes: double ones, unless single ones need no escapes.
pub(in crate::config) fn yaml_quoted(text: &str) -> String {
    if text.contains(['"', '\\']) && !text.chars().any(needs_escape) {
        yaml_single(text)
    } else {
        yaml_double(text)
    }
}

/// Returns a string of one line in single quotes.
pub(in crate::config) fn yaml_single(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Returns a string in YAML's double quotes, with escapes where necessary.
pub(in crate::config) fn yaml_double(text: &str) -> String {
    escape_text(text, |c| format!("\\U{:08X}", u32::from(c)))
}

/// Returns a string in double quotes; `code` writes a character that neither language shows.
fn escape_text(text: &str, code: impl Fn(char) -> String) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if needs_escape(c) => out.push_str(&code(c)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Returns whether a character cannot occur in single quotes.
pub(in crate::config) fn needs_escape(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{feff}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns a string as KDL, in quotes where necessary.
pub(in crate::config) fn quote_kdl(text: &str) -> String {
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '$'))
        && text.bytes().all(|b| {
            b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'.' | b'@' | b'+' | b'*' | b'-')
        })
        && !KDL_WORDS.contains(&text);
    if plain { text.to_owned() } else { kdl_quoted(text) }
}

/// Returns a string in KDL's quotes: a raw string if it has quotes or backslashes.
pub(in crate::config) fn kdl_quoted(text: &str) -> String {
    if text.contains(['"', '\\'])
        && !text.chars().any(needs_escape)
        && !text.contains("\"#")
        && !text.starts_with('"')
    {
        return format!("#\"{text}\"#");
    }
    escape_text(text, |c| format!("\\u{{{:x}}}", u32::from(c)))
}

/// Returns a number in a form that both syntaxes have; unchanged if there is none.
pub(in crate::config) fn normalize_number(text: &str) -> String {
    if !text.contains(|c: char| c.is_ascii_digit()) {
        return text.to_owned();
    }
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let zero = if digits.starts_with('.') { "0" } else { "" };
    let number = format!("{sign}{zero}{}", digits.trim_end_matches('.').replace('_', ""));
    if is_number(&number) { number } else { text.to_owned() }
}

/// Returns whether both syntaxes have this form of a number.
pub(in crate::config) fn is_number(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let text = text.strip_prefix('-').unwrap_or(text);
    let (number, exponent) = match text.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, Some(exponent)),
        None => (text, None),
    };
    let exponent =
        exponent.is_none_or(|exponent| digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)));
    let number = match number.split_once('.') {
        Some((whole, fraction)) => digits(whole) && digits(fraction),
        None => digits(number),
    };
    number && exponent
}

/// Returns the first 60 characters of a string, for a message.
pub(in crate::config) fn shorten_for_message(text: &str) -> String {
    let mut short: String = text.chars().take(60).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_number_is_normalized_for_both_syntaxes() {
        for (text, wanted) in [
            ("+3", "3"),
            ("-.5", "-0.5"),
            ("5.", "5"),
            ("1_000", "1000"),
            ("016", "016"),
            ("x", "x"),
            (".", "."),
        ] {
            assert_eq!(normalize_number(text), wanted);
        }
    }

    use crate::config::syntax::document::NodeValue;
    use crate::config::syntax::parse_source::parse;
    use crate::model::source::{Source, SourceId};

    #[test]
    fn quotes_are_written_only_where_required() {
        for (text, in_yaml, in_kdl) in [
            ("main", "main", "main"),
            ("$vpc.main", "$vpc.main", "$vpc.main"),
            ("10.0.0.0/16", "10.0.0.0/16", "\"10.0.0.0/16\""),
            ("16", "\"16\"", "\"16\""),
            ("no", "\"no\"", "no"),
            ("0 6 * * *", "\"0 6 * * *\"", "\"0 6 * * *\""),
            ("${env == 'a'}", "\"${env == 'a'}\"", "\"${env == 'a'}\""),
            ("a \"b\"", "a \"b\"", "#\"a \"b\"\"#"),
            ("", "\"\"", "\"\""),
            ("a: b", "\"a: b\"", "\"a: b\""),
        ] {
            assert_eq!(quote_yaml(text, false), in_yaml);
            assert_eq!(quote_kdl(text), in_kdl);
        }
        assert_eq!(quote_yaml("a, b", true), "\"a, b\"");
    }

    /// The text of the value of `k` in a file.
    fn said(path: &str, text: &str) -> Option<String> {
        let document = parse(SourceId(0), &Source::new(path, text), &|_| false)?.ok()?;
        let node = match &document.root.first()?.value.value {
            NodeValue::Sequence(items) => items.first()?.clone(),
            _ => document.root.first()?.value.clone(),
        };
        node.scalar().map(|scalar| scalar.text.to_string())
    }

    proptest! {
        #[test]
        fn a_quoted_text_is_read_back_unchanged(text in prop_oneof!["[ -~é\n\t😀\u{2028}]{0,12}", "[a-z0-9.:/$#'\"{}, -]{0,10}"]) {
            prop_assert_eq!(said("a.yaml", &format!("k: {}\n", quote_yaml(&text, false))), Some(text.clone()));
            prop_assert_eq!(said("a.yaml", &format!("k: [{}, b]\n", quote_yaml(&text, true))), Some(text.clone()));
            prop_assert_eq!(said("a.kdl", &format!("k {}\n", quote_kdl(&text))), Some(text));
        }
    }
}
