//! Diagnostics of YAML that the parser accepts, but whose tree shows a mistake, and of constructs that stead does not
//! support (tags, several documents). Each has the corrected source where only one meaning is possible.

use super::lines::{YamlLine, expression_end, floor_boundary, in_flow, quote_yaml_text, value_end};
use crate::config::syntax::document::{Node, ScalarForm};
use crate::config::syntax::limits::{
    ALIAS, DOCUMENTS, KEY, MERGE, MISSING_SPACE, NOT_A_MAPPING, QUOTING, RESERVED_START, TAG,
    TOO_MANY_VALUES, UNQUOTED_CRON, UNQUOTED_EXPRESSION, byte_span,
};
use crate::model::address::Name;
use crate::model::diagnostic::{Diagnostic, nearest_name};
use crate::model::source::{SourceId, Span};

pub(super) fn not_a_mapping(text: &str, at: Span) -> Diagnostic {
    let (start, end) = (at.start as usize, at.end as usize);
    if text.get(start..end).is_some_and(|written| glued_key(written).is_some()) {
        return missing_space_problem(text, at);
    }
    let line = YamlLine::line_at(text, start);
    Diagnostic::error(NOT_A_MAPPING, "Not a mapping")
        .with_label(byte_span(at.source, start, line.end.min(end)), "the top level is this")
        .detail("The top level of a file is made of `key: value` lines.")
        .help("Begin with `stead: 1` and `stack: NAME`.")
}

pub(super) fn several_documents(text: &str, id: SourceId, at: usize) -> Diagnostic {
    let end = YamlLine::line_at(text, at).end.max(at);
    Diagnostic::error(DOCUMENTS, "Several documents")
        .with_label(byte_span(id, at, end), "a second document begins here")
        .detail("A file is one YAML document.")
        .help("Move it to a file of its own: all files of a stack's directory are read together.")
}

pub(super) fn unsupported_tag(text: &str, tag: &str, at: Span) -> Diagnostic {
    let value = text[floor_boundary(text, at.end as usize)..].split('\n').next().unwrap_or_default().trim();
    let problem = Diagnostic::error(TAG, "Tag")
        .with_label(at, "")
        .detail("Types come from the schema, so YAML tags such as `!!str` are not used.");
    if tag == "!!str" && !value.is_empty() && !value.starts_with(['"', '\'', '|', '>', '[', '{', '&', '*'])
    {
        let start = at.start as usize;
        let end = value_end(
            text,
            floor_boundary(text, at.end as usize),
            text[..start].contains(['[', '{']),
            false,
        );
        let problem = problem.help(format!("Write `{}`.", quote_yaml_text(value)));
        let written = text[floor_boundary(text, at.end as usize)..end.max(at.end as usize)].trim();
        problem.fix(byte_span(at.source, start, end), quote_yaml_text(written))
    } else if matches!(tag, "!Ref" | "!GetAtt" | "!Sub" | "!Join" | "!ImportValue") {
        problem.help(
            "Write a reference as `$KIND.NAME` or `$KIND.NAME.ATTRIBUTE`, and `${…}` inside of a text.",
        )
    } else if tag.starts_with("!!") || tag.is_empty() {
        problem.help("Remove the tag.")
    } else {
        problem.help("Remove the tag; text that begins with `!` needs quotes.")
    }
}

/// Returns the diagnostic of a key that is a list, a map, empty or an alias; also of `{{ x }}`, which YAML
/// reads as such a key.
pub(super) fn invalid_key(text: &str, at: Span, flow: bool) -> Diagnostic {
    let start = at.start as usize;
    if flow && text[..start].ends_with('{') && text[start..].starts_with('{') {
        return template_braces(text, at, start - 1);
    }
    let found = if at.start == at.end { "the key is missing" } else { "this is not plain text" };
    Diagnostic::error(KEY, "Key that is not text")
        .with_label(at, found)
        .detail("A key is a word or quoted text, not a list, a map, an alias or nothing.")
        .help("Write `key: value`.")
}

/// Returns the diagnostic of a template of another language: `{{ x }}`.
fn template_braces(text: &str, at: Span, start: usize) -> Diagnostic {
    let line = YamlLine::line_at(text, start);
    let end = text[start..line.end].find("}}").map_or(line.end, |n| start + n + 2);
    let inner = text[start..end].trim_matches(['{', '}']).trim();
    let whole = byte_span(at.source, start, end);
    // A word that is no root of references is probably the name of a variable.
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let right = match inner {
        "env" | "stack" => format!("${inner}"),
        name if !name.is_empty() && name.chars().all(is_name) => format!("$vars.{name}"),
        other => format!("\"${{{other}}}\""),
    };
    Diagnostic::error(RESERVED_START, "Template in double braces")
        .with_label(whole, "YAML reads this as two maps")
        .detail("Expressions are written `${…}`; double braces mean nothing here.")
        .help(format!("Write `{right}`, or quotes around text that shall keep its braces."))
}

pub(super) fn unknown_alias(text: &str, name: &str, at: Span, names: &[Name]) -> Diagnostic {
    if let Some(cron) = unquoted_cron(text, at) {
        return cron;
    }
    let problem = Diagnostic::error(ALIAS, "Alias without an anchor").with_label(at, "").detail(format!(
        "`*{name}` repeats the value of the anchor `&{name}`, which is not defined above."
    ));
    match nearest_name(name, names.iter().map(Name::as_str)) {
        Some(near) => problem.help(format!("Did you mean `*{near}`?")).fix(at, format!("*{near}")),
        None => problem
            .help(format!("Define the anchor `&{name}` above; text that begins with `*` needs quotes.")),
    }
}

pub(super) fn alias_in_itself(at: Span) -> Diagnostic {
    Diagnostic::error(ALIAS, "Alias inside its own anchor")
        .with_label(at, "")
        .detail("The anchored block would contain itself without end.")
        .help("Put the anchor on a smaller block, or write this one out.")
}

pub(super) fn excessive_expansion(at: Span) -> Diagnostic {
    Diagnostic::error(TOO_MANY_VALUES, "Aliases repeat too much")
        .with_label(at, "reading stopped here")
        .detail("The file's aliases would repeat far more values than its text holds.")
        .help("Write the values out, or use `locals` and `for_each`.")
}

pub(super) fn invalid_merge(at: Span, key: Span) -> Diagnostic {
    Diagnostic::error(MERGE, "Merge of a value that is not a mapping")
        .with_label(at, "this is not a mapping")
        .with_label(key, "to be merged here")
        .detail("`<<` takes the keys of a mapping, or of a list of mappings.")
        .help("Write `<<: *anchor` or `<<: [*first, *second]`.")
}

pub(super) fn second_merge(first: Span, again: Span) -> Diagnostic {
    Diagnostic::error(MERGE, "Second merge key")
        .with_label(again, "written again")
        .with_label(first, "first written here")
        .detail("A mapping has one `<<`.")
        .help("Write `<<: [*first, *second]`; the first one wins.")
}

/// Returns the offset of the colon in a string that looks like `key:value`; `None` for any other string.
pub(super) fn glued_key(written: &str) -> Option<usize> {
    let key = written.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))?;
    let rest = written[key..].strip_prefix(':')?;
    let name = written.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    (name && rest.starts_with(|c: char| !c.is_whitespace() && c != ':' && c != '/')).then_some(key)
}

/// Returns whether a value results from `key:value` alone in a block of its own.
pub(super) fn missing_space(text: &str, key: Span, value: &Node) -> bool {
    let plain = value.scalar().filter(|scalar| scalar.form == ScalarForm::Plain && value.through.is_none());
    plain.is_some_and(|scalar| glued_key(&scalar.text).is_some())
        && text.get(key.end as usize..value.span.start as usize).is_some_and(|gap| gap.contains('\n'))
}

/// Returns the diagnostic of a missing space: `key:value`.
pub(super) fn missing_space_problem(text: &str, at: Span) -> Diagnostic {
    let start = at.start as usize;
    let line = YamlLine::line_at(text, start);
    let written = &text[start..line.end.max(start)];
    let colon = start + glued_key(written).unwrap_or_default();
    let right = format!("{}: {}", &text[start..colon], &text[colon + 1..line.end.max(colon + 1)]);
    Diagnostic::error(MISSING_SPACE, "No space after the colon")
        .with_label(byte_span(at.source, colon, colon + 1), "a space is missing after this")
        .detail("Without the space, YAML reads the whole line as one text.")
        .help(format!("Write `{right}`."))
        .fix(byte_span(at.source, colon, colon + 1), ": ")
}

/// Returns the diagnostic of typographic quotes, which are part of the string in `“shop”`; `None` if it has none.
pub(super) fn typographic_text(text: &str, at: Span) -> Option<Diagnostic> {
    let inner = text.strip_prefix(['“', '„', '‘', '”', '’'])?.strip_suffix(['“', '”', '‘', '’'])?;
    let right = quote_yaml_text(inner);
    Some(
        Diagnostic::error(QUOTING, "Typographic quotes")
            .with_label(at, "part of the text")
            .detail("YAML quotes are only `\"` and `'`; other quotes are part of the text.")
            .help(format!("Write `{right}`; text that shall keep them needs quotes around them."))
            .fix(at, right),
    )
}

/// Returns the diagnostic of unusual spaces and invisible characters, which are part of the string; `None` if
/// it has none, or may intend them.
pub(super) fn invisible_characters(text: &str, at: Span) -> Option<Diagnostic> {
    // Nearly all strings are ASCII, which is a fast check. A key that extends into the next line is reported there.
    if text.is_ascii() || at.end as usize - at.start as usize > text.len() {
        return None;
    }
    let is_unseen =
        |c: char| matches!(c, '\u{a0}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{3000}');
    // Within a sentence they may be intended: before a French colon, in Japanese, in a composed emoji.
    let is_word = || text.chars().all(|c| c.is_ascii_graphic() || is_unseen(c));
    let is_slip = text.starts_with(is_unseen) || text.ends_with(is_unseen) || is_word();
    let letter = text.chars().find(|c| is_unseen(*c)).filter(|_| is_slip)?;
    let right: String = text.chars().map(|c| if is_unseen(c) { ' ' } else { c }).collect();
    Some(
        Diagnostic::error(QUOTING, "Invisible character")
            .with_label(at, "")
            .detail(format!(
                "It contains U+{:04X}, which looks like a space or is invisible.",
                u32::from(letter)
            ))
            .help(format!("Type it again: `{}`; text that shall keep it needs quotes.", right.trim())),
    )
}

/// Returns whether a string contains an expression without its end.
pub(super) fn has_unclosed_expression(text: &str) -> bool {
    // The search for one character is cheap, and most strings do not contain it.
    text.contains('$') && text.find("${").is_some_and(|at| expression_end(text, at + 1).is_none())
}

/// Returns the diagnostic of an expression cut off by a comment (in `${a # b}`, everything after ` #` is one);
/// `None` if no comment follows.
pub(super) fn commented_out(text: &str, at: Span) -> Option<Diagnostic> {
    let line = YamlLine::line_at(text, at.end as usize);
    let rest = text.get(at.end as usize..line.end)?;
    rest.trim_start().starts_with('#').then(|| {
        let value = &text[at.start as usize..line.end];
        let problem = Diagnostic::error(UNQUOTED_EXPRESSION, "Expression cut off by a comment")
            .with_label(byte_span(at.source, at.start as usize, line.end), "needs quotes")
            .detail("Without quotes, YAML ends a value at ` #`.");
        match expression_end(
            text,
            at.start as usize + text[at.start as usize..].find("${").unwrap_or(0) + 1,
        ) {
            Some(_) => {
                let end = value_end(text, at.start as usize, false, true);
                let right = quote_yaml_text(&text[at.start as usize..end]);
                problem
                    .help(format!("Write `{right}`."))
                    .fix(byte_span(at.source, at.start as usize, end), right)
            }
            None => problem.help(format!(
                "Close the expression with `}}`, and put quotes around it: `{}`.",
                quote_yaml_text(value)
            )),
        }
    })
}

/// Returns the diagnostic of a cron schedule whose `*` YAML reads as an alias, `*/5 * * * *`; `None` for anything else.
pub(super) fn unquoted_cron(text: &str, at: Span) -> Option<Diagnostic> {
    let start = at.start as usize;
    let line = YamlLine::line_at(text, start);
    let mut end = value_end(text, start, in_flow(text, start), true);
    let fields = |end: usize| text[start..end].split_ascii_whitespace().count();
    if fields(end) < 5 && !in_flow(text, start) {
        end = line.end;
    }
    let written = &text[start..end];
    let cron = |c: char| c.is_ascii_alphanumeric() || matches!(c, '*' | '/' | ',' | '-' | ' ' | '?' | '#');
    if !(5..=6).contains(&fields(end)) || !written.chars().all(cron) {
        return None;
    }
    let whole = byte_span(at.source, start, end);
    let right = quote_yaml_text(written);
    let key = if line.value == start { &text[line.text..line.value] } else { "" };
    Some(
        Diagnostic::error(UNQUOTED_CRON, "Cron schedule without quotes")
            .with_label(whole, "quote the cron")
            .detail("Without quotes, YAML reads a `*` at the beginning as an alias.")
            .help(format!("Quote the cron: `{key}{right}`."))
            .fix(whole, right),
    )
}
