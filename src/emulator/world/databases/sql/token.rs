//! Lexer of the SQL subset: query text in, tokens out.

use crate::emulator::world::engine::message::ErrorResponse;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum SqlToken {
    /// A name or keyword, converted to lower case.
    Word(String),
    /// A quoted name, unchanged.
    Quoted(String),
    Text(String),
    Number(String),
    Symbol(&'static str),
}

const SYMBOLS: &[&str] =
    &["<>", "!=", "<=", ">=", "::", "(", ")", ",", ";", "*", "=", "<", ">", "+", "-", ".", "/"];

/// Splits a query into tokens; drops comments. An error for a quote or comment that does not end, and for a character
/// that SQL does not use.
pub(super) fn tokenize_query(query: &str) -> Result<Vec<SqlToken>, ErrorResponse> {
    let mut found = Vec::new();
    let mut rest = query.trim_start();
    while let Some(first) = rest.chars().next() {
        let used = match first {
            '\'' => read_quoted(rest, '\'', &mut found, SqlToken::Text)?,
            '"' => read_quoted(rest, '"', &mut found, SqlToken::Quoted)?,
            '`' => read_quoted(rest, '`', &mut found, SqlToken::Quoted)?,
            _ if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            // The asterisk of `/*` does not end the comment: `/*/` is still open.
            _ if rest.starts_with("/*") => match rest[2..].find("*/") {
                Some(end) => end + 4,
                None => return Err(ErrorResponse::bad_request("syntax error: a comment does not end")),
            },
            _ if first.is_ascii_digit() => {
                let number = matching_prefix(rest, |letter| letter.is_ascii_digit() || letter == '.');
                found.push(SqlToken::Number(number.to_owned()));
                number.len()
            }
            _ if first.is_alphabetic() || first == '_' => {
                let word = matching_prefix(rest, |letter| {
                    letter.is_alphanumeric() || letter == '_' || letter == '$'
                });
                found.push(SqlToken::Word(word.to_lowercase()));
                word.len()
            }
            _ => {
                let symbol = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol));
                let symbol = symbol
                    .ok_or_else(|| ErrorResponse::bad_request(format!("syntax error at {first:?}")))?;
                found.push(SqlToken::Symbol(symbol));
                symbol.len()
            }
        };
        rest = rest.get(used..).unwrap_or_default().trim_start();
    }
    Ok(found)
}

fn matching_prefix(text: &str, fits: impl Fn(char) -> bool) -> &str {
    let end = text.find(|letter| !fits(letter)).unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

/// Reads a quoted string or name, in which a doubled quote means one; returns the number of bytes read.
fn read_quoted(
    text: &str,
    quote: char,
    found: &mut Vec<SqlToken>,
    token: fn(String) -> SqlToken,
) -> Result<usize, ErrorResponse> {
    let mut inner = String::new();
    let mut letters = text.char_indices().skip(1).peekable();
    while let Some((at, letter)) = letters.next() {
        if letter != quote {
            inner.push(letter);
        } else if letters.next_if(|(_, next)| *next == quote).is_some() {
            inner.push(quote);
        } else {
            found.push(token(inner));
            return Ok(at + 1);
        }
    }
    Err(ErrorResponse::bad_request(format!("syntax error: {quote} is not closed")))
}
