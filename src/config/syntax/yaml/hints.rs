//! Diagnostics of YAML syntax errors. In: the library parser's error and its offset; out: what the author did
//! wrong, with the corrected source and, where only one meaning is possible, an edit. The parser often fails
//! after the mistake, so the lines above are searched, too.

use granit_parser::ErrorKind;

use super::lines::{
    YamlLine, expression_end, floor_boundary, in_flow, open_bracket, quote_yaml_text, value_end,
};
use super::messages::{glued_key, invisible_characters, missing_space_problem, unquoted_cron};
use crate::config::syntax::limits::{
    BRACKET, EXPRESSION_IN_FLOW, INDENTATION, QUOTING, RESERVED_START, TAB, UNCLOSED_QUOTE,
    UNQUOTED_EXPRESSION, YAML_SYNTAX, byte_span, too_deep,
};
use crate::model::diagnostic::Diagnostic;
use crate::model::source::{SourceId, Span};

/// Maximum number of lines above an error that are searched.
const LINES_ABOVE: usize = 200;

/// Location of an error, with its line.
struct YamlErrorLocation<'a> {
    id: SourceId,
    text: &'a str,
    at: usize,
    line: YamlLine,
}

/// Returns the diagnostic of a parser error at an offset.
pub(super) fn explain_scan_error(id: SourceId, text: &str, kind: &ErrorKind, at: usize) -> Diagnostic {
    let at = floor_boundary(text, at);
    let place = YamlErrorLocation { id, text, at, line: YamlLine::line_at(text, at) };
    place
        .tab_indentation(kind)
        .or_else(|| place.inner_quotes())
        .or_else(|| place.specific_problem(kind))
        .unwrap_or_else(|| place.general_problem(kind))
}

impl YamlErrorLocation<'_> {
    fn span(&self, start: usize, end: usize) -> Span {
        byte_span(self.id, start, end)
    }

    /// Returns the span of the character at the error; empty at the end of a line.
    fn error_span(&self) -> Span {
        let len = self.text[self.at..].chars().next().filter(|c| *c != '\n').map_or(0, char::len_utf8);
        self.span(self.at, self.at + len)
    }

    fn rest_of_line(&self) -> &str {
        &self.text[self.at..self.line.end.max(self.at)]
    }

    fn line_key(&self) -> &str {
        &self.text[self.line.text..self.line.value]
    }

    fn general_problem(&self, kind: &ErrorKind) -> Diagnostic {
        let words = kind.to_string();
        let mut letters = words.chars();
        let first = letters.next().map(char::to_uppercase);
        let sentence: String = first.into_iter().flatten().chain(letters).collect();
        Diagnostic::error(YAML_SYNTAX, "Syntax error")
            .with_label(self.error_span(), "")
            .detail(format!("{}.", sentence.trim_end_matches('.')))
            .help("Check brackets, quotes and indentation here and on the line above; YAML does not interpret a value in quotes.")
    }

    fn specific_problem(&self, kind: &ErrorKind) -> Option<Diagnostic> {
        match kind {
            ErrorKind::RecursionLimitExceeded => Some(too_deep(self.error_span())),
            ErrorKind::MappingValueNotAllowed => self.unexpected_colon(),
            ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => Some(self.no_key(self.line)),
            ErrorKind::ExpectedBlockMappingKey
            | ErrorKind::ExpectedBlockSequenceEntry
            | ErrorKind::InvalidIndentation => self.wrong_indentation(),
            ErrorKind::ExpectedFlowMappingSeparator
            | ErrorKind::ExpectedFlowSequenceSeparator
            | ErrorKind::InvalidColonPlacement
            | ErrorKind::ExpectedNodeContent => {
                self.expression_in_flow().or_else(|| self.missing_separator())
            }
            ErrorKind::UnexpectedEofFlowMapping
            | ErrorKind::UnexpectedEofFlowSequence
            | ErrorKind::UnexpectedEofImplicitFlowMapping
            | ErrorKind::UnclosedFlowCollection { .. }
            | ErrorKind::MismatchedFlowCollectionEnd { .. }
            | ErrorKind::MisplacedFlowCollectionEnd
            | ErrorKind::InvalidFlowScalarIndent => Some(self.bracket_problem(kind)),
            ErrorKind::MissingAnchorOrAliasName => {
                unquoted_cron(self.text, self.span(self.at, self.at + 1)).or_else(|| self.reserved_start())
            }
            ErrorKind::UnexpectedCharacter { .. }
            | ErrorKind::InvalidBlockScalarHeader
            | ErrorKind::MissingDocumentEndBeforeDirective => self.reserved_start(),
            ErrorKind::BlockSequenceEntryNotAllowed => Some(self.item_after_key()),
            _ => self.quote_problem(kind),
        }
    }

    /// Explains a tab in the indentation of this line or of the next.
    fn tab_indentation(&self, kind: &ErrorKind) -> Option<Diagnostic> {
        let tabs = matches!(
            kind,
            ErrorKind::TabInBlockIndentation
                | ErrorKind::TabNotAllowed
                | ErrorKind::TabInIndentation
                | ErrorKind::TabAtBlockScalarStart
                | ErrorKind::TabInPlainScalar
        );
        let next = self.text[self.at..].find('\n').map(|n| YamlLine::line_at(self.text, self.at + n + 1));
        let lines = [Some(self.line), next.filter(|_| tabs)];
        let at = lines
            .into_iter()
            .flatten()
            .find_map(|line| self.text[line.start..line.text].find('\t').map(|tab| line.start + tab));
        let at =
            at.or_else(|| tabs.then(|| self.rest_of_line().find('\t').map(|n| self.at + n)).flatten())?;
        let width = self.text[at..].bytes().take_while(|b| *b == b'\t').count();
        Some(
            Diagnostic::error(TAB, "Tab in the indentation")
                .with_label(self.span(at, at + width), "a tab")
                .detail("YAML lines are indented with spaces only.")
                .help("Write two spaces for each level instead of the tab.")
                .fix(self.span(at, at + width), "  ".repeat(width)),
        )
    }

    /// Explains a second `: ` on the line, or a colon where the line above continues.
    fn unexpected_colon(&self) -> Option<Diagnostic> {
        let value = self.line.value;
        let expression = self.text[value..self.at.max(value)].rfind("${").map(|n| value + n);
        if let Some(start) =
            expression.filter(|start| expression_end(self.text, start + 1).is_none_or(|end| end > self.at))
        {
            return Some(self.unquoted_expression(start));
        }
        if value < self.at && value > self.line.text && self.line_key().trim_end().ends_with(':') {
            let end = value_end(self.text, value, false, false);
            let right = quote_yaml_text(&self.text[value..end]);
            return Some(
                Diagnostic::error(YAML_SYNTAX, "Second colon in a value")
                    .with_label(self.error_span(), "this colon")
                    .detail("Without quotes, YAML reads `: ` as the end of a key.")
                    .help(format!(
                        "Write `{}{right}` if it is text; a nested key goes on a line of its own.",
                        self.line_key()
                    )),
            );
        }
        let above = self.previous_filled_line()?;
        if glued_key(&self.text[above.value..above.end]).is_some() {
            return Some(missing_space_problem(self.text, self.span(above.value, above.end)));
        }
        if above.indent() == self.line.indent() && !self.text[above.text..above.end].contains(": ") {
            return Some(self.no_key(above));
        }
        self.wrong_indentation()
    }

    /// Explains an expression that YAML cuts off: `host: ${env == 'prod' ? 'a' : 'b'}`.
    fn unquoted_expression(&self, expression: usize) -> Diagnostic {
        let start = self.line.value;
        let end = match expression_end(self.text, expression + 1) {
            Some(end) => value_end(self.text, end, false, false),
            None => self.line.end,
        };
        let whole = self.span(start, end);
        let right = quote_yaml_text(&self.text[start..end]);
        let problem = Diagnostic::error(UNQUOTED_EXPRESSION, "Expression without quotes")
            .with_label(whole, "quote it")
            .detail("Without quotes, YAML ends the value at `: `, in the middle of the expression.");
        let problem = problem.help(format!("Quote it: `{}{right}`.", self.line_key()));
        if expression_end(self.text, expression + 1).is_some() {
            problem.fix(whole, right)
        } else {
            problem
        }
    }

    /// Explains `{ a: ${x} }` and `[ ${x} ]`: the brace begins a map.
    fn expression_in_flow(&self) -> Option<Diagnostic> {
        if !(self.text[..self.at].ends_with('$') && self.rest_of_line().starts_with('{')) {
            return None;
        }
        let before = &self.text[self.line.start..self.at - 1];
        let word = before.rfind(|c: char| c.is_whitespace() || matches!(c, ',' | '[' | '{'));
        let start = self.line.start + word.map_or(0, |n| n + 1);
        let end = value_end(self.text, expression_end(self.text, self.at)?, true, false);
        let right = quote_yaml_text(&self.text[start..end]);
        Some(
            Diagnostic::error(EXPRESSION_IN_FLOW, "Expression without quotes in `{}` or `[]`")
                .with_label(self.span(start, end), "quote it")
                .detail("Inside `{}` and `[]`, YAML reads the braces of `${…}` as a map.")
                .help(format!("Write `{right}`."))
                .fix(self.span(start, end), right),
        )
    }

    /// Explains a missing separator between the items of `{}` or `[]`, or a missing closing bracket.
    fn missing_separator(&self) -> Option<Diagnostic> {
        let open = open_bracket(self.text, self.at)?;
        if YamlLine::line_at(self.text, open).start != self.line.start {
            return Some(self.unclosed_bracket(open));
        }
        Some(
            Diagnostic::error(BRACKET, "Comma or closing bracket missing")
                .with_label(self.error_span(), "before this")
                .with_label(self.span(open, open + 1), "inside this bracket")
                .detail("Inside `{}` and `[]`, entries are separated by commas.")
                .help("Write a comma, close the bracket, or put quotes around the text."),
        )
    }

    fn unclosed_bracket(&self, open: usize) -> Diagnostic {
        let close = if self.text[open..].starts_with('{') { '}' } else { ']' };
        Diagnostic::error(BRACKET, "Bracket is not closed")
            .with_label(self.span(open, open + 1), "opened here")
            .detail(format!("Its `{close}` is missing."))
            .help(format!("Close it with `{close}`; text that begins with a bracket needs quotes."))
    }

    fn bracket_problem(&self, kind: &ErrorKind) -> Diagnostic {
        match kind {
            ErrorKind::MisplacedFlowCollectionEnd => Diagnostic::error(BRACKET, "Unmatched bracket")
                .with_label(self.error_span(), "closes nothing")
                .detail("No bracket of this type is open here.")
                .help("Remove it, or put quotes around the text."),
            ErrorKind::MismatchedFlowCollectionEnd { open, close } => {
                Diagnostic::error(BRACKET, "Brackets do not match")
                    .with_label(self.error_span(), "opened here")
                    .detail(format!("`{open}` is closed by `{close}`."))
                    .help("Close each bracket with one of the same type.")
            }
            _ if self.rest_of_line().starts_with(['{', '[']) => self.unclosed_bracket(self.at),
            _ => open_bracket(self.text, self.at)
                .map_or_else(|| self.general_problem(kind), |open| self.unclosed_bracket(open)),
        }
    }

    /// Explains a value that begins with a character which YAML reserves.
    fn reserved_start(&self) -> Option<Diagnostic> {
        let first = self.rest_of_line().chars().next()?;
        if !matches!(first, '@' | '`' | '%' | '&' | '*' | '|' | '>') {
            return None;
        }
        let end = value_end(self.text, self.at, in_flow(self.text, self.at), false);
        let end = self.text[self.at..end].find(": ").map_or(end, |n| self.at + n);
        let whole = self.span(self.at, end);
        let right = quote_yaml_text(&self.text[self.at..end]);
        Some(
            Diagnostic::error(RESERVED_START, "Reserved first character")
                .with_label(whole, "needs quotes")
                .detail(format!("Without quotes, a YAML value cannot begin with `{first}`."))
                .help(format!("Write `{right}`."))
                .fix(whole, right),
        )
    }

    /// Explains a list item on its key's line: `a: - b`.
    fn item_after_key(&self) -> Diagnostic {
        let value = self.rest_of_line().trim_start_matches('-').trim();
        Diagnostic::error(YAML_SYNTAX, "List item after a key")
            .with_label(self.error_span(), "")
            .detail("A list with dashes begins on the line below its key.")
            .help(format!("Write `{}[{value}]`, or put each `- ` on a line of its own.", self.line_key()))
    }

    /// Explains a line that is no `key: value` where one must be.
    fn no_key(&self, line: YamlLine) -> Diagnostic {
        if glued_key(&self.text[line.value..line.end]).is_some() {
            return missing_space_problem(self.text, self.span(line.value, line.end));
        }
        let written = &self.text[line.text..line.end];
        if let Some(problem) = invisible_characters(written, self.span(line.text, line.end)) {
            return problem;
        }
        let problem = Diagnostic::error(YAML_SYNTAX, "Line without a key")
            .with_label(self.span(line.text, line.end), "")
            .detail("The lines around it are `key: value`; this one has no `: `.");
        if let Some((key, value)) = written.split_once('：') {
            let right = format!("{}: {}", key.trim(), value.trim());
            return problem
                .help(format!("Write `{right}`: the colon of this line is a full-width one, `：`."))
                .fix(self.span(line.text, line.end), right);
        }
        problem.help(if written.ends_with('{') {
            "A block has no braces of its own: write `vm:`, below it `web:`, and below that its lines, each indented."
        } else {
            "Write `key: value`, or indent it as part of the value above."
        })
    }

    /// Explains `"${a == "b"}"`: the expression's quotes end the YAML string. The parser fails inside such a
    /// string or after it, so only the error's own line is searched, up to the error.
    fn inner_quotes(&self) -> Option<Diagnostic> {
        let line = &self.text[self.line.start..self.line.end];
        let starts = line.match_indices("\"${").map(|(at, _)| self.line.start + at);
        starts.take_while(|start| *start < self.at).find_map(|start| {
            if !self.opens_value(start) {
                return None;
            }
            let end = expression_end(self.text, start + 1).filter(|end| *end <= self.line.end)?;
            let inner = self.text.get(start + 3..end - 1)?;
            let is_whole = self.text[end..].starts_with('"');
            (is_whole && inner.contains('"') && !inner.contains(['\'', '\\'])).then(|| {
                let whole = self.span(start, end + 1);
                let right = format!("\"${{{}}}\"", inner.replace('"', "'"));
                Diagnostic::error(UNQUOTED_EXPRESSION, "Double quotes inside of double quotes")
                    .with_label(whole, "the first quote inside ends the text")
                    .detail("Inside of YAML's `\"…\"`, the texts of an expression need single quotes.")
                    .help(format!("Write `{right}`."))
                    .fix(whole, right)
            })
        })
    }

    /// Returns whether a quote of this line opens a value: it is in no comment, and in no other string.
    fn opens_value(&self, quote: usize) -> bool {
        let before = &self.text[self.line.text..quote];
        let begins = quote == self.line.value || before.trim_end().ends_with([',', ':', '[', '{']);
        let commented = before.starts_with('#') || before.contains(" #");
        begins && !commented && before.matches('\'').count().is_multiple_of(2)
    }

    /// Returns the next line above that is not blank; `None` if there is none nearby.
    fn previous_filled_line(&self) -> Option<YamlLine> {
        let above =
            std::iter::successors(self.line.previous_line(self.text), |line| line.previous_line(self.text));
        above.take(LINES_ABOVE).find(|line| !line.is_blank(self.text))
    }

    fn wrong_indentation(&self) -> Option<Diagnostic> {
        let above = self.previous_filled_line()?;
        let (indent, least) = (self.line.indent(), above.indent());
        let item = self.text[self.line.text..].starts_with("- ");
        if indent == least && item {
            return Some(self.list_beside_keys("this is a list item", above, "this is a key"));
        }
        if indent == least && self.text[above.text..].starts_with("- ") {
            return Some(self.list_beside_keys("this is a key", above, "this is a list item"));
        }
        if indent == least {
            return None;
        }
        let levels = self.indentation_levels();
        let known = levels.iter().rev().map(usize::to_string).collect::<Vec<_>>().join(", ");
        Some(
            Diagnostic::error(INDENTATION, "Indentation matches no block")
                .with_label(self.span(self.line.text, self.line.end), format!("indented by {indent}"))
                .with_label(self.span(above.text, above.end), format!("indented by {least}"))
                .detail(format!(
                    "This line is indented by {indent} spaces; the blocks above begin at {known}."
                ))
                .help("Align it with the lines of the block that it belongs to."),
        )
    }

    fn list_beside_keys(&self, here: &str, above: YamlLine, there: &str) -> Diagnostic {
        Diagnostic::error(INDENTATION, "List items beside keys")
            .with_label(self.span(self.line.text, self.line.end), here)
            .with_label(self.span(above.text, above.end), there)
            .detail("A block is a list, all lines of which begin with `- `, or a map, but not both.")
            .help("Indent the list below a key of its own.")
    }

    /// Returns the indentations of the blocks that are open above, the innermost first.
    fn indentation_levels(&self) -> Vec<usize> {
        let above =
            std::iter::successors(self.line.previous_line(self.text), |line| line.previous_line(self.text));
        let mut levels: Vec<usize> = Vec::new();
        for line in above.take(LINES_ABOVE).filter(|line| !line.is_blank(self.text)) {
            if levels.last().is_none_or(|least| line.indent() < *least) {
                levels.push(line.indent());
            }
        }
        levels
    }

    /// Explains quotes that are not closed, are closed too early, or contain a wrong escape.
    fn quote_problem(&self, kind: &ErrorKind) -> Option<Diagnostic> {
        let value = self.line.value;
        let opens_here = value < self.at && self.text[value..].starts_with(['"', '\'']);
        match kind {
            ErrorKind::InvalidTrailingSingleQuotedScalar if opens_here => Some(self.trailing_text('\'')),
            ErrorKind::InvalidTrailingDoubleQuotedScalar if opens_here => Some(self.trailing_text('"')),
            ErrorKind::UnclosedQuotedScalar
            | ErrorKind::InvalidQuotedScalarIndent
            | ErrorKind::DocumentIndicatorInQuotedScalar
            | ErrorKind::InvalidTrailingSingleQuotedScalar
            | ErrorKind::InvalidTrailingDoubleQuotedScalar => Some(self.unclosed_quote()),
            ErrorKind::UnknownQuotedScalarEscape
            | ErrorKind::InvalidQuotedScalarHexEscape
            | ErrorKind::InvalidUnicodeEscape
            | ErrorKind::InvalidLowSurrogate
            | ErrorKind::InvalidLowSurrogateHexEscape
            | ErrorKind::MissingLowSurrogate
            | ErrorKind::UnpairedLowSurrogate => Some(self.invalid_escape_problem()),
            _ => None,
        }
    }

    /// Explains an apostrophe that ended a string: `{ a: 'the shop's own' }`.
    fn inner_apostrophe(&self) -> Option<Diagnostic> {
        let line = &self.text[self.line.start..self.line.end.max(self.at)];
        let letters = |at: &usize| {
            line[..*at].ends_with(char::is_alphanumeric)
                && line[*at + 1..].starts_with(char::is_alphanumeric)
        };
        let quotes = line.match_indices('\'').map(|(at, _)| at);
        let at = self.line.start + quotes.skip(1).find(letters)?;
        Some(
            Diagnostic::error(QUOTING, "Apostrophe inside single quotes")
                .with_label(self.span(at, at + 1), "closes the text")
                .detail("A text in single quotes ends with the next one.")
                .help("Write the apostrophe twice, or the text in double quotes.")
                .fix(self.span(at, at + 1), "\'\'"),
        )
    }

    fn unclosed_quote(&self) -> Diagnostic {
        if let Some(problem) = self.inner_apostrophe() {
            return problem;
        }
        let lines = std::iter::successors(Some(self.line), |line| line.previous_line(self.text));
        let starts = lines.take(LINES_ABOVE).flat_map(|line| [line.value, line.text]);
        let open = starts
            .filter(|start| *start <= self.at)
            .find(|start| self.text[*start..].starts_with(['"', '\'']))
            .map_or(self.error_span(), |start| self.span(start, start + 1));
        Diagnostic::error(UNCLOSED_QUOTE, "Quote is not closed")
            .with_label(open, "opened here")
            .detail("The closing quote is missing, so the lines below were read as text.")
            .help("Close the quote on its line; text of several lines goes below `key: |`.")
    }

    /// Explains characters after a closing quote: `'it's'`, `"a" b`.
    fn trailing_text(&self, quote: char) -> Diagnostic {
        let whole = &self.text[self.line.value..self.line.end];
        let inner = whole.strip_prefix(quote).unwrap_or(whole);
        let (text, doubled) = match inner.strip_suffix(quote) {
            Some(inner) => (
                inner.to_owned(),
                format!("; inside single quotes, `'` is written twice: `'{}'`", inner.replace('\'', "''")),
            ),
            None => (whole.replace(quote, ""), String::new()),
        };
        let doubled = if quote == '\'' { doubled } else { String::new() };
        let whole_line = inner.strip_suffix(quote).is_some_and(|inner| {
            !inner.contains([quote, '#', ',']) || quote == '\'' && !inner.contains(['#', ',', '"'])
        });
        let problem = Diagnostic::error(QUOTING, "Text after a closing quote")
            .with_label(self.span(self.at, self.line.end), "the text was closed before this")
            .detail("A quoted value ends with its quote.")
            .help(format!("Write `{}`{doubled}.", quote_yaml_text(&text)));
        if whole_line {
            problem.fix(self.span(self.line.value, self.line.end), quote_yaml_text(&text))
        } else {
            problem
        }
    }

    fn invalid_escape_problem(&self) -> Diagnostic {
        let rest = &self.text[self.at..];
        let known = |c: char| "0abtnvfre \"/\\N_LPxuU\t".contains(c);
        let wrong = rest.match_indices('\\').find(|(n, _)| !rest[n + 1..].starts_with(known));
        let at = self.at + wrong.map_or(0, |(n, _)| n);
        let end = self.text[at..].char_indices().nth(2).map_or(self.text.len(), |(n, _)| at + n);
        Diagnostic::error(QUOTING, "Unknown escape in quotes")
            .with_label(self.span(at, end), "")
            .detail("In double quotes, a backslash begins an escape such as `\\n` or `\\\"`.")
            .help("Write `\\\\` for a backslash, or use single quotes, which have no escapes.")
    }
}

/// Returns the diagnostic of an expression of which YAML reads the first half as a key: `- ${x ? 1 : 2}`.
pub(super) fn expression_as_key(text: &str, at: Span) -> Diagnostic {
    let start = at.start as usize;
    let line = YamlLine::line_at(text, start);
    let place =
        YamlErrorLocation { id: at.source, text, at: start, line: YamlLine { value: start, ..line } };
    place.unquoted_expression(start + text[start..].find("${").unwrap_or_default())
}
