//! References in strings: finds where `$a.b` and `${a.b.c}` name a path, and renames it. Works on the source
//! text of expressions, so that everything else in them stays as it is written.

use std::ops::Range;

use crate::config::resolve::template::{find_expression_close, is_path};
use crate::model::address::Name;

/// Renamed paths: old steps and new steps.
pub(super) struct PathRenames<'r> {
    pairs: Vec<(Vec<&'r str>, Vec<&'r str>)>,
}

/// Error: the expression reaches a renamed path through an index, so it cannot be rewritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UnrewritableReference;

impl<'r> PathRenames<'r> {
    /// Returns the renames for pairs of dotted paths.
    pub(super) fn new(pairs: &'r [(Name, Name)]) -> Self {
        let parts = |path: &'r Name| path.split('.').collect();
        Self { pairs: pairs.iter().map(|(from, to)| (parts(from), parts(to))).collect() }
    }

    /// Returns renames whose replacement is an expression of any form, not only a dotted path.
    pub(super) fn from_replacements(pairs: &'r [(Vec<&'r str>, String)]) -> Self {
        Self { pairs: pairs.iter().map(|(from, to)| (from.clone(), vec![to.as_str()])).collect() }
    }

    /// Returns the new form of a dotted path; `None` if no rename applies. The first rename that applies counts.
    pub(super) fn rename_path(&self, path: &str) -> Option<String> {
        let parts: Vec<&str> = path.split('.').collect();
        let (from, to) = self.pairs.iter().find(|(from, _)| parts.starts_with(from))?;
        Some(to.iter().chain(&parts[from.len()..]).copied().collect::<Vec<_>>().join("."))
    }
}

/// Returns a string after renaming its references; `None` if none of them changes. With `plain`, the string
/// itself is a path.
pub(super) fn redirect_text(
    text: &str,
    renames: &PathRenames<'_>,
    plain: bool,
) -> Result<Option<String>, UnrewritableReference> {
    if plain && let Some(new) = renames.rename_path(text) {
        return Ok(Some(new));
    }
    if !text.contains('$') {
        return Ok(None);
    }
    if let Some(path) = text.strip_prefix('$').filter(|path| is_path(path)) {
        return Ok(renames.rename_path(path).map(|new| format!("${new}")));
    }
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut changed) = (text, false);
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        out.push('$');
        rest = after;
        if let Some(after) = after.strip_prefix('$') {
            out.push('$');
            rest = after;
        } else if let Some(body) = after.strip_prefix('{') {
            let Some(end) = find_expression_close(body) else { continue };
            let new = redirect_expression(&body[..end], renames)?;
            changed |= new.is_some();
            out.push('{');
            out.push_str(new.as_deref().unwrap_or(&body[..end]));
            rest = &body[end..];
        }
    }
    out.push_str(rest);
    Ok(changed.then_some(out))
}

/// Returns an expression with its references renamed; `None` if none of them changes.
fn redirect_expression(
    source: &str,
    renames: &PathRenames<'_>,
) -> Result<Option<String>, UnrewritableReference> {
    let mut out = String::with_capacity(source.len());
    let (mut at, mut copied) = (0, 0);
    let bytes = source.as_bytes();
    let mut behind_dot = false;
    while at < source.len() {
        let c = bytes[at];
        if c == b'"' || c == b'\'' {
            at = quoted_end(source, at);
        } else if c.is_ascii_alphabetic() || c == b'_' {
            let chain = parse_chain(source, at);
            let end = chain.last().map_or(at + 1, |(_, place)| place.end);
            if !behind_dot && let Some((used, new)) = rename_chain(source, &chain, end, renames)? {
                out.push_str(&source[copied..at]);
                out.push_str(&new);
                copied = chain[used - 1].1.end;
            }
            at = end;
        } else if c.is_ascii_digit() {
            // A number, or the rest of a character that begins no name.
            at += source[at..]
                .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .unwrap_or(source.len() - at);
        } else {
            at += source[at..].chars().next().map_or(1, char::len_utf8);
        }
        behind_dot = c == b'.' || (behind_dot && c.is_ascii_whitespace());
    }
    out.push_str(&source[copied..]);
    Ok((copied > 0).then_some(out))
}

/// Returns how many steps of a chain a rename replaces, and the new steps; `None` if no rename applies. `end`
/// is the offset after the chain.
fn rename_chain(
    source: &str,
    chain: &[(&str, Range<usize>)],
    end: usize,
    renames: &PathRenames<'_>,
) -> Result<Option<(usize, String)>, UnrewritableReference> {
    let same = |from: &[&str]| chain.iter().zip(from).take_while(|((name, _), part)| name == *part).count();
    for (from, to) in &renames.pairs {
        let common = same(from);
        if common == from.len() {
            let step = |part: &&str| if is_name(part) { format!(".{part}") } else { format!("['{part}']") };
            let rest: String = to[1..].iter().map(step).collect();
            return Ok(Some((common, format!("{}{rest}", to[0]))));
        }
        if common == chain.len() && source[end..].trim_start().starts_with('[') {
            return Err(UnrewritableReference);
        }
    }
    Ok(None)
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Returns the steps `a.b['c']` that begin at an offset, each with its dot or brackets.
fn parse_chain(source: &str, at: usize) -> Vec<(&str, Range<usize>)> {
    let word = |from: usize| {
        let rest = &source[from..];
        from + rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len())
    };
    let mut end = word(at);
    let mut steps = vec![(&source[at..end], at..end)];
    loop {
        let rest = &source[end..];
        if let Some(after) = rest.strip_prefix('.') {
            if !after.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
                return steps;
            }
            let to = word(end + 1);
            steps.push((&source[end + 1..to], end..to));
            end = to;
        } else if rest.starts_with("['") || rest.starts_with("[\"") {
            let to = quoted_end(source, end + 1);
            let Some(name) = source.get(end + 2..to - 1).filter(|_| source[to..].starts_with(']')) else {
                return steps;
            };
            steps.push((name, end..to + 1));
            end = to + 1;
        } else {
            return steps;
        }
    }
}

/// Returns the offset after the quote that closes the string at an offset, or the end of the source.
fn quoted_end(source: &str, at: usize) -> usize {
    let quote = source[at..].chars().next();
    let mut chars = source[at + 1..].char_indices();
    while let Some((n, c)) = chars.next() {
        if c == '\\' {
            chars.next();
        } else if Some(c) == quote {
            return at + 1 + n + 1;
        }
    }
    source.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_references_to_the_renamed_block_are_redirected() {
        let pairs = [("vm.web".into(), "vm.front".into()), ("vpc.a.b".into(), "vpc.a-c.1".into())];
        let renames = PathRenames::new(&pairs);
        let new = |text| redirect_text(text, &renames, false).unwrap();
        for (text, wanted) in [
            ("$vm.web", Some("$vm.front")),
            ("$vm.web.a.id", Some("$vm.front.a.id")),
            ("$vm.website", None),
            ("$$vm.web", None),
            ("vm.web", None),
            (
                "x ${vm.web.ip + 'vm.web'} $${vm.web} ${vm.web}",
                Some("x ${vm.front.ip + 'vm.web'} $${vm.web} ${vm.front}"),
            ),
            ("${values(vm.web).map(v, v.vm.web)}", Some("${values(vm.front).map(v, v.vm.web)}")),
            ("${vm['web'].a}", Some("${vm.front.a}")),
            ("${vm.webs + 1.vm.web}", None),
            ("${vpc.a.b.id}", Some("${vpc['a-c']['1'].id}")),
        ] {
            assert_eq!(new(text).as_deref(), wanted, "{text}");
        }
        assert_eq!(redirect_text("${vm[vars.x].id}", &renames, false), Err(UnrewritableReference));
        assert_eq!(redirect_text("${vpc.a[each.key]}", &renames, false), Err(UnrewritableReference));
        assert_eq!(redirect_text("vm.web.a", &renames, true), Ok(Some("vm.front.a".to_owned())));
    }
}
