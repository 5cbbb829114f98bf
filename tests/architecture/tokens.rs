//! Finds paths, method calls and items in token streams: the arguments of macros, the bodies of `macro_rules!`, and
//! attributes. `syn` does not parse these, so each name is classified by the tokens beside it.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::facts::Segments;

/// What a token stream contains.
#[derive(Default)]
pub struct Found {
    pub paths: BTreeSet<Segments>,
    /// Method calls: the variable that is the receiver, empty if it is another expression, and the method.
    pub calls: BTreeSet<(String, String)>,
    pub items: BTreeSet<String>,
    pub functions: BTreeSet<String>,
}

/// Searches the tokens of a macro.
pub fn scan(tokens: TokenStream) -> Found {
    let mut found = Found::default();
    scan_into(tokens, &mut found);
    found
}

/// Searches the tokens of an attribute for paths of two segments or more, in strings too:
/// `#[serde(with = "crate::time::text")]`.
pub fn scan_attribute(tokens: TokenStream) -> BTreeSet<Segments> {
    let mut paths: BTreeSet<_> =
        scan(tokens.clone()).paths.into_iter().filter(|path| path.len() > 1).collect();
    let mut pending = vec![tokens];
    while let Some(tokens) = pending.pop() {
        for token in tokens {
            match token {
                TokenTree::Group(group) => pending.push(group.stream()),
                TokenTree::Literal(literal) => paths.extend(path_in_string(&literal.to_string())),
                _ => {}
            }
        }
    }
    paths
}

fn path_in_string(literal: &str) -> Option<Segments> {
    let text = literal.strip_prefix('"')?.strip_suffix('"')?;
    let segments: Segments = text.split("::").map(str::to_owned).collect();
    let is_name = |segment: &String| {
        !segment.is_empty() && segment.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    (segments.len() > 1 && segments.iter().all(is_name)).then_some(segments)
}

/// Returns whether a `cfg` condition holds in tests only: `test`, or `all(…)` with `test` in it.
pub fn requires_test(condition: TokenStream) -> bool {
    let tokens: Vec<_> = condition.into_iter().collect();
    match tokens.as_slice() {
        [TokenTree::Ident(word)] => word == "test",
        [TokenTree::Ident(word), TokenTree::Group(group), ..] if word == "all" => {
            let inner: Vec<_> = group.stream().into_iter().collect();
            inner
                .split(|token| is_punct(Some(token), ','))
                .any(|condition| requires_test(condition.iter().cloned().collect()))
        }
        _ => false,
    }
}

fn scan_into(tokens: TokenStream, found: &mut Found) {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Group(group) => scan_into(group.stream(), found),
            TokenTree::Ident(_) => {
                at = scan_name(&tokens, at, found);
                continue;
            }
            _ => {}
        }
        at += 1;
    }
}

/// Classifies the name at an index by the tokens beside it; returns the index after what was read.
fn scan_name(tokens: &[TokenTree], at: usize, found: &mut Found) -> usize {
    let before = |distance: usize| at.checked_sub(distance).and_then(|index| tokens.get(index));
    let mut segments = vec![word(&tokens[at])];
    let mut next = at + 1;
    while is_punct(tokens.get(next), ':')
        && is_punct(tokens.get(next + 1), ':')
        && let Some(TokenTree::Ident(name)) = tokens.get(next + 2)
    {
        segments.push(name.to_string());
        next += 3;
    }
    let is_variable = is_punct(before(1), '$') && segments[0] != "crate";
    let is_continued = is_punct(before(1), ':') && is_punct(before(2), ':');
    let is_member = is_punct(before(1), '.') && !is_punct(before(2), '.');
    let is_called = matches!(
        tokens.get(next),
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis
    );
    let first = segments[0].clone();
    if is_variable || is_continued {
        return next;
    }
    if is_member {
        let has_type_arguments = is_punct(tokens.get(next), ':') && is_punct(tokens.get(next + 1), ':');
        if is_called || has_type_arguments {
            // `a.b.c()` has the field `b` as receiver, not a variable.
            let variable = if is_punct(before(3), '.') { None } else { before(2).map(word) };
            found.calls.insert((variable.unwrap_or_default(), first));
        }
        return next;
    }
    match before(1).map(word).as_deref() {
        Some("struct" | "enum" | "trait" | "type" | "const" | "static" | "union") => {
            found.items.insert(first);
        }
        Some("fn") => {
            found.items.insert(first.clone());
            found.functions.insert(first);
        }
        _ => {
            if segments.len() > 1 || first.starts_with(char::is_uppercase) || is_called {
                found.paths.insert(segments);
            }
        }
    }
    next
}

fn word(token: &TokenTree) -> String {
    match token {
        TokenTree::Ident(ident) => ident.to_string(),
        _ => String::new(),
    }
}

fn is_punct(token: Option<&TokenTree>, character: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == character)
}
