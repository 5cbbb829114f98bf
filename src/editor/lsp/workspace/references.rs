//! References in source text: `$a.b`, and the dotted names inside `${…}`. They are found without parsing the
//! expression, so that an unfinished one has references, too.

use std::ops::Range;

/// Returns all paths that a text refers to by `$`, without the `$`, each with its byte range. `$$` is no reference.
pub(in crate::editor::lsp) fn scan_references(text: &str) -> Vec<(&str, Range<usize>)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(dollar) = text[at..].find('$').map(|n| at + n) {
        let rest = &text[dollar + 1..];
        at = dollar + 1;
        if rest.starts_with('$') {
            at += 1;
        } else if let Some(body) = rest.strip_prefix('{') {
            let end = scan_expression(body, at + 1, &mut found);
            at = end;
        } else {
            let end = rest.find(|c| !is_path(c)).unwrap_or(rest.len());
            let path = rest[..end].trim_end_matches(['.', '-']);
            if path.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
                found.push((path, at..at + path.len()));
            }
            at += end;
        }
    }
    found
}

/// Reads an expression up to its closing brace; returns the offset after it.
fn scan_expression<'t>(body: &'t str, from: usize, found: &mut Vec<(&'t str, Range<usize>)>) -> usize {
    let bytes = body.as_bytes();
    let (mut at, mut depth) = (0, 0_usize);
    while at < body.len() {
        match bytes[at] {
            b'}' if depth == 0 => return from + at + 1,
            b'}' => depth -= 1,
            b'{' => depth += 1,
            // The text itself may be inside the other kind of quotes; an escaped quote closes in the
            // same way as it opened.
            quote @ (b'"' | b'\'') => {
                let close = body[at + 1..].find(char::from(quote));
                match close {
                    Some(close) => at += close + 1,
                    None => return from + body.len(),
                }
            }
            b'\n' => return from + at,
            c if c.is_ascii_alphabetic() || c == b'_' => {
                let rest = &body[at..];
                let end = rest.find(|c: char| !is_chain(c)).unwrap_or(rest.len());
                let path = rest[..end].trim_end_matches('.');
                if !body[..at].trim_end().ends_with('.') {
                    found.push((path, from + at..from + at + path.len()));
                }
                at += end;
                continue;
            }
            c if c.is_ascii_digit() => {
                at += body[at..].find(|c: char| !is_chain(c)).unwrap_or(body.len() - at);
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    from + body.len()
}

fn is_chain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.')
}

fn is_path(c: char) -> bool {
    is_chain(c) || c == '-'
}

/// Returns the incomplete reference at the end of a text, without the `$`: `vpc.ma` for `$vpc.ma` and `${f(vpc.ma`.
/// Empty just after the `$`; `None` if there is no reference.
pub(in crate::editor::lsp) fn unfinished_reference(text: &str) -> Option<&str> {
    let line = text.rsplit('\n').next().unwrap_or_default();
    let open = line.rfind("${").filter(|open| !line[open + 2..].contains('}'));
    if let Some(open) = open {
        let body = &line[open + 2..];
        return Some(&body[body.trim_end_matches(is_chain).len()..]);
    }
    let path = &line[line.trim_end_matches(is_path).len()..];
    let before = &line[..line.len() - path.len()];
    (before.ends_with('$') && !before.ends_with("$$")).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_found() {
        for (text, wanted) in [
            ("$vpc.main", vec!["vpc.main"]),
            ("\"${vm.web.ip + 'vm.x'} $$vm.y ${size(vars.a) > 1}\"", vec!["vm.web.ip", "size", "vars.a"]),
            ("[$a.b, $c-d.e-f]", vec!["a.b", "c-d.e-f"]),
            ("x ${values(vm.web).map(v, v.id)}", vec!["values", "vm.web", "map", "v", "v.id"]),
            ("plain", vec![]),
            ("${ {'a': vars.x} }", vec!["vars.x"]),
        ] {
            let found: Vec<&str> = scan_references(text).into_iter().map(|(path, _)| path).collect();
            let wanted: Vec<&str> = wanted.into_iter().filter(|word| *word != "map").collect();
            assert_eq!(found, wanted, "{text}");
        }
        for (path, range) in scan_references("é $vpc.main ${vars.x}") {
            assert_eq!(&"é $vpc.main ${vars.x}"[range], path);
        }
    }

    #[test]
    fn an_unfinished_reference_at_the_cursor_is_recognized() {
        for (text, wanted) in [
            ("a: $vpc.ma", Some("vpc.ma")),
            ("a: $", Some("")),
            ("a: $$x", None),
            ("a: x", None),
            ("a: \"${f(vpc.", Some("vpc.")),
            ("a: \"${x} vp", None),
            ("a: $x\nb: c", None),
        ] {
            assert_eq!(unfinished_reference(text), wanted, "{text}");
        }
    }
}
