//! Parser of the flow style of YAML in which suggestions are written: `key: { a: b, c: [d, …] }`, with
//! placeholders. Suggestions are written once, in YAML, and converted for KDL files.

/// A value in flow form.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::config) enum FlowValue<'t> {
    /// A word, a quoted string with its quotes, or a placeholder.
    Scalar(&'t str),
    /// A list such as `[a, b]`.
    List(Vec<FlowValue<'t>>),
    /// `{ a: b }`; `{ … }` has the entry `…`.
    Map(Vec<(&'t str, FlowValue<'t>)>),
}

/// Maximum nesting of a suggestion; the parser is recursive, and a hint may contain a user's value.
const MAX_DEPTH: usize = 8;

/// Parses `key: value`; `None` for anything else, such as a command or a sentence.
pub(in crate::config) fn parse_entry(text: &str) -> Option<(&str, FlowValue<'_>)> {
    let (entry, rest) = parse_pair(text, 0)?;
    rest.trim().is_empty().then_some(entry)
}

fn parse_pair(text: &str, depth: usize) -> Option<((&str, FlowValue<'_>), &str)> {
    let is_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '…');
    let text = text.trim_start();
    let end = text.find(|c| !is_key(c)).unwrap_or(text.len());
    let (key, rest) = text.split_at(end);
    if key.is_empty() {
        return None;
    }
    match rest.strip_prefix(':').filter(|rest| rest.starts_with(' ')) {
        Some(rest) => {
            let (value, rest) = parse_flow_value(rest, depth)?;
            Some(((key, value), rest))
        }
        // The placeholder `…` represents any entries.
        None => (key == "…" && depth > 0).then_some(((key, FlowValue::Map(Vec::new())), rest)),
    }
}

fn parse_flow_value(text: &str, depth: usize) -> Option<(FlowValue<'_>, &str)> {
    let text = text.trim_start();
    if depth > MAX_DEPTH {
        return None;
    }
    if let Some(rest) = text.strip_prefix('{') {
        let (entries, rest) = parse_until(rest, '}', |text| parse_pair(text, depth + 1))?;
        return Some((FlowValue::Map(entries), rest));
    }
    if let Some(rest) = text.strip_prefix('[') {
        let (items, rest) = parse_until(rest, ']', |text| parse_flow_value(text, depth + 1))?;
        return Some((FlowValue::List(items), rest));
    }
    let end = match text.chars().next()? {
        quote @ ('"' | '\'') => text[1..].find(quote)? + 2,
        _ if depth == 0 => text.len(),
        _ => text.find([',', '}', ']']).unwrap_or(text.len()),
    };
    let (scalar, rest) = text.split_at(end);
    Some((FlowValue::Scalar(scalar.trim()), rest))
}

fn parse_until<'t, T>(
    mut text: &'t str,
    end: char,
    read: impl Fn(&'t str) -> Option<(T, &'t str)>,
) -> Option<(Vec<T>, &'t str)> {
    let mut found = Vec::new();
    loop {
        text = text.trim_start();
        if let Some(rest) = text.strip_prefix(end) {
            return Some((found, rest));
        }
        let (one, rest) = read(text)?;
        found.push(one);
        let rest = rest.trim_start();
        text = rest.strip_prefix(',').unwrap_or(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_complete_flow_entries_are_parsed_as_suggestions() {
        assert_eq!(parse_entry("a: b c"), Some(("a", FlowValue::Scalar("b c"))));
        let map =
            FlowValue::Map(vec![("x", FlowValue::Scalar("\"${y}\"")), ("…", FlowValue::Map(Vec::new()))]);
        assert_eq!(parse_entry("a: { x: \"${y}\", … }"), Some(("a", map)));
        for other in ["a", "a:b", "$vpc.main", "a: { b", "a: [b", "a: { b: c } d", "", "…"] {
            assert_eq!(parse_entry(other), None, "{other}");
        }
    }
}
