//! Common parts of both parsers: error codes, limits of files and modules, spans and the diagnostics
//! that both report. A code never changes its meaning.

use std::path::Path;

use super::document::Syntax;
use crate::config::codes::{DiagnosticCode, declare_codes};
use crate::model::diagnostic::Diagnostic;
use crate::model::source::{SourceId, Span};

/// Maximum nesting of a file, which limits the call stack of every tree traversal.
pub const MAX_DEPTH: usize = 64;

/// Maximum number of values in one file, including those that aliases repeat. It bounds memory and time:
/// 100,000 resources of ten attributes each are below it.
pub const MAX_NODES: usize = 2_000_000;

/// Maximum number of files of a stack and its modules.
pub const MAX_FILES: usize = 1000;

/// Maximum nesting of modules: a module that uses itself would otherwise never end.
pub const MAX_MODULE_DEPTH: usize = 16;

/// Maximum number of module instances in a stack. Without it, modules that each use the next one twice would grow
/// exponentially within the maximum nesting.
pub const MAX_INSTANCES: usize = 10_000;

/// Maximum number of problems that are reported for one file.
pub const MAX_PROBLEMS: usize = 50;

declare_codes! {
    "Every code of a syntax problem with its meaning, in order.";
    pub TOO_LARGE = "S0101", "The file is larger than stead reads.";
    pub NOT_UTF8 = "S0102", "The file is not UTF-8 text.";
    pub CONTROL_CHARACTER = "S0103", "The file holds a control character.";
    pub TOO_DEEP = "S0104", "Blocks are nested too deeply.";
    pub TOO_MANY_VALUES = "S0105", "The file holds, or its aliases repeat, too many values.";
    pub DUPLICATE_KEY = "S0106", "A key is written twice.";
    pub NOT_A_MAPPING = "S0107", "The top level of the file is not a mapping.";
    pub YAML_SYNTAX = "S0110", "The text is not YAML.";
    pub TAB = "S0111", "A YAML line is indented with a tab.";
    pub UNQUOTED_EXPRESSION = "S0112", "An unquoted expression is cut off by `: ` or ` #` in YAML.";
    pub EXPRESSION_IN_FLOW = "S0113", "An unquoted expression is inside `{}` or `[]` in YAML.";
    pub UNQUOTED_CRON = "S0114", "An unquoted cron schedule begins with `*` in YAML.";
    pub RESERVED_START = "S0115", "An unquoted YAML value begins with a reserved character.";
    pub UNCLOSED_QUOTE = "S0116", "A quote is not closed in YAML.";
    pub MISSING_SPACE = "S0117", "A space is missing after a colon in YAML.";
    pub INDENTATION = "S0118", "A YAML line's indentation matches no block.";
    pub TAG = "S0119", "YAML tags are not used.";
    pub KEY = "S0120", "A YAML key is not plain text.";
    pub DOCUMENTS = "S0121", "A YAML file holds several documents.";
    pub ALIAS = "S0122", "A YAML alias has no anchor before it.";
    pub MERGE = "S0123", "`<<` is given something that is not a mapping.";
    pub QUOTING = "S0124", "Quoted YAML text has a wrong escape, or text after its closing quote.";
    pub BRACKET = "S0125", "A YAML bracket is unmatched.";
    pub KDL_SYNTAX = "S0130", "The text is not KDL.";
    pub NEEDS_QUOTES = "S0131", "Text needs double quotes in KDL.";
    pub BARE_KEYWORD = "S0132", "`true`, `false` and `null` are written with `#` in KDL.";
    pub EQUALS_AFTER_NAME = "S0133", "A KDL node's value follows its name without `=`.";
    pub COLON_AFTER_NAME = "S0134", "KDL has no colon after a name.";
    pub HASH_COMMENT = "S0135", "A KDL comment begins with `//`.";
    pub LIST_PUNCTUATION = "S0136", "KDL lists have no brackets and no commas.";
    pub SINGLE_QUOTES = "S0137", "KDL text has double quotes.";
    pub TYPE_ANNOTATION = "S0138", "KDL type annotations are not used.";
    pub VALUE_AND_BLOCK = "S0139", "A KDL node has a value and also properties or a block.";
    pub BLOCK_NAME = "S0140", "A KDL block does not have exactly one name.";
    pub TEXT = "S0141", "KDL text is not closed or has a wrong escape.";
    pub BRACE = "S0142", "A KDL brace is unmatched.";
    pub MIXED_LIST = "S0143", "A KDL block mixes `-` items with keys.";
    pub NOT_FINITE = "S0144", "A KDL number is infinite or not a number.";
}

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
