//! The KDL v2 grammar over tokens, with a stack of its own: depth is limited, and recursion, which a hostile
//! file could exhaust, is not needed. In: tokens; out: top-level keywords. Parsing continues after a mistake
//! whose intention is clear.

use super::document::{KdlBlockContent, KdlRoot, RawKdlNode, TopLevelWord};
use super::hints;
use super::tokens::{KdlParseError, KdlToken, KdlTokenKind, KdlTokenizer};
use crate::config::syntax::budget::ValueBudget;
use crate::config::syntax::document::{
    Document, DocumentEntry, Node, NodeValue, Scalar, ScalarForm, Syntax,
};
use crate::config::syntax::limits::{
    MAX_DEPTH, MAX_PROBLEMS, VALUE_AND_BLOCK, duplicate_key, too_deep, too_many_values,
};
use crate::config::syntax::unique_keys::UniqueKeys;
use crate::model::address::Name;
use crate::model::diagnostic::Diagnostic;
use crate::model::source::{Source, SourceId};

/// Parses a KDL file.
///
/// `is_kind` distinguishes keywords whose argument is a block's name (`vpc main`) from those whose argument is
/// a value (`stack shop`).
///
/// # Errors
/// All problems that do not follow from each other, up to a limit; likely mistakes have the correction.
pub fn parse(
    id: SourceId,
    source: &Source,
    is_kind: &dyn Fn(&str) -> bool,
) -> Result<Document, Vec<Diagnostic>> {
    let root = parse_words(id, &source.text, is_kind)?.into_iter().map(TopLevelWord::into_entry).collect();
    Ok(Document { source: id, syntax: Syntax::Kdl, root })
}

/// Parses the top-level keywords of a file or of a piece of one.
pub(super) fn parse_words(
    id: SourceId,
    text: &str,
    is_kind: &dyn Fn(&str) -> bool,
) -> Result<Vec<TopLevelWord>, Vec<Diagnostic>> {
    let mut reader = KdlParser {
        tokens: KdlTokenizer::new(id, text),
        root: KdlRoot::new(is_kind),
        open: Vec::new(),
        values: ValueBudget::new(text.len()),
    };
    let ended = reader.run();
    let problems = reader.tokens.problems;
    if ended.is_err() || !problems.is_empty() { Err(problems) } else { Ok(reader.root.into_words()) }
}

struct KdlParser<'a> {
    tokens: KdlTokenizer<'a>,
    root: KdlRoot<'a>,
    open: Vec<OpenKdlNode>,
    values: ValueBudget,
}

/// Node whose block is being parsed.
struct OpenKdlNode {
    node: RawKdlNode,
    block: KdlBlockContent,
    /// Offset of the brace.
    brace: usize,
    /// What may follow the closing brace.
    after: KdlNodePhase,
    /// Whether the block itself is commented out.
    dropped: bool,
    /// Whether the node or an enclosing one is commented out: semantic problems in it are not reported.
    silent: bool,
}

/// Parser state within a node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KdlNodePhase {
    /// Arguments, properties or a block may follow.
    Entries,
    /// A commented-out block was read: only blocks may follow.
    Blocks,
    /// The block was read: only commented-out blocks may follow.
    Done,
}

impl KdlParser<'_> {
    fn run(&mut self) -> Result<(), KdlParseError> {
        while let Some((node, phase)) = self.begin_node()? {
            self.read_node(node, phase)?;
        }
        Ok(())
    }

    fn is_silent(&self) -> bool {
        self.open.last().is_some_and(|open| open.silent)
    }

    fn skip_lines(&mut self) -> Result<(), KdlParseError> {
        while self.tokens.peek()?.kind == KdlTokenKind::Line {
            self.tokens.next()?;
        }
        Ok(())
    }

    /// Returns the next node, or the one whose block closes here; `None` at the end.
    fn begin_node(&mut self) -> Result<Option<(RawKdlNode, KdlNodePhase)>, KdlParseError> {
        self.skip_lines()?;
        let mut token = self.tokens.next()?;
        match token.kind {
            KdlTokenKind::End => return self.finish_input(),
            KdlTokenKind::CloseBrace => return self.close_block(&token).map(Some),
            _ => {}
        }
        let dropped = token.kind == KdlTokenKind::SlashDash;
        if dropped {
            self.skip_lines()?;
            token = self.tokens.next()?;
        }
        if token.kind == KdlTokenKind::OpenParen {
            token = self.skip_annotation(&token)?;
        }
        self.name(token, dropped).map(|node| Some((node, KdlNodePhase::Entries)))
    }

    fn finish_input(&mut self) -> Result<Option<(RawKdlNode, KdlNodePhase)>, KdlParseError> {
        match self.open.last().map(|open| open.brace) {
            None => Ok(None),
            Some(brace) => {
                let at = self.tokens.span(brace, brace + 1);
                // The nodes after the unclosed brace were read as its content: their problems follow from it.
                let is_behind = |problem: &Diagnostic| {
                    problem.code == VALUE_AND_BLOCK
                        && problem.span().is_some_and(|span| span.start > at.start)
                };
                self.tokens.problems.retain(|problem| !is_behind(problem));
                Err(self.tokens.report_fatal(hints::unclosed_brace(at)))
            }
        }
    }

    fn close_block(&mut self, token: &KdlToken) -> Result<(RawKdlNode, KdlNodePhase), KdlParseError> {
        let Some(open) = self.open.pop() else {
            let at = self.tokens.span(token.start, token.end);
            return Err(self.tokens.report_fatal(hints::stray_brace(at)));
        };
        let mut node = open.node;
        if !open.dropped {
            let block = self.tokens.span(open.brace, token.end);
            node.body = Some(node.body.map_or(block, |body| body.cover_with(block)));
            node.block = Some(open.block);
        }
        Ok((node, open.after))
    }

    /// Reads a node's name from its token.
    fn name(&mut self, token: KdlToken, dropped: bool) -> Result<RawKdlNode, KdlParseError> {
        let at = self.tokens.span(token.start, token.end);
        let KdlTokenKind::Text { text, bare } = token.kind else {
            let what = match token.kind {
                KdlTokenKind::Number | KdlTokenKind::Boolean(_) | KdlTokenKind::Null => {
                    "A line begins with a name, and this is a value."
                }
                KdlTokenKind::OpenBrace => "A block follows its name, on the same line.",
                _ => "A line begins with a name.",
            };
            return Err(self.tokens.report_fatal(hints::unexpected_token(
                at,
                what,
                "Write `name value` or `name { … }`.",
            )));
        };
        let (name, end) = self.without_colon(text, bare, token.end)?;
        if end < token.end && matches!(self.tokens.peek()?.kind, KdlTokenKind::Line | KdlTokenKind::End) {
            return Err(KdlParseError);
        }
        Ok(RawKdlNode {
            name,
            name_span: self.tokens.span(token.start, end),
            arguments: Vec::new(),
            properties: UniqueKeys::default(),
            block: None,
            body: None,
            dropped,
        })
    }

    /// Removes the colon of a word such as `cidr:`, and reports it. Returns the name and its end.
    fn without_colon(
        &mut self,
        text: Name,
        bare: bool,
        end: usize,
    ) -> Result<(Name, usize), KdlParseError> {
        let Some(name) = text.strip_suffix(':').filter(|name| bare && !name.is_empty()) else {
            return Ok((text, end));
        };
        let (to, meant) = self.corrected_value(end)?;
        let at = self.tokens.span(end - 1, to);
        self.tokens.report(hints::colon_after_name(at, name, &meant))?;
        Ok((name.into(), end - 1))
    }

    /// Returns the end of the next value, and its corrected source, so that two mistakes at one location give
    /// one message. Without a value, returns the given offset and an empty string.
    fn corrected_value(&mut self, from: usize) -> Result<(usize, String), KdlParseError> {
        let known = self.tokens.problems.len();
        let token = self.tokens.peek()?.clone();
        let text = self.tokens.text;
        match token.kind {
            KdlTokenKind::Text { .. }
            | KdlTokenKind::Number
            | KdlTokenKind::Boolean(_)
            | KdlTokenKind::Null => {
                let mended =
                    self.tokens.problems.drain(known..).next_back().and_then(|problem| problem.fix);
                let written = || text[token.start..token.end].to_owned();
                Ok((token.end, mended.map_or_else(written, |fix| fix.replacement)))
            }
            KdlTokenKind::OpenBrace => Ok((token.start, "{ … }".to_owned())),
            _ => Ok((from, String::new())),
        }
    }

    /// Reports a type annotation, which is not allowed, and returns the token after it.
    fn skip_annotation(&mut self, open: &KdlToken) -> Result<KdlToken, KdlParseError> {
        let word = self.tokens.next()?;
        let close = self.tokens.next()?;
        let whole =
            matches!(word.kind, KdlTokenKind::Text { .. }) && close.kind == KdlTokenKind::CloseParen;
        let end = if whole { close.end } else { open.end };
        let problem = hints::type_annotation(self.tokens.span(open.start, end));
        if !whole {
            return Err(self.tokens.report_fatal(problem));
        }
        self.tokens.report(problem)?;
        self.tokens.next()
    }

    /// Reads the rest of a node, until it ends or its block opens.
    fn read_node(&mut self, mut node: RawKdlNode, phase: KdlNodePhase) -> Result<(), KdlParseError> {
        loop {
            let mut token = self.tokens.next()?;
            match token.kind {
                KdlTokenKind::Line | KdlTokenKind::Semicolon => return self.finish_node(node),
                KdlTokenKind::End | KdlTokenKind::CloseBrace => {
                    self.tokens.put_back(token);
                    return self.finish_node(node);
                }
                _ => {}
            }
            let dropped = token.kind == KdlTokenKind::SlashDash;
            if dropped {
                self.skip_lines()?;
                token = self.tokens.next()?;
            }
            if token.kind == KdlTokenKind::OpenBrace && (phase != KdlNodePhase::Done || dropped) {
                return self.open_block(node, &token, phase, dropped);
            }
            self.read_entry(&mut node, token, phase, dropped)?;
        }
    }

    fn open_block(
        &mut self,
        node: RawKdlNode,
        token: &KdlToken,
        phase: KdlNodePhase,
        dropped: bool,
    ) -> Result<(), KdlParseError> {
        if self.open.len() >= MAX_DEPTH {
            let at = self.tokens.span(token.start, token.end);
            return Err(self.tokens.report_fatal(too_deep(at)));
        }
        let silent = dropped || node.dropped || self.is_silent();
        let after =
            if dropped && phase != KdlNodePhase::Done { KdlNodePhase::Blocks } else { KdlNodePhase::Done };
        self.open.push(OpenKdlNode {
            node,
            block: KdlBlockContent::default(),
            brace: token.start,
            after,
            dropped,
            silent,
        });
        Ok(())
    }

    /// Reads one argument or property.
    fn read_entry(
        &mut self,
        node: &mut RawKdlNode,
        token: KdlToken,
        phase: KdlNodePhase,
        dropped: bool,
    ) -> Result<(), KdlParseError> {
        let at = self.tokens.span(token.start, token.end);
        let nothing_yet = node.arguments.is_empty() && node.properties.entries().is_empty();
        if token.kind == KdlTokenKind::Equals && phase == KdlNodePhase::Entries && nothing_yet && !dropped {
            return self.recover_equals(node, &token);
        }
        if token.kind == (KdlTokenKind::Text { text: ":".into(), bare: true }) && nothing_yet {
            return self.lone_colon(node, &token);
        }
        if phase != KdlNodePhase::Entries {
            return Err(self.tokens.report_fatal(hints::unexpected_token(
                at,
                "A node ends with its block.",
                "Put this on a line of its own, or before the block.",
            )));
        }
        if !dropped && !token.spaced && !matches!(token.kind, KdlTokenKind::Equals) {
            let help = "Put a space before it; quotes go around the whole text.";
            return Err(self.tokens.report_fatal(hints::unexpected_token(
                at,
                "Values are separated by spaces.",
                help,
            )));
        }
        if !self.values.try_spend(1) {
            return Err(self.tokens.report_fatal(too_many_values(at)));
        }
        match token.kind {
            KdlTokenKind::Text { ref text, bare: true } if text.ends_with(':') => {
                self.add_argument(node, token, dropped)
            }
            KdlTokenKind::Text { text, .. } if self.tokens.peek()?.kind == KdlTokenKind::Equals => {
                self.tokens.next()?;
                self.add_property(node, text, (token.start, token.end), dropped)
            }
            _ => self.add_argument(node, token, dropped),
        }
    }

    /// Reports `cidr = "…"` on a line of its own, and skips the sign, because the intention is clear.
    fn recover_equals(&mut self, node: &RawKdlNode, token: &KdlToken) -> Result<(), KdlParseError> {
        let (to, meant) = self.corrected_value(token.end)?;
        let at = self.tokens.span(node.name_span.end as usize, to);
        self.tokens.report(hints::equals_after_name(at, &node.name, &meant))?;
        let value = self.tokens.next()?;
        self.tokens.put_back(KdlToken { spaced: true, ..value });
        Ok(())
    }

    /// Reports a colon in `"cidr": …` or `cidr : …`, and skips it.
    fn lone_colon(&mut self, node: &RawKdlNode, token: &KdlToken) -> Result<(), KdlParseError> {
        let (to, meant) = self.corrected_value(token.end)?;
        let at = self.tokens.span(node.name_span.end as usize, to);
        self.tokens.report(hints::colon_after_name(at, &node.name, &meant))
    }

    fn add_property(
        &mut self,
        node: &mut RawKdlNode,
        key: Name,
        (start, end): (usize, usize),
        dropped: bool,
    ) -> Result<(), KdlParseError> {
        let mut token = self.tokens.next()?;
        if token.kind == KdlTokenKind::OpenParen {
            token = self.skip_annotation(&token)?;
        }
        if token.kind == KdlTokenKind::OpenBrace {
            let at = self.tokens.span(end, token.end);
            return Err(self.tokens.report_fatal(hints::block_as_value(at, &key)));
        }
        let value = self.read_value(token)?;
        let entry = DocumentEntry { key, key_span: self.tokens.span(start, end), value };
        if dropped || node.dropped || self.is_silent() {
            return Ok(());
        }
        if let Some(first) = node.properties.get(&entry.key) {
            let problem = duplicate_key(&entry.key, first.key_span, entry.key_span);
            return self.tokens.report(problem);
        }
        let whole = entry.key_span.cover_with(entry.value.span);
        node.body = Some(node.body.map_or(whole, |body| body.cover_with(whole)));
        node.properties.push(entry);
        Ok(())
    }

    fn add_argument(
        &mut self,
        node: &mut RawKdlNode,
        mut token: KdlToken,
        dropped: bool,
    ) -> Result<(), KdlParseError> {
        if token.kind == KdlTokenKind::OpenParen {
            token = self.skip_annotation(&token)?;
        }
        if let KdlTokenKind::Text { text, bare: true } = &token.kind
            && let Some(key) = text.strip_suffix(':').filter(|key| !key.is_empty())
        {
            return self.colon_argument(node, &key.into(), &token, dropped);
        }
        let value = self.read_value(token)?;
        if !dropped {
            node.arguments.push(value);
        }
        Ok(())
    }

    /// Reads a word with a colon after a node's name: `vpc main cidr: …` is a property, `vpc main: {` an argument.
    fn colon_argument(
        &mut self,
        node: &mut RawKdlNode,
        key: &Name,
        token: &KdlToken,
        dropped: bool,
    ) -> Result<(), KdlParseError> {
        let end = token.end - 1;
        let (to, meant) = self.corrected_value(token.end)?;
        let is_value = !matches!(
            self.tokens.peek()?.kind,
            KdlTokenKind::OpenBrace | KdlTokenKind::Line | KdlTokenKind::End
        );
        if is_value && !meant.is_empty() {
            let at = self.tokens.span(end, to);
            self.tokens.report(hints::colon_in_line(at, key, &meant))?;
            return self.add_property(node, key.clone(), (token.start, end), dropped);
        }
        let at = self.tokens.span(end, to);
        self.tokens.report(hints::colon_after_name(at, key, &meant))?;
        let kind = KdlTokenKind::Text { text: key.clone(), bare: true };
        let value = self.read_value(KdlToken { kind, end, ..token.clone() })?;
        if !dropped {
            node.arguments.push(value);
        }
        Ok(())
    }

    fn read_value(&mut self, token: KdlToken) -> Result<Node, KdlParseError> {
        let span = self.tokens.span(token.start, token.end);
        let scalar = |text: Name, form| NodeValue::Scalar(Scalar { text, form, sole_argument: false });
        let value = match token.kind {
            KdlTokenKind::Text { text, .. } => scalar(text, ScalarForm::Text),
            KdlTokenKind::Number => {
                let Some(text) = decimal_text(&self.tokens.text[token.start..token.end]) else {
                    self.tokens.report(hints::not_finite(span))?;
                    return Ok(Node { value: NodeValue::Null, span, through: None });
                };
                scalar(text, ScalarForm::Number)
            }
            KdlTokenKind::Boolean(value) => {
                scalar(if value { "true" } else { "false" }.into(), ScalarForm::Boolean)
            }
            KdlTokenKind::Null => NodeValue::Null,
            found => {
                let what = if found == KdlTokenKind::Equals {
                    "This `=` has no key before it."
                } else {
                    "A value is missing here."
                };
                let help = "Write a word, text in double quotes, a number, `#true`, `#false` or `#null`.";
                return Err(self.tokens.report_fatal(hints::unexpected_token(span, what, help)));
            }
        };
        Ok(Node { value, span, through: None })
    }

    /// Adds a complete node to its parent or to the top level.
    fn finish_node(&mut self, node: RawKdlNode) -> Result<(), KdlParseError> {
        if !self.values.try_spend(1) {
            return Err(self.tokens.report_fatal(too_many_values(node.name_span)));
        }
        if node.dropped || self.is_silent() {
            return Ok(());
        }
        let problems = &mut self.tokens.problems;
        match self.open.last_mut() {
            Some(open) => open.block.add_node(node, problems),
            None => self.root.add_top_level(node, problems),
        }
        if problems.len() >= MAX_PROBLEMS { Err(KdlParseError) } else { Ok(()) }
    }
}

/// Returns a number in decimal digits; `None` when it is not finite. A decimal number keeps its source text
/// without underscores, because the schema decides its type.
fn decimal_text(written: &str) -> Option<Name> {
    if written.starts_with('#') {
        return None;
    }
    let plain: String = written.chars().filter(|c| *c != '_').collect();
    let (sign, digits) = match plain.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", plain.strip_prefix('+').unwrap_or(&plain)),
    };
    let radix = match digits.get(..2) {
        Some("0x") => 16,
        Some("0o") => 8,
        Some("0b") => 2,
        _ => return Some(format!("{sign}{digits}").into()),
    };
    let value = u128::from_str_radix(digits.get(2..)?, radix);
    Some(value.map_or_else(|_| plain.clone().into(), |value| format!("{sign}{value}").into()))
}
