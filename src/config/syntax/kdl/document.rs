//! Conversion of KDL nodes to the same tree that YAML yields. In: nodes as the grammar yields them; out: entries by
//! keyword, with problems of names, lists and duplicates. `vpc main { … }` becomes the entry `main` below `vpc`.

use foldhash::{HashMap, HashMapExt};

use super::hints;
use crate::config::syntax::document::{DocumentEntry, Node, NodeValue, ScalarForm};
use crate::config::syntax::limits::{duplicate_key, says_again};
use crate::config::syntax::unique_keys::UniqueKeys;
use crate::model::address::Name;
use crate::model::diagnostic::Diagnostic;
use crate::model::source::Span;

/// Top-level keywords whose nodes are the items of one list.
const LIST_KEYWORDS: [&str; 3] = ["moved", "import", "removed"];

/// Node as the grammar yields it, before its meaning is known.
#[derive(Debug)]
pub(super) struct RawKdlNode {
    /// Name of the node.
    pub(super) name: Name,
    /// Span of the name.
    pub(super) name_span: Span,
    /// Values without a key.
    pub(super) arguments: Vec<Node>,
    /// Properties of the form `key=value`.
    pub(super) properties: UniqueKeys,
    /// Child nodes between braces.
    pub(super) block: Option<KdlBlockContent>,
    /// Span from the first property or brace to the last; `None` if the node has neither.
    pub(super) body: Option<Span>,
    /// Whether the node is commented out.
    pub(super) dropped: bool,
}

/// Child nodes of a node.
#[derive(Debug, Default)]
pub(super) struct KdlBlockContent {
    entries: UniqueKeys,
    items: Vec<Node>,
    first_item: Option<Span>,
}

/// The top level while it is read.
pub(super) struct KdlRoot<'a> {
    is_kind: &'a dyn Fn(&str) -> bool,
    words: Vec<TopLevelWord>,
    index: HashMap<Name, usize>,
}

/// Top-level keyword with all its nodes.
pub(super) struct TopLevelWord {
    key: Name,
    key_span: Span,
    span: Span,
    content: TopLevelContent,
}

/// Combined content of the nodes with one top-level keyword.
enum TopLevelContent {
    /// Named blocks, by name.
    Names(UniqueKeys),
    /// Items of a list.
    List(Vec<Node>),
    Value(Node),
}

impl RawKdlNode {
    /// Returns the span of everything after the name; of the name if nothing follows.
    fn value_span(&self) -> Span {
        let first = self.arguments.first().map(|node| node.span);
        let last = self.arguments.last().map(|node| node.span);
        match (first, last, self.body) {
            (Some(first), Some(last), None) => first.cover_with(last),
            (_, _, Some(body)) => body,
            _ => self.name_span,
        }
    }

    fn has_body(&self) -> bool {
        self.body.is_some()
    }
}

impl KdlBlockContent {
    /// Adds a child node.
    pub(super) fn add_node(&mut self, raw: RawKdlNode, problems: &mut Vec<Diagnostic>) {
        let (key, key_span) = (raw.name.clone(), raw.name_span);
        let value = nested_node(raw, problems);
        if key == "-" {
            self.first_item.get_or_insert(key_span);
            self.items.push(value);
        } else {
            insert_unique(&mut self.entries, DocumentEntry { key, key_span, value }, problems);
        }
    }
}

/// Adds an entry, or reports a duplicate key and keeps the first.
fn insert_unique(entries: &mut UniqueKeys, entry: DocumentEntry, problems: &mut Vec<Diagnostic>) {
    match entries.get(&entry.key) {
        Some(first) => told_once(problems, duplicate_key(&entry.key, first.key_span, entry.key_span)),
        None => entries.push(entry),
    }
}

fn told_once(problems: &mut Vec<Diagnostic>, problem: Diagnostic) {
    if !says_again(problems.last(), &problem) {
        problems.push(problem);
    }
}

/// Returns the value of a node below the top level.
fn nested_node(mut raw: RawKdlNode, problems: &mut Vec<Diagnostic>) -> Node {
    let span = raw.value_span();
    if let (Some(first), Some(body)) = (raw.arguments.first(), raw.body) {
        problems.push(hints::value_and_block(&raw.name, raw.name_span, first.span, body));
    }
    let value = match raw.arguments.len() {
        _ if raw.has_body() => body_value(raw, problems),
        0 => NodeValue::Bare,
        1 => mark_sole_argument(raw.arguments.remove(0).value),
        _ => NodeValue::Sequence(raw.arguments),
    };
    Node { value, span, through: None }
}

/// Marks the only argument of a node: it is a list of one, where a list is expected.
fn mark_sole_argument(value: NodeValue) -> NodeValue {
    match value {
        NodeValue::Scalar(mut scalar) => {
            scalar.sole_argument = true;
            NodeValue::Scalar(scalar)
        }
        other => other,
    }
}

/// Combines properties and block into one value: a list when every child is `-`, else a mapping.
fn body_value(raw: RawKdlNode, problems: &mut Vec<Diagnostic>) -> NodeValue {
    let mut entries = raw.properties;
    let block = raw.block.unwrap_or_default();
    for entry in block.entries.into_entries() {
        insert_unique(&mut entries, entry, problems);
    }
    match (block.first_item, entries.entries().first()) {
        (Some(_), None) => NodeValue::Sequence(block.items),
        (Some(item), Some(entry)) => {
            problems.push(hints::mixed_list(item, entry.key_span));
            NodeValue::Mapping(entries.into_entries())
        }
        _ => NodeValue::Mapping(entries.into_entries()),
    }
}

impl<'a> KdlRoot<'a> {
    /// Returns an empty top level.
    pub(super) fn new(is_kind: &'a dyn Fn(&str) -> bool) -> Self {
        Self { is_kind, words: Vec::new(), index: HashMap::new() }
    }

    /// Adds a top-level node.
    pub(super) fn add_top_level(&mut self, raw: RawKdlNode, problems: &mut Vec<Diagnostic>) {
        if LIST_KEYWORDS.contains(&raw.name.as_str()) {
            self.add_list_item(raw, problems);
        } else if (self.is_kind)(&raw.name) {
            self.add_kind_node(raw, problems);
        } else if raw.arguments.len() == 1 && raw.has_body() {
            self.add_named_block(raw, problems);
        } else {
            let (key, key_span, span) = (raw.name.clone(), raw.name_span, raw.value_span());
            let content = TopLevelContent::Value(nested_node(raw, problems));
            self.add_word(TopLevelWord { key, key_span, span, content }, problems);
        }
    }

    /// Adds a keyword that may occur only once.
    fn add_word(&mut self, word: TopLevelWord, problems: &mut Vec<Diagnostic>) {
        if let Some(first) = self.index.get(&word.key).and_then(|at| self.words.get(*at)) {
            told_once(problems, duplicate_key(&word.key, first.key_span, word.key_span));
            return;
        }
        self.index.insert(word.key.clone(), self.words.len());
        self.words.push(word);
    }

    fn add_list_item(&mut self, raw: RawKdlNode, problems: &mut Vec<Diagnostic>) {
        let (key, key_span, span) = (raw.name.clone(), raw.name_span, raw.value_span());
        let new = match nested_node(raw, problems) {
            Node { value: NodeValue::Sequence(items), .. } => items,
            item => vec![item],
        };
        let known = self.index.get(&key).and_then(|at| self.words.get_mut(*at));
        if let Some(TopLevelWord { content: TopLevelContent::List(items), .. }) = known {
            items.extend(new);
        } else {
            self.add_word(
                TopLevelWord { key, key_span, span, content: TopLevelContent::List(new) },
                problems,
            );
        }
    }

    /// Adds a node of a resource kind: its one argument is the block's name.
    fn add_kind_node(&mut self, raw: RawKdlNode, problems: &mut Vec<Diagnostic>) {
        match (raw.arguments.as_slice(), raw.properties.entries()) {
            ([_], _) => self.add_named_block(raw, problems),
            ([], []) => self.add_block_group(raw, problems),
            ([], [property, ..]) => {
                let at = property.key_span;
                problems.push(hints::block_name(&raw.name, at, "an attribute, but no name before it"));
            }
            ([_, second, ..], _) => {
                problems.push(hints::block_name(&raw.name, second.span, "a second name"));
            }
        }
    }

    /// Adds several blocks at once: `vpc { main …; other … }`.
    fn add_block_group(&mut self, raw: RawKdlNode, problems: &mut Vec<Diagnostic>) {
        let span = raw.value_span();
        let block = raw.block.unwrap_or_default();
        if let Some(item) = block.first_item {
            problems.push(hints::block_name(&raw.name, item, "an item without a name"));
        }
        for entry in block.entries.into_entries() {
            self.add_block(&raw.name, raw.name_span, span, entry, problems);
        }
        if !self.index.contains_key(&raw.name) {
            let content = TopLevelContent::Names(UniqueKeys::default());
            self.add_word(TopLevelWord { key: raw.name, key_span: raw.name_span, span, content }, problems);
        }
    }

    /// Adds one named block: `vpc main …`.
    fn add_named_block(&mut self, mut raw: RawKdlNode, problems: &mut Vec<Diagnostic>) {
        let argument = raw.arguments.remove(0);
        let name = argument.scalar().filter(|scalar| scalar.form != ScalarForm::Boolean);
        let Some(name) = name.map(|scalar| scalar.text.clone()) else {
            problems.push(hints::block_name(&raw.name, argument.span, "this is not a name"));
            return;
        };
        let span = raw.body.map_or(argument.span, |body| argument.span.cover_with(body));
        let (word, word_span) = (raw.name.clone(), raw.name_span);
        raw.name_span = argument.span;
        let value = nested_node(raw, problems);
        let entry = DocumentEntry { key: name, key_span: argument.span, value };
        self.add_block(&word, word_span, span, entry, problems);
    }

    fn add_block(
        &mut self,
        word: &Name,
        word_span: Span,
        span: Span,
        entry: DocumentEntry,
        problems: &mut Vec<Diagnostic>,
    ) {
        let known = self.index.get(word).and_then(|at| self.words.get_mut(*at));
        if let Some(TopLevelWord { content: TopLevelContent::Names(names), .. }) = known {
            insert_unique(names, entry, problems);
            return;
        }
        let mut names = UniqueKeys::default();
        names.push(entry);
        let content = TopLevelContent::Names(names);
        self.add_word(TopLevelWord { key: word.clone(), key_span: word_span, span, content }, problems);
    }

    /// Returns all keywords with their content, in the order of the file.
    pub(super) fn into_words(self) -> Vec<TopLevelWord> {
        self.words
    }
}

impl TopLevelWord {
    /// Returns whether the nodes are named blocks (true) or one value (false); `None` for list items.
    pub(super) fn names_blocks(&self) -> Option<bool> {
        match self.content {
            TopLevelContent::Names(_) => Some(true),
            TopLevelContent::Value(_) => Some(false),
            TopLevelContent::List(_) => None,
        }
    }

    /// Returns the keyword as an entry of the tree.
    pub(super) fn into_entry(self) -> DocumentEntry {
        let node = |value| Node { value, span: self.span, through: None };
        let value = match self.content {
            TopLevelContent::Names(names) => node(NodeValue::Mapping(names.into_entries())),
            TopLevelContent::List(items) => node(NodeValue::Sequence(items)),
            TopLevelContent::Value(value) => value,
        };
        DocumentEntry { key: self.key, key_span: self.key_span, value }
    }
}
