//! Compose's interpolation syntax: `$NAME`, `${NAME:-default}`; `$$` is a literal dollar. In: a string of a
//! Compose file; out: its literals and variables. Linear in the string's length for a given depth.

/// Maximum nesting of defaults within defaults; a deeper one is kept as a literal.
const MAX_DEPTH: u32 = 16;

/// Part of an interpolated string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum InterpolationPart {
    /// Literal, copied without substitution.
    Text(String),
    /// Variable from the process environment.
    Variable {
        name: String,
        /// Value that Compose uses when the variable is not set; `None` if it has none.
        default: Option<String>,
        /// The form has more meaning than a variable with a default can express.
        odd: bool,
    },
}

/// Splits a string into its parts; adjacent literals are one part. An empty string is one empty literal.
pub(super) fn split_pieces(text: &str) -> Vec<InterpolationPart> {
    pieces_at(text, 0)
}

fn pieces_at(text: &str, depth: u32) -> Vec<InterpolationPart> {
    if depth > MAX_DEPTH {
        return vec![InterpolationPart::Text(text.to_owned())];
    }
    let mut found = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        plain.push_str(before);
        match read_piece(after, depth) {
            SubstitutionToken::Variable(variable, after) => {
                if !plain.is_empty() {
                    found.push(InterpolationPart::Text(std::mem::take(&mut plain)));
                }
                found.push(variable);
                rest = after;
            }
            SubstitutionToken::Dollar(after) => {
                plain.push('$');
                rest = after;
            }
            // Searching for the end of every later brace would take quadratic time.
            SubstitutionToken::Unclosed => {
                plain.push('$');
                rest = after;
                break;
            }
        }
    }
    plain.push_str(rest);
    if !plain.is_empty() || found.is_empty() {
        found.push(InterpolationPart::Text(plain));
    }
    found
}

/// Returns a string with its defaults filled in; `None` where a variable has no default.
pub(super) fn fill_defaults(text: &str) -> Option<String> {
    resolved_at(text, 0)
}

fn resolved_at(text: &str, depth: u32) -> Option<String> {
    pieces_at(text, depth)
        .into_iter()
        .map(|piece| match piece {
            InterpolationPart::Text(text) => Some(text),
            InterpolationPart::Variable { default, .. } => default,
        })
        .collect()
}

/// Result of reading what follows a dollar, with the remaining string.
enum SubstitutionToken<'t> {
    Variable(InterpolationPart, &'t str),
    /// A literal dollar: no interpolation follows.
    Dollar(&'t str),
    /// A brace that is never closed.
    Unclosed,
}

fn read_piece(after: &str, depth: u32) -> SubstitutionToken<'_> {
    if let Some(after) = after.strip_prefix('$') {
        return SubstitutionToken::Dollar(after);
    }
    let Some(body) = after.strip_prefix('{') else {
        let (name, behind) = split_name(after);
        let variable = InterpolationPart::Variable { name: name.to_owned(), default: None, odd: false };
        return if name.is_empty() {
            SubstitutionToken::Dollar(after)
        } else {
            SubstitutionToken::Variable(variable, behind)
        };
    };
    // Without a name it is no interpolation, so the closing brace is not searched for.
    if split_name(body).0.is_empty() {
        return SubstitutionToken::Dollar(after);
    }
    let Some(end) = closing_brace(body) else { return SubstitutionToken::Unclosed };
    let (name, says) = split_name(&body[..end]);
    let default = says.strip_prefix(":-").or_else(|| says.strip_prefix('-'));
    let must = says.is_empty() || says.starts_with(":?") || says.starts_with('?');
    let variable = InterpolationPart::Variable {
        name: name.to_owned(),
        default: default.and_then(|text| resolved_at(text, depth + 1)),
        odd: !must && default.is_none_or(|text| text.contains('$') && !text.contains("$$")),
    };
    SubstitutionToken::Variable(variable, &body[end + 1..])
}

fn split_name(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len()))
}

/// Returns the byte offset in `body` of the brace that closes the one before it; `None` if none does.
fn closing_brace(body: &str) -> Option<usize> {
    let mut depth = 1_u32;
    for (at, c) in body.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpolations_are_split_from_literal_text() {
        let text = |text: &str| InterpolationPart::Text(text.to_owned());
        let variable = |name: &str, default: Option<&str>, odd| InterpolationPart::Variable {
            name: name.to_owned(),
            default: default.map(str::to_owned),
            odd,
        };
        for (source, wanted) in [
            ("", vec![text("")]),
            ("a", vec![text("a")]),
            ("$A", vec![variable("A", None, false)]),
            ("x:${A:-1}/y", vec![text("x:"), variable("A", Some("1"), false), text("/y")]),
            ("${A:-${B:-c}}", vec![variable("A", Some("c"), true)]),
            ("${A:-${B}}", vec![variable("A", None, true)]),
            ("${A:-pa$$s}", vec![variable("A", Some("pa$s"), false)]),
            ("${A:?say it}", vec![variable("A", None, false)]),
            ("${A:+on}", vec![variable("A", None, true)]),
            ("a$$b $", vec![text("a$b $")]),
            ("${", vec![text("${")]),
            ("$$$A", vec![text("$"), variable("A", None, false)]),
        ] {
            assert_eq!(split_pieces(source), wanted, "{source}");
        }
        assert_eq!(fill_defaults("${A:-80}${B-1}").as_deref(), Some("801"));
        assert_eq!(fill_defaults("${A}"), None);
    }

    #[test]
    fn deeply_nested_and_unclosed_interpolations_are_split() {
        let deep = format!("{}x{}", "${A:-".repeat(30_000), "}".repeat(30_000));
        assert!(matches!(
            split_pieces(&deep).as_slice(),
            [InterpolationPart::Variable { default: Some(_), odd: true, .. }]
        ));
        for open in ["${", "${A", "${A:-"] {
            let open = open.repeat(400_000);
            assert_eq!(split_pieces(&open), [InterpolationPart::Text(open)]);
        }
        assert_eq!(split_pieces("${A $B"), [InterpolationPart::Text("${A $B".to_owned())]);
    }
}
