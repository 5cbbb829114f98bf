//! Construction of the tree from parser events, with an explicit stack: depth is limited, and recursion, which a
//! hostile file could exhaust, is not needed. Merge keys and aliases are expanded here, within the file's value budget.

use granit_parser::{Event, Parser, ScalarStyle, Span as Marks, StrInput, options};

use super::anchors::{AnchoredNode, Anchors, entries_through, mark_reached_through};
use super::{hints, messages};
use crate::config::syntax::budget::ValueBudget;
use crate::config::syntax::document::{
    Document, DocumentEntry, Node, NodeValue, Scalar, ScalarForm, Syntax,
};
use crate::config::syntax::limits::{
    MAX_DEPTH, MAX_PROBLEMS, byte_span, duplicate_key, says_again, too_deep, too_many_values,
};
use crate::config::syntax::unique_keys::UniqueKeys;
use crate::model::address::Name;
use crate::model::diagnostic::Diagnostic;
use crate::model::source::{Source, SourceId, Span};

/// Parses a YAML file. An empty one is an empty mapping.
///
/// # Errors
/// All problems that do not follow from each other, ending with the first after which parsing cannot continue;
/// likely mistakes have the correction.
pub(super) fn parse_whole(id: SourceId, source: &Source) -> Result<Document, Vec<Diagnostic>> {
    parse_counted(id, source).map(|(document, _)| document)
}

/// What a document does not show of its file.
pub(super) struct ParseFacts {
    /// Number of values, as the file's budget counts them.
    pub(super) values: usize,
    /// Whether the file has an anchor.
    pub(super) has_anchors: bool,
}

/// Parses a YAML file, and counts its values.
///
/// # Errors
/// Those of `parse_whole`.
pub(super) fn parse_counted(
    id: SourceId,
    source: &Source,
) -> Result<(Document, ParseFacts), Vec<Diagnostic>> {
    let mut reader = YamlParser {
        id,
        text: &source.text,
        open: Vec::new(),
        root: None,
        anchors: Anchors::default(),
        names: Vec::new(),
        values: ValueBudget::new(source.text.len()),
        documents: 0,
        problems: Vec::new(),
    };
    if let Err(problem) = reader.run() {
        // The line at which parsing stopped may already have a report.
        if !reader.problems.contains(&problem) {
            reader.problems.push(*problem);
        }
    }
    let root = reader.root.take();
    let facts = ParseFacts { values: reader.values.spent(), has_anchors: !reader.names.is_empty() };
    let mut problems = reader.problems;
    let root = match root.map(|node| (node.span, node.value)) {
        None | Some((_, NodeValue::Null)) => Vec::new(),
        Some((_, NodeValue::Mapping(entries))) => entries,
        Some((at, _)) => {
            if problems.is_empty() {
                problems.push(messages::not_a_mapping(&source.text, at));
            }
            Vec::new()
        }
    };
    if problems.is_empty() {
        Ok((Document { source: id, syntax: Syntax::Yaml, root }, facts))
    } else {
        Err(problems)
    }
}

/// Reason why parsing cannot continue.
type YamlParseError = Box<Diagnostic>;

struct YamlParser<'a> {
    id: SourceId,
    text: &'a str,
    open: Vec<OpenCollection>,
    root: Option<Node>,
    anchors: Anchors,
    /// Names of the anchors so far, for suggestions.
    names: Vec<Name>,
    values: ValueBudget,
    documents: usize,
    problems: Vec<Diagnostic>,
}

/// A collection that is being read.
struct OpenCollection {
    content: OpenContent,
    start: usize,
    /// End offset of its last part.
    end: usize,
    flow: bool,
    anchor: usize,
    /// Number of values in it so far, itself included.
    size: usize,
    /// Number of levels in it so far.
    height: usize,
}

enum OpenContent {
    Sequence(Vec<Node>),
    Mapping { entries: UniqueKeys, key: Option<PendingKey>, merge: Option<MergeKey> },
}

/// Key whose value was not read yet.
struct PendingKey {
    text: Name,
    span: Span,
    merge: bool,
}

/// Content of a merge key (`<<`).
struct MergeKey {
    key: Span,
    from: Vec<Node>,
}

impl YamlParser<'_> {
    fn run(&mut self) -> Result<(), YamlParseError> {
        let options = options! {
            emit_comments: false,
            emit_unresolved_aliases: true,
            emit_anchor_events: true,
            flow_nesting_limit: MAX_DEPTH - 1,
            block_nesting_limit: MAX_DEPTH,
        };
        let text = self.text;
        for event in Parser::<StrInput>::new_from_str_with_options(text, options) {
            let (event, marks) = event.map_err(|error| self.scan_problem(&error))?;
            self.handle_event(event, marks)?;
        }
        Ok(())
    }

    /// Returns the diagnostic of a parser error.
    fn scan_problem(&self, error: &granit_parser::ScanError) -> YamlParseError {
        let at = error.marker().byte_offset().unwrap_or(self.text.len());
        Box::new(hints::explain_scan_error(self.id, self.text, error.kind(), at))
    }

    fn span(&self, start: usize, end: usize) -> Span {
        byte_span(self.id, start, end)
    }

    fn handle_event(&mut self, event: Event<'_>, marks: Marks) -> Result<(), YamlParseError> {
        let range = marks.byte_range().unwrap_or_default();
        match event {
            Event::DocumentStart(..) => self.begin_document(range.start),
            Event::Scalar(text, style, anchor, tag) => {
                if tag.is_some() {
                    self.report_tag(&marks)?;
                }
                let node = self.scalar_node(&text, style, &range);
                self.check_expression(&node)?;
                self.add_anchored(node, anchor, 1, 0)
            }
            Event::SequenceStart(style, anchor, tag) => {
                if tag.is_some() {
                    self.report_tag(&marks)?;
                }
                self.begin_collection(OpenContent::Sequence(Vec::new()), style, &range, anchor)
            }
            Event::MappingStart(style, anchor, tag) => {
                if tag.is_some() {
                    self.report_tag(&marks)?;
                }
                let content =
                    OpenContent::Mapping { entries: UniqueKeys::default(), key: None, merge: None };
                self.begin_collection(content, style, &range, anchor)
            }
            Event::SequenceEnd | Event::MappingEnd => self.finish_collection(range.end),
            Event::Anchor(_, name) => {
                self.names.push(Name::from(&*name));
                Ok(())
            }
            Event::Alias(anchor) => self.add_alias(anchor, self.span(range.start, range.end)),
            Event::UnresolvedAlias(name) => {
                let at = self.span(range.start, range.end);
                Err(Box::new(messages::unknown_alias(self.text, &name, at, &self.names)))
            }
            _ => Ok(()),
        }
    }

    fn report(&mut self, problem: Diagnostic) -> Result<(), YamlParseError> {
        if says_again(self.problems.last(), &problem) {
            return Ok(());
        }
        if self.problems.len() + 1 >= MAX_PROBLEMS {
            return Err(Box::new(problem));
        }
        self.problems.push(problem);
        Ok(())
    }

    fn begin_document(&mut self, at: usize) -> Result<(), YamlParseError> {
        self.documents += 1;
        if self.documents > 1 {
            return Err(Box::new(messages::several_documents(self.text, self.id, at)));
        }
        Ok(())
    }

    fn report_tag(&mut self, marks: &Marks) -> Result<(), YamlParseError> {
        let range = marks.tag_span().and_then(|tag| tag.byte_range()).unwrap_or_default();
        let tag = self.text.get(range.clone()).unwrap_or_default();
        self.report(messages::unsupported_tag(self.text, tag, self.span(range.start, range.end)))
    }

    fn scalar_node(&self, text: &str, style: ScalarStyle, range: &std::ops::Range<usize>) -> Node {
        let span = self.span(range.start, range.end);
        let plain = style == ScalarStyle::Plain;
        let value = if plain && (range.is_empty() || matches!(text, "" | "~" | "null" | "Null" | "NULL")) {
            NodeValue::Null
        } else {
            let form = if plain { ScalarForm::Plain } else { ScalarForm::Text };
            NodeValue::Scalar(Scalar { text: text.into(), form, sole_argument: false })
        };
        Node { value, span, through: None }
    }

    /// Reports an expression that a comment cut off: the parser accepts it.
    fn check_expression(&mut self, node: &Node) -> Result<(), YamlParseError> {
        match node.scalar() {
            Some(scalar)
                if scalar.form == ScalarForm::Plain && messages::has_unclosed_expression(&scalar.text) =>
            {
                match messages::commented_out(self.text, node.span) {
                    Some(problem) => self.report(problem),
                    None => Ok(()),
                }
            }
            Some(scalar) if scalar.form == ScalarForm::Plain => {
                let unseen = || messages::invisible_characters(&scalar.text, node.span);
                match messages::typographic_text(&scalar.text, node.span).or_else(unseen) {
                    Some(problem) => self.report(problem),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    fn begin_collection(
        &mut self,
        content: OpenContent,
        style: granit_parser::StructureStyle,
        range: &std::ops::Range<usize>,
        anchor: usize,
    ) -> Result<(), YamlParseError> {
        let flow = style == granit_parser::StructureStyle::Flow;
        if self.open.len() >= MAX_DEPTH {
            return Err(Box::new(too_deep(self.span(range.start, range.end))));
        }
        if self.key_expected() {
            return Err(Box::new(messages::invalid_key(
                self.text,
                self.span(range.start, range.end),
                flow,
            )));
        }
        let open = OpenCollection {
            content,
            start: range.start,
            end: range.end,
            flow,
            anchor,
            size: 1,
            height: 0,
        };
        self.open.push(open);
        Ok(())
    }

    fn key_expected(&self) -> bool {
        let content = self.open.last().map(|open| &open.content);
        matches!(content, Some(OpenContent::Mapping { key: None, .. }))
    }

    fn finish_collection(&mut self, end: usize) -> Result<(), YamlParseError> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let end = if open.flow { end } else { open.end };
        let span = self.span(open.start, end);
        let value = match open.content {
            OpenContent::Sequence(items) => NodeValue::Sequence(items),
            OpenContent::Mapping { mut entries, merge, .. } => {
                if let Some(merge) = merge {
                    self.merge_entries(&mut entries, merge)?;
                }
                NodeValue::Mapping(entries.into_entries())
            }
        };
        self.add_anchored(Node { value, span, through: None }, open.anchor, open.size, open.height + 1)
    }

    /// Adds the entries that `<<` names: written keys have precedence, then the first of several mappings.
    fn merge_entries(&mut self, entries: &mut UniqueKeys, merge: MergeKey) -> Result<(), YamlParseError> {
        for node in merge.from {
            let at = node.through.unwrap_or(merge.key);
            let NodeValue::Mapping(mut new) = node.value else {
                self.report(messages::invalid_merge(node.through.unwrap_or(node.span), merge.key))?;
                continue;
            };
            if node.through.is_none() {
                entries_through(&mut new, at);
            }
            for entry in new {
                if entries.position(&entry.key).is_none() {
                    entries.push(entry);
                }
            }
        }
        Ok(())
    }

    fn add_alias(&mut self, anchor: usize, at: Span) -> Result<(), YamlParseError> {
        if self.key_expected() {
            return Err(Box::new(messages::invalid_key(self.text, at, false)));
        }
        let Some(anchored) = self.anchors.get(&anchor) else {
            return Err(Box::new(messages::alias_in_itself(at)));
        };
        let (size, height) = (anchored.size, anchored.height);
        if self.open.len() + height > MAX_DEPTH {
            return Err(Box::new(too_deep(at)));
        }
        // Before the copy: a few nested aliases can mean millions of values.
        if !self.values.try_spend(size) {
            return Err(Box::new(messages::excessive_expansion(at)));
        }
        let mut node = anchored.node.clone();
        mark_reached_through(&mut node, at);
        self.add_node(node, size, height, at.end as usize)
    }

    /// Adds a node that is written in the file, and stores it if it has an anchor.
    fn add_anchored(
        &mut self,
        node: Node,
        anchor: usize,
        size: usize,
        height: usize,
    ) -> Result<(), YamlParseError> {
        if !self.values.try_spend(1) {
            return Err(Box::new(too_many_values(node.span)));
        }
        if anchor > 0 {
            // The stored copy takes memory, too, even if no alias uses it.
            if !self.values.try_spend(size) {
                return Err(Box::new(messages::excessive_expansion(node.span)));
            }
            self.anchors.insert(anchor, AnchoredNode { node: node.clone(), size, height });
        }
        let end = node.span.end as usize;
        self.add_node(node, size, height, end)
    }

    /// Adds a node to the innermost open collection, as a key, a value or an item; without one it is the root.
    fn add_node(
        &mut self,
        node: Node,
        size: usize,
        height: usize,
        end: usize,
    ) -> Result<(), YamlParseError> {
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        open.end = open.end.max(end);
        open.size += size;
        open.height = open.height.max(height);
        match &mut open.content {
            OpenContent::Sequence(items) => {
                items.push(node);
                Ok(())
            }
            OpenContent::Mapping { key, .. } => match key.take() {
                None => self.set_key(&node),
                Some(key) => self.add_entry(key, node),
            },
        }
    }

    fn set_key(&mut self, node: &Node) -> Result<(), YamlParseError> {
        let Some(scalar) = node.scalar() else {
            return Err(Box::new(messages::invalid_key(self.text, node.span, false)));
        };
        let plain = scalar.form == ScalarForm::Plain;
        if plain && messages::has_unclosed_expression(&scalar.text) {
            return Err(Box::new(hints::expression_as_key(self.text, node.span)));
        }
        let merge = plain && scalar.text == "<<";
        let new = PendingKey { text: scalar.text.clone(), span: node.span, merge };
        if let Some(OpenContent::Mapping { key, .. }) = self.open.last_mut().map(|open| &mut open.content) {
            *key = Some(new);
        }
        Ok(())
    }

    fn add_entry(&mut self, key: PendingKey, value: Node) -> Result<(), YamlParseError> {
        let block = self.open.last().is_some_and(|open| !open.flow);
        if block && messages::missing_space(self.text, key.span, &value) {
            return self.report(messages::missing_space_problem(self.text, value.span));
        }
        let Some(OpenContent::Mapping { entries, merge, .. }) =
            self.open.last_mut().map(|open| &mut open.content)
        else {
            return Ok(());
        };
        let first = match merge {
            Some(merge) if key.merge => Some(merge.key),
            _ => entries.get(&key.text).map(|entry| entry.key_span),
        };
        if let Some(first) = first {
            let problem = if key.merge {
                messages::second_merge(first, key.span)
            } else {
                duplicate_key(&key.text, first, key.span)
            };
            return self.report(problem);
        }
        if key.merge {
            let from = match value {
                Node { value: NodeValue::Sequence(items), .. } => items,
                other => vec![other],
            };
            *merge = Some(MergeKey { key: key.span, from });
        } else {
            entries.push(DocumentEntry { key: key.text, key_span: key.span, value });
        }
        Ok(())
    }
}
