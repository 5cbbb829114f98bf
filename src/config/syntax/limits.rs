//! Common parts of both parsers: error codes, limits, spans and the diagnostics that both report. A code never
//! changes its meaning.

use std::path::Path;

use super::document::Syntax;
use crate::model::diagnostic::Diagnostic;
use crate::model::source::{SourceId, Span};

/// Maximum nesting of a file, which limits the call stack of every tree traversal.
pub const MAX_DEPTH: usize = 64;

/// Maximum number of values in one file, including those that aliases repeat. It bounds memory and time:
/// 100,000 resources of ten attributes each are below it.
pub const MAX_NODES: usize = 2_000_000;

/// Maximum number of problems that are reported for one file.
pub const MAX_PROBLEMS: usize = 50;

/// Code: the file is larger than the limit.
pub const TOO_LARGE: &str = "S0101";
/// Code: the file is not UTF-8.
pub const NOT_UTF8: &str = "S0102";
/// Code: the file has a control character.
pub const CONTROL_CHARACTER: &str = "S0103";
/// Code: the nesting exceeds the limit.
pub const TOO_DEEP: &str = "S0104";
/// Code: the file has too many values.
pub const TOO_MANY_VALUES: &str = "S0105";
/// Code: a mapping has a duplicate key.
pub const DUPLICATE_KEY: &str = "S0106";
/// The top level is not a mapping.
pub const NOT_A_MAPPING: &str = "S0107";
/// YAML: any other syntax error.
pub const YAML_SYNTAX: &str = "S0110";
/// YAML: tab in indentation.
pub const TAB: &str = "S0111";
/// YAML: expression cut off by `: ` or ` #`.
pub const UNQUOTED_EXPRESSION: &str = "S0112";
/// YAML: `${…}` inside `{}` or `[]`.
pub const EXPRESSION_IN_FLOW: &str = "S0113";
/// YAML: a cron that begins with `*`.
pub const UNQUOTED_CRON: &str = "S0114";
/// YAML: a value that begins with a reserved character.
pub const RESERVED_START: &str = "S0115";
/// YAML: quote that is not closed.
pub const UNCLOSED_QUOTE: &str = "S0116";
/// YAML: colon without a space after it, as in `key:value`.
pub const MISSING_SPACE: &str = "S0117";
/// YAML: indentation that matches nothing.
pub const INDENTATION: &str = "S0118";
/// YAML: value with a tag, such as `!!str`.
pub const TAG: &str = "S0119";
/// YAML: key that is not a string.
pub const KEY: &str = "S0120";
/// YAML: more than one document in a file.
pub const DOCUMENTS: &str = "S0121";
/// YAML: alias without its anchor.
pub const ALIAS: &str = "S0122";
/// YAML: merge of a value that is not a mapping.
pub const MERGE: &str = "S0123";
/// YAML: text after a closing quote, or an escape that does not exist.
pub const QUOTING: &str = "S0124";
/// YAML: bracket without its pair.
pub const BRACKET: &str = "S0125";
/// KDL: any other syntax error.
pub const KDL_SYNTAX: &str = "S0130";
/// KDL: text that needs quotes.
pub const NEEDS_QUOTES: &str = "S0131";
/// KDL: bare `true`, `false`, `null`.
pub const BARE_KEYWORD: &str = "S0132";
/// KDL: `=` after a node's name.
pub const EQUALS_AFTER_NAME: &str = "S0133";
/// KDL: colon after a node's name, as in `key: value`.
pub const COLON_AFTER_NAME: &str = "S0134";
/// KDL: `#` as a comment.
pub const HASH_COMMENT: &str = "S0135";
/// KDL: `[…]` or commas.
pub const LIST_PUNCTUATION: &str = "S0136";
/// KDL: text in single quotes.
pub const SINGLE_QUOTES: &str = "S0137";
/// KDL: type annotation, such as `(u8)`.
pub const TYPE_ANNOTATION: &str = "S0138";
/// KDL: a value and a block at once.
pub const VALUE_AND_BLOCK: &str = "S0139";
/// KDL: block without its one name.
pub const BLOCK_NAME: &str = "S0140";
/// KDL: unterminated string, or invalid escape.
pub const TEXT: &str = "S0141";
/// KDL: brace without its pair.
pub const BRACE: &str = "S0142";
/// KDL: list items beside keys.
pub const MIXED_LIST: &str = "S0143";
/// KDL: a number that is infinite or not a number.
pub const NOT_FINITE: &str = "S0144";

/// Every code of this module's messages with its meaning, in order.
pub const CODES: &[(&str, &str)] = &[
    (TOO_LARGE, "The file is larger than stead reads."),
    (NOT_UTF8, "The file is not UTF-8 text."),
    (CONTROL_CHARACTER, "The file holds a control character."),
    (TOO_DEEP, "Blocks are nested too deeply."),
    (TOO_MANY_VALUES, "The file holds, or its aliases repeat, too many values."),
    (DUPLICATE_KEY, "A key is written twice."),
    (NOT_A_MAPPING, "The top level of the file is not a mapping."),
    (YAML_SYNTAX, "The text is not YAML."),
    (TAB, "A YAML line is indented with a tab."),
    (UNQUOTED_EXPRESSION, "An unquoted expression is cut off by `: ` or ` #` in YAML."),
    (EXPRESSION_IN_FLOW, "An unquoted expression is inside `{}` or `[]` in YAML."),
    (UNQUOTED_CRON, "An unquoted cron schedule begins with `*` in YAML."),
    (RESERVED_START, "An unquoted YAML value begins with a reserved character."),
    (UNCLOSED_QUOTE, "A quote is not closed in YAML."),
    (MISSING_SPACE, "A space is missing after a colon in YAML."),
    (INDENTATION, "A YAML line's indentation matches no block."),
    (TAG, "YAML tags are not used."),
    (KEY, "A YAML key is not plain text."),
    (DOCUMENTS, "A YAML file holds several documents."),
    (ALIAS, "A YAML alias has no anchor before it."),
    (MERGE, "`<<` is given something that is not a mapping."),
    (QUOTING, "Quoted YAML text has a wrong escape, or text after its closing quote."),
    (BRACKET, "A YAML bracket is unmatched."),
    (KDL_SYNTAX, "The text is not KDL."),
    (NEEDS_QUOTES, "Text needs double quotes in KDL."),
    (BARE_KEYWORD, "`true`, `false` and `null` are written with `#` in KDL."),
    (EQUALS_AFTER_NAME, "A KDL node's value follows its name without `=`."),
    (COLON_AFTER_NAME, "KDL has no colon after a name."),
    (HASH_COMMENT, "A KDL comment begins with `//`."),
    (LIST_PUNCTUATION, "KDL lists have no brackets and no commas."),
    (SINGLE_QUOTES, "KDL text has double quotes."),
    (TYPE_ANNOTATION, "KDL type annotations are not used."),
    (VALUE_AND_BLOCK, "A KDL node has a value and also properties or a block."),
    (BLOCK_NAME, "A KDL block does not have exactly one name."),
    (TEXT, "KDL text is not closed or has a wrong escape."),
    (BRACE, "A KDL brace is unmatched."),
    (MIXED_LIST, "A KDL block mixes `-` items with keys."),
    (NOT_FINITE, "A KDL number is infinite or not a number."),
];

/// Returns the syntax that a path's extension names; `None` for any other extension.
#[must_use]
pub fn syntax_of(path: &str) -> Option<Syntax> {
    let ending = Path::new(path).extension()?;
    if ending.eq_ignore_ascii_case("yaml") || ending.eq_ignore_ascii_case("yml") {
        Some(Syntax::Yaml)
    } else if ending.eq_ignore_ascii_case("kdl") {
        Some(Syntax::Kdl)
    } else {
        None
    }
}

/// Returns a span of byte offsets. A source never reaches 4 GiB, so an offset that does not fit is clamped.
pub(in crate::config) fn byte_span(source: SourceId, start: usize, end: usize) -> Span {
    let clamp = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Span { source, start: clamp(start), end: clamp(end.max(start)) }
}

/// Returns the diagnostic of a duplicate key.
pub(in crate::config) fn duplicate_key(key: &str, first: Span, again: Span) -> Diagnostic {
    Diagnostic::error(DUPLICATE_KEY, "Duplicate key")
        .with_label(again, "written again")
        .with_label(first, "first written here")
        .detail(format!("`{key}` is written twice in one block; only one of the two could be used."))
        .help("Remove one of the two, or rename it.")
}

/// Returns whether a problem repeats the previous one: a duplicate key is reported
/// once, however often it occurs.
pub(in crate::config) fn says_again(last: Option<&Diagnostic>, problem: &Diagnostic) -> bool {
    let first = |problem: &Diagnostic| problem.labels.get(1).map(|label| label.span);
    problem.code == DUPLICATE_KEY
        && last.is_some_and(|last| last.code == DUPLICATE_KEY && first(last) == first(problem))
}

/// Returns the diagnostic of blocks that are nested too deeply.
pub(in crate::config) fn too_deep(at: Span) -> Diagnostic {
    Diagnostic::error(TOO_DEEP, "Nested too deeply")
        .with_label(at, format!("level {} begins here", MAX_DEPTH + 1))
        .detail(format!("A file may nest {MAX_DEPTH} levels."))
        .help("Look for a bracket or brace that is not closed.")
}

/// Returns the diagnostic of a file with too many values.
pub(in crate::config) fn too_many_values(at: Span) -> Diagnostic {
    Diagnostic::error(TOO_MANY_VALUES, "Too many values")
        .with_label(at, "reading stopped here")
        .detail(format!("A file may hold {MAX_NODES} values."))
        .help("Split the file: all files of a stack's directory are read together.")
}
