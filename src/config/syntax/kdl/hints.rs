//! Diagnostics of KDL syntax errors: the explanation and the corrected source. In: what the tokenizer or the parser
//! found; out: a diagnostic, with an edit where only one meaning is possible. Most mistakes are habits from YAML.

use just_kdl::lexer::LexerError;

use crate::config::syntax::limits::{
    BARE_KEYWORD, BLOCK_NAME, BRACE, COLON_AFTER_NAME, EQUALS_AFTER_NAME, HASH_COMMENT, KDL_SYNTAX,
    LIST_PUNCTUATION, MIXED_LIST, NEEDS_QUOTES, NOT_FINITE, SINGLE_QUOTES, TEXT, TYPE_ANNOTATION,
    VALUE_AND_BLOCK, byte_span,
};
use crate::model::diagnostic::Diagnostic;
use crate::model::source::{SourceId, Span};

/// Maximum number of bytes of a word that a message repeats.
const MAX_QUOTED_BYTES: usize = 120;

/// Returns whether a word continues with characters that need quotes.
pub(super) fn is_glued(text: &str, start: usize, end: usize) -> bool {
    let rest = &text.as_bytes()[end..];
    let word = &text[start..end];
    match rest.first() {
        Some(b'/') => match rest.get(1) {
            Some(b'/') => word.ends_with(':'),
            Some(b'*' | b'-') => false,
            _ => true,
        },
        Some(b'{') => word.ends_with('$'),
        Some(b'\\') => rest.get(1).is_some_and(u8::is_ascii_graphic),
        Some(b'(' | b'#' | b'[' | b']') => true,
        _ => false,
    }
}

/// Returns the end of the word at an offset as its author would see it: `${a + b}` is one word.
pub(super) fn word_end(text: &str, start: usize) -> usize {
    let (mut braces, mut parens, mut last) = (0_usize, 0_usize, ' ');
    for (at, c) in text[start..].char_indices() {
        let ends = match c {
            '\n' | '\r' => true,
            '{' if braces > 0 || last == '$' => {
                braces += 1;
                false
            }
            '}' if braces > 0 => {
                braces -= 1;
                false
            }
            '(' => {
                parens += 1;
                false
            }
            ')' if parens > 0 => {
                parens -= 1;
                false
            }
            _ => braces == 0 && (c.is_whitespace() || matches!(c, '{' | '}' | ')' | ';')),
        };
        if ends {
            return start + at;
        }
        last = c;
    }
    text.len()
}

/// Returns a string in double quotes, escaped.
fn quote_text(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Returns the diagnostic of typographic quotes: in `“shop”` they are part of the string.
pub(super) fn typographic_quotes(text: &str, at: Span, word: &str) -> Diagnostic {
    let inner = word.trim_matches(['“', '„', '”']);
    let right = quote_text(inner);
    let written = correct_word(text, at.start as usize, inner);
    let problem = Diagnostic::error(TEXT, "Typographic quotes")
        .with_label(at, "part of the text")
        .detail("The only KDL quote is `\"`; other quotes are part of the text.")
        .help(format!("Write `{written}`; text that shall keep them needs quotes around them."));
    // The closing quote of a string with several words is in a later word.
    if word.ends_with(['“', '”']) && word.chars().count() > 1 {
        problem.fix(at, right)
    } else {
        problem
    }
}

/// Returns a word in the quotes that it needs, with the `key=` before it.
pub(super) fn correct_word(text: &str, start: usize, word: &str) -> String {
    correct_as(text, start, &quote_text(word))
}

/// Returns the correction `right` with the `key=` before it, if there is one.
pub(super) fn correct_as(text: &str, start: usize, right: &str) -> String {
    let before = &text[..start];
    let key = before.strip_suffix('=').and_then(|before| {
        let from = before.rfind(|c: char| c.is_whitespace() || matches!(c, '{' | ';')).map_or(0, |n| n + 1);
        before.get(from..).filter(|key| key.len() < 64)
    });
    match key {
        Some(key) => format!("{key}={right}"),
        None => right.to_owned(),
    }
}

/// Returns the beginning of a string, at most `MAX_QUOTED_BYTES` bytes, for a message.
fn shorten_text(text: &str) -> &str {
    let end = (0..=MAX_QUOTED_BYTES.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or_default()]
}

pub(super) fn needs_quotes(at: Span, word: &str, written: &str) -> Diagnostic {
    let problem =
        Diagnostic::error(NEEDS_QUOTES, "Text needs quotes").with_label(at, "needs double quotes");
    if let Some(number) = leading_amount(word) {
        let (key, _) = written.split_once('=').unwrap_or_default();
        let key = if key.is_empty() { String::new() } else { format!("{key}=") };
        return problem.detail(format!("`{}` is neither a number nor text.", shorten_text(word))).help(format!(
            "Write `{key}{number}` for a number: its unit is the attribute's own; or `{written}` for text."
        ));
    }
    problem
        .detail(format!("In KDL, `{}` is text only in double quotes.", shorten_text(word)))
        .help(format!("Write `{}`.", shorten_text(written)))
        .fix(at, quote_text(word))
}

/// Returns the number in a word of digits and a unit of at least two letters, such as `100GB`; `None` for any other
/// word. A single letter may be a duration such as `15m`, which is a string.
fn leading_amount(word: &str) -> Option<&str> {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = word.split_at(digits);
    let amount = unit.len() > 1 && unit.bytes().all(|b| b.is_ascii_alphabetic());
    (amount && !number.is_empty()).then_some(number)
}

/// Returns the diagnostic of a block as a property's value: `env_vars={ … }`.
pub(super) fn block_as_value(at: Span, key: &str) -> Diagnostic {
    Diagnostic::error(EQUALS_AFTER_NAME, "`=` before a block")
        .with_label(at, "")
        .detail("In KDL, `=` is followed by one value; a block follows its name without `=`.")
        .help(format!("Write `{key} {{ … }}` on a line of its own, inside the block of this node."))
}

pub(super) fn single_quotes(at: Span, word: &str, written: &str) -> Diagnostic {
    Diagnostic::error(SINGLE_QUOTES, "Single quotes")
        .with_label(at, "single quotes")
        .detail("In KDL, single quotes are part of the word; text has double quotes.")
        .help(format!("Write `{}`.", shorten_text(written)))
        .fix(at, quote_text(word))
}

pub(super) fn bare_keyword(at: Span, word: &str, written: &str) -> Diagnostic {
    Diagnostic::error(BARE_KEYWORD, "Keyword without `#`")
        .with_label(at, "")
        .detail(format!("In KDL, `{word}` is written `#{word}`; as text it is `\"{word}\"`."))
        .help(format!("Write `{}`.", shorten_text(written)))
        .fix(at, format!("#{word}"))
}

pub(super) fn wrong_keyword(at: Span, value: bool, written: &str) -> Diagnostic {
    Diagnostic::error(BARE_KEYWORD, "Unknown keyword")
        .with_label(at, "")
        .detail("KDL's keywords are `#true`, `#false` and `#null`.")
        .help(format!("Write `{}`.", shorten_text(written)))
        .fix(at, if value { "#true" } else { "#false" })
}

/// Returns the boolean that a misspelled keyword such as `#yes` means; `None` for any other word.
pub(super) fn boolean_of(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "#true" | "#yes" | "#on" | "#t" => Some(true),
        "#false" | "#no" | "#off" | "#f" => Some(false),
        _ => None,
    }
}

pub(super) fn hash_comment(at: Span, line: &str) -> Diagnostic {
    Diagnostic::error(HASH_COMMENT, "Comment with `#`")
        .with_label(at, "")
        .detail("In KDL, a comment begins with `//`.")
        .help(format!("Write `//{}`.", shorten_text(line.trim_start_matches('#'))))
        .fix(at, "//")
}

/// Returns the diagnostic of commas between values: `a, b`. It covers the rest of the line or block.
pub(super) fn comma_separator(text: &str, id: SourceId, start: usize) -> Diagnostic {
    let line = text[start..].lines().next().unwrap_or_default();
    let end = line.find([';', '{', '}']).unwrap_or(line.len());
    let values = line[..end].trim_end();
    let at = byte_span(id, start, start + values.len());
    let problem = Diagnostic::error(LIST_PUNCTUATION, "Commas between values")
        .with_label(at, "")
        .detail("In KDL, values are separated by spaces.");
    if values.contains('"') || values.len() > MAX_QUOTED_BYTES {
        return problem.help("Write `name a b`, without commas; text with a comma needs double quotes.");
    }
    let right =
        values.split(',').map(str::trim).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    problem.help(format!("Write `{right}`; text with a comma needs double quotes.")).fix(at, right)
}

/// Returns the diagnostic of `=` after a node's name: `cidr = "…"` in a block.
pub(super) fn equals_after_name(at: Span, name: &str, value: &str) -> Diagnostic {
    let detail = format!(
        "In KDL, the first word of a line is a name, and its value follows without `=`; `{name}=…` is only allowed after another name."
    );
    let problem =
        Diagnostic::error(EQUALS_AFTER_NAME, "`=` after a name").with_label(at, "").detail(detail);
    with_correction(problem, at, name, value)
}

/// Returns the diagnostic of a colon after a node's name: `cidr: "…"`.
pub(super) fn colon_after_name(at: Span, name: &str, value: &str) -> Diagnostic {
    let problem = Diagnostic::error(COLON_AFTER_NAME, "Colon after a name")
        .with_label(at, "")
        .detail("KDL has no colon between a name and its value.");
    if value.is_empty() {
        return problem.help(format!(
            "Write `{name} {{ … }}` for a block; if the whole file is YAML, give it the extension `.yaml`."
        ));
    }
    with_correction(problem, at, name, value)
}

/// Returns the diagnostic of a colon after a property's key: `vpc main cidr: "…"`.
pub(super) fn colon_in_line(at: Span, key: &str, value: &str) -> Diagnostic {
    Diagnostic::error(COLON_AFTER_NAME, "Colon after a name")
        .with_label(at, "")
        .detail("After a name, on the same line, KDL joins a key and its value with `=`.")
        .help(format!("Write `{key}={}`.", shorten_text(value)))
        .fix(at, format!("={value}"))
}

/// Adds the correction of a name and its value to a diagnostic; `value` may be empty.
fn with_correction(problem: Diagnostic, at: Span, name: &str, value: &str) -> Diagnostic {
    match value {
        "" => problem.help(format!("Write `{name} VALUE`.")),
        "{ … }" => problem.help(format!("Write `{name} {value}`.")).fix(at, " "),
        value => {
            problem.help(format!("Write `{name} {}`.", shorten_text(value))).fix(at, format!(" {value}"))
        }
    }
}

pub(super) fn type_annotation(at: Span) -> Diagnostic {
    Diagnostic::error(TYPE_ANNOTATION, "Type annotation")
        .with_label(at, "")
        .detail("Types come from the schema; annotations such as `(u8)` are not used.")
        .help("Remove the parentheses and their content.")
        .fix(at, "")
}

pub(super) fn value_and_block(name: &str, name_at: Span, value: Span, body: Span) -> Diagnostic {
    Diagnostic::error(VALUE_AND_BLOCK, "Value and block at once")
        .with_label(value, "a value")
        .with_label(body, "properties or a block")
        .with_label(name_at, "")
        .detail(format!("`{name}` is either a value or a map, so it cannot have both."))
        .help(format!("Keep the value, or write all of it as keys: `{name} {{ key value }}`; a map of named blocks is `{name} {{ first {{ … }}; second {{ … }} }}`."))
}

pub(super) fn block_name(name: &str, at: Span, found: &str) -> Diagnostic {
    Diagnostic::error(BLOCK_NAME, "Block without exactly one name")
        .with_label(at, found)
        .detail(format!("A `{name}` block has exactly one name, then its attributes."))
        .help(format!("Write `{name} NAME key=value {{ … }}`."))
}

pub(super) fn mixed_list(item: Span, key: Span) -> Diagnostic {
    Diagnostic::error(MIXED_LIST, "List items beside keys")
        .with_label(item, "an item of a list")
        .with_label(key, "a key of a map")
        .detail("A block is a list, all lines of which begin with `-`, or a map, but not both.")
        .help("Give the list a name of its own.")
}

pub(super) fn not_finite(at: Span) -> Diagnostic {
    Diagnostic::error(NOT_FINITE, "Not a finite number")
        .with_label(at, "")
        .detail("Nothing in a stack takes an infinite number or `#nan`.")
        .help("Write a number.")
}

pub(super) fn unclosed_brace(open: Span) -> Diagnostic {
    Diagnostic::error(BRACE, "Brace is not closed")
        .with_label(open, "opened here")
        .detail("The file ends before this block does.")
        .help("Close it with `}`.")
}

pub(super) fn stray_brace(at: Span) -> Diagnostic {
    Diagnostic::error(BRACE, "Unmatched brace")
        .with_label(at, "closes nothing")
        .detail("Every block that was opened is closed before this brace.")
        .help("Remove it, or look for a `{` that is missing above.")
}

/// Returns the diagnostic of any other unexpected token.
pub(super) fn unexpected_token(at: Span, detail: &str, help: &str) -> Diagnostic {
    Diagnostic::error(KDL_SYNTAX, "Syntax error").with_label(at, "").detail(detail).help(help)
}

/// Returns the diagnostic of a lexer error for which no correction is known. The lexer started at `base`, and
/// its offsets count from there.
pub(super) fn lexer_problem(
    text: &str,
    error: &LexerError,
    start: usize,
    base: usize,
    id: SourceId,
) -> Diagnostic {
    let one = |at: usize| {
        let at = (0..=at.min(text.len())).rev().find(|n| text.is_char_boundary(*n)).unwrap_or_default();
        byte_span(id, at, at + text[at..].chars().next().map_or(0, char::len_utf8))
    };
    let in_text = text[start..].starts_with(['"', '#']);
    match error {
        LexerError::UnexpectedStringNewline(_) => unclosed_text(one(start)),
        LexerError::UnexpectedEof(_) if in_text => unclosed_text(one(start)),
        LexerError::UnexpectedEof(_) => {
            let open = text[start..].find("/*").map_or(start, |n| start + n);
            unexpected_token(
                byte_span(id, open, open + 2),
                "This comment is not closed.",
                "Close it with `*/`.",
            )
        }
        LexerError::InvalidEscape(at) | LexerError::BadUnicodeEscape(at) => invalid_escape(one(base + at)),
        LexerError::MissingText if in_text => invalid_escape(one(start)),
        LexerError::MissingStringNewline => {
            multi_line(one(start), "Nothing may follow the opening `\"\"\"` on its line.")
        }
        LexerError::BadEndString(at) => {
            multi_line(one(base + at), "The closing `\"\"\"` must be on a line of its own.")
        }
        LexerError::BadIndent(at) => multi_line(
            at.map_or(one(start), |at| one(base + at)),
            "Every line must be indented at least as far as the closing `\"\"\"`, in the same way.",
        ),
        LexerError::BadEscline(at) => unexpected_token(
            one(base + at),
            "After a backslash outside of quotes, the line must end.",
            "Put the text into double quotes, with `\\\\` for a backslash.",
        ),
        LexerError::InvalidCharacter(at) => unexpected_token(
            one(base + at),
            "This character is invisible or changes the direction of text, which KDL refuses.",
            "Remove it; inside text, write it as `\\u{…}`.",
        ),
        LexerError::InvalidOperator => brackets_as_list(text, start, one(start)),
        _ => unexpected_token(one(start), "This is not KDL.", "Put text into double quotes."),
    }
}

fn unclosed_text(at: Span) -> Diagnostic {
    Diagnostic::error(TEXT, "Text is not closed")
        .with_label(at, "opened here")
        .detail("The closing quote is missing; text in single `\"` ends on its own line.")
        .help("Close the quote. Text of several lines is written between two lines of `\"\"\"`.")
}

fn invalid_escape(at: Span) -> Diagnostic {
    Diagnostic::error(TEXT, "Unknown escape in text")
        .with_label(at, "")
        .detail("The escapes are `\\n`, `\\r`, `\\t`, `\\s`, `\\b`, `\\f`, `\\\"`, `\\\\` and `\\u{…}`.")
        .help("Write `\\\\` for a backslash, or the whole text as `#\"…\"#`.")
}

fn multi_line(at: Span, detail: &str) -> Diagnostic {
    Diagnostic::error(TEXT, "Text of several lines is not well formed").with_label(at, "").detail(detail).help(
        "Put `\"\"\"` at the end of the first line and on a line of its own after the text; the last one's indentation is cut off.",
    )
}

/// Returns the diagnostic of a list in brackets: `nodes [a, b]`, `nodes=[a, b]`.
fn brackets_as_list(text: &str, start: usize, at: Span) -> Diagnostic {
    let line = text[start..].lines().next().unwrap_or_default();
    let items = line.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(items, _)| items);
    let before = text[..start].rsplit(['\n', '{', ';']).next().unwrap_or_default();
    let name = before.split([' ', '\t', '=']).rfind(|word| !word.is_empty());
    let problem = Diagnostic::error(LIST_PUNCTUATION, "List in brackets")
        .with_label(at, "")
        .detail("KDL has no brackets: a list is a name with several values, on a line of its own.");
    match (name, items) {
        (Some(name), Some(items)) if items.len() < MAX_QUOTED_BYTES => {
            let right = items.split(',').map(str::trim).collect::<Vec<_>>().join(" ");
            let alone = before.trim() == name && !items.is_empty() && !items.contains(['"', '[', '{']);
            let problem = problem.help(format!("Write `{} {right}`.", shorten_text(name)));
            let end = at.start + u32::try_from(items.len() + 2).unwrap_or_default();
            if alone { problem.fix(Span { end, ..at }, right) } else { problem }
        }
        _ => problem.help("Write `name a b c`."),
    }
}
