//! `TextTemplate`: a string of the configuration split into literal text, `$path` and `${…}`. In: a scalar. Out: its
//! parts, unresolved. The reverse direction, `escape_literal`, writes a string so that it is read as itself. Pure.

use crate::model::address::Name;

/// Part of a template, in the order of the string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) enum TemplatePart {
    /// Literal text, with `$$` already unescaped to `$`.
    Text(String),
    /// `$kind.name.attribute`, the whole value.
    Path(Vec<Name>),
    /// The source between `${` and `}`.
    Cel(String),
}

/// String with parts to interpolate, or with `$$` to unescape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) struct TextTemplate {
    /// Parts in order; if the only part is no literal text, the result keeps that part's type.
    pub(in crate::config) parts: Vec<TemplatePart>,
}

/// Why a string is no template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) enum TemplateError {
    /// `${` without a closing `}`.
    Unclosed,
    /// `$root` inside a longer string, where `root` is a valid root: it is unclear whether a reference is meant.
    Ambiguous(String),
    /// `$path` with an empty part: `$vpc..x`, `$vpc.`.
    Path(String),
}

/// Returns a string escaped so that it is read as itself: every `$` is doubled. A string that looks like a reference or
/// a call without `$` would be reported as a mistake, so it is written as a literal inside of an expression.
pub(in crate::config) fn escape_literal(text: &str) -> String {
    let is_path = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let root = text.split_once('.').filter(|_| text.chars().all(is_path)).map(|(root, _)| root);
    let call = text.strip_prefix("file(").filter(|rest| rest.ends_with(')'));
    match root {
        Some("vars" | "var" | "locals" | "local" | "each") => format!("${{'{text}'}}"),
        _ => match call {
            Some(_) if is_simple(text) => format!("${{'{text}'}}"),
            Some(rest) => format!("${{'file('}}{}", double_dollars(rest)),
            None => double_dollars(text),
        },
    }
}

/// Returns a string with `${…}` in it, changed so that a `file(` at its beginning is not reported as a call without
/// `${…}`; its expressions stay.
pub(in crate::config) fn marked_as_text(text: String) -> String {
    match text.strip_prefix("file(") {
        Some(rest) if text.ends_with(')') => format!("${{'file('}}{rest}"),
        _ => text,
    }
}

fn is_simple(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '(' | ')' | '.' | '/' | '_' | '-' | ' '))
}

fn double_dollars(text: &str) -> String {
    text.replace('$', "$$")
}

impl TextTemplate {
    /// Splits a string into its parts. `None` if it has no `$`, so that nothing is interpolated or unescaped.
    ///
    /// `is_root` returns whether a name is a valid root after a `$`.
    ///
    /// # Errors
    /// When `${` is not closed, `$root` stands inside a longer string, or a path has an empty part.
    pub(in crate::config) fn parse(
        text: &str,
        is_root: impl Fn(&str) -> bool,
    ) -> Result<Option<Self>, TemplateError> {
        if !text.contains('$') {
            return Ok(None);
        }
        if let Some(path) = text.strip_prefix('$').filter(|path| is_path(path)) {
            let parts: Vec<Name> = path.split('.').map(Name::new).collect();
            if parts.iter().any(Name::is_empty) {
                return Err(TemplateError::Path(path.to_owned()));
            }
            return Ok(Some(Self { parts: vec![TemplatePart::Path(parts)] }));
        }
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            plain.push_str(before);
            if let Some(after) = after.strip_prefix('$') {
                plain.push('$');
                rest = after;
            } else if let Some(body) = after.strip_prefix('{') {
                let end = find_expression_close(body).ok_or(TemplateError::Unclosed)?;
                if !plain.is_empty() {
                    parts.push(TemplatePart::Text(std::mem::take(&mut plain)));
                }
                parts.push(TemplatePart::Cel(body[..end].trim().to_owned()));
                rest = &body[end + 1..];
            } else {
                let word = leading_word(after);
                // `$HOME` in a script is text, but `$vars.x` in a string would silently not be interpolated.
                if is_root(word) {
                    return Err(TemplateError::Ambiguous(word.to_owned()));
                }
                plain.push('$');
                rest = after;
            }
        }
        plain.push_str(rest);
        if !plain.is_empty() || parts.is_empty() {
            parts.push(TemplatePart::Text(plain));
        }
        Ok(Some(Self { parts }))
    }
}

impl TextTemplate {
    /// Returns whether the template has only literal text, so that its value needs no scope.
    pub(in crate::config) fn is_text(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, TemplatePart::Text(_)))
    }
}

fn leading_word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

/// Returns whether the text after a `$` has the characters of a dotted path. Its parts may still be empty.
pub(in crate::config) fn is_path(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
}

/// Returns the byte offset in `body`, the text after `${`, of the `}` that closes the expression, outside of quotes
/// and inner braces. `None` if the expression is not closed.
pub(in crate::config) fn find_expression_close(body: &str) -> Option<usize> {
    let mut depth = 0usize;
    let mut quote = None;
    let mut chars = body.char_indices();
    while let Some((at, c)) = chars.next() {
        match (quote, c) {
            // An escaped quote does not end the string.
            (Some(_), '\\') => {
                chars.next();
            }
            (Some(open), _) if c == open => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '{') => depth += 1,
            (None, '}') if depth == 0 => return Some(at),
            (None, '}') => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Option<TextTemplate>, TemplateError> {
        TextTemplate::parse(text, |word| ["vars", "env", "vpc"].contains(&word))
    }

    #[test]
    fn text_is_split_into_literals_paths_and_expressions() {
        let text = |text: &str| TemplatePart::Text(text.to_owned());
        let cel = |text: &str| TemplatePart::Cel(text.to_owned());
        let path = |text: &str| TemplatePart::Path(text.split('.').map(Name::new).collect());
        for (input, parts) in [
            ("$vpc.main", vec![path("vpc.main")]),
            ("$env", vec![path("env")]),
            ("$PORT", vec![path("PORT")]),
            ("${ env }", vec![cel("env")]),
            ("a-${env}-b", vec![text("a-"), cel("env"), text("-b")]),
            ("${ {'a': '}'}['a'] }!", vec![cel("{'a': '}'}['a']"), text("!")]),
            ("$$vpc.main", vec![text("$vpc.main")]),
            ("$${PORT}", vec![text("${PORT}")]),
            ("US$ 5, $5, $(x), $HOME/x $", vec![text("US$ 5, $5, $(x), $HOME/x $")]),
        ] {
            assert_eq!(parse(input), Ok(Some(TextTemplate { parts })), "{input}");
        }
        assert_eq!(parse("plain"), Ok(None));
        for (meant, written) in [
            ("US$ {x}", "US$$ {x}"),
            ("file(s)", "${'file(s)'}"),
            ("file('$x')", "${'file('}'$$x')"),
            ("$file(x)", "$$file(x)"),
            ("file(s) of it", "file(s) of it"),
            ("vars.size", "${'vars.size'}"),
            ("vars. Size", "vars. Size"),
            ("www.example.com", "www.example.com"),
        ] {
            assert_eq!(escape_literal(meant), written);
        }
        assert_eq!(parse("${a"), Err(TemplateError::Unclosed));
        assert_eq!(parse("x $env"), Err(TemplateError::Ambiguous("env".into())));
        assert_eq!(parse("$vpc..x"), Err(TemplateError::Path("vpc..x".into())));
    }
}
