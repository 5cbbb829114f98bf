//! Layout of a KDL file: every node, value, property and block with its byte range.
//!
//! `read` yields the meaning of a file; this tree yields the location of each part, for edits and formatting.
//! Invariant: it is only built from files that `read` accepts.

use std::ops::Range;

use super::tokens::{KdlToken, KdlTokenKind, KdlTokenizer};
use crate::model::address::Name;
use crate::model::source::SourceId;

/// Node: a name, the entries after it on its line, and its block.
#[derive(Debug, Clone)]
pub(in crate::config) struct KdlNode {
    /// Name, unescaped.
    pub(in crate::config) name: Name,
    /// Byte range of the name, with its quotes.
    pub(in crate::config) name_at: Range<usize>,
    /// Arguments and properties in the order written.
    pub(in crate::config) entries: Vec<KdlEntry>,
    pub(in crate::config) block: Option<KdlBlock>,
    /// Offset after its last character, without the terminator.
    pub(in crate::config) end: usize,
    /// Offset after the semicolon that ends it; `None` if a line ending or a brace does.
    pub(in crate::config) semicolon: Option<usize>,
}

/// An argument or a property.
#[derive(Debug, Clone)]
pub(in crate::config) struct KdlEntry {
    /// Key of a property, with its byte range; `None` for an argument.
    pub(in crate::config) key: Option<(Name, Range<usize>)>,
    pub(in crate::config) value: KdlValue,
    /// Byte range of the value, with its quotes.
    pub(in crate::config) at: Range<usize>,
}

/// Type and content of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) enum KdlValue {
    Null,
    /// The keyword `#true` or `#false`.
    Boolean(bool),
    /// A number, in its source form.
    Number,
    /// A string, unescaped.
    Text(Name),
}

/// Child nodes between two braces.
#[derive(Debug, Clone)]
pub(in crate::config) struct KdlBlock {
    /// Byte range, including the braces.
    pub(in crate::config) at: Range<usize>,
    pub(in crate::config) nodes: Vec<KdlNode>,
}

/// Layout tree of a file, with its comments.
#[derive(Debug)]
pub(in crate::config) struct KdlTree {
    /// Nodes of the top level.
    pub(in crate::config) nodes: Vec<KdlNode>,
    /// Byte ranges of all comments and all commented-out parts, in order.
    pub(in crate::config) comments: Vec<Range<usize>>,
}

impl KdlEntry {
    /// Returns the offset of its first character.
    pub(in crate::config) fn start(&self) -> usize {
        self.key.as_ref().map_or(self.at.start, |(_, at)| at.start)
    }
}

impl KdlNode {
    /// Returns the offset of its first character.
    pub(in crate::config) fn start(&self) -> usize {
        self.name_at.start
    }

    /// Returns the arguments in order.
    pub(in crate::config) fn arguments(&self) -> impl Iterator<Item = &KdlEntry> {
        self.entries.iter().filter(|entry| entry.key.is_none())
    }

    /// Returns the first property with a key; `None` if there is none.
    pub(in crate::config) fn property(&self, name: &str) -> Option<&KdlEntry> {
        self.entries.iter().find(|entry| entry.key.as_ref().is_some_and(|(key, _)| key == name))
    }

    /// Returns the child nodes; empty without a block.
    pub(in crate::config) fn children(&self) -> &[KdlNode] {
        self.block.as_ref().map(|block| block.nodes.as_slice()).unwrap_or_default()
    }
}

/// Reads the layout of a file; `None` when it is not valid KDL.
pub(in crate::config) fn parse_kdl_layout(text: &str) -> Option<KdlTree> {
    let mut reader =
        KdlLayoutReader { tokens: KdlTokenizer::new(SourceId(0), text), at: 0, comments: Vec::new() };
    let nodes = reader.read_nodes()?;
    if !reader.tokens.problems.is_empty() {
        return None;
    }
    let mut comments = reader.comments;
    comments.sort_by_key(|at| at.start);
    Some(KdlTree { nodes, comments })
}

struct KdlLayoutReader<'t> {
    tokens: KdlTokenizer<'t>,
    /// End offset of the last token.
    at: usize,
    comments: Vec<Range<usize>>,
}

impl KdlLayoutReader<'_> {
    /// Consumes the next token, and collects the comments before it.
    fn next_token(&mut self) -> Option<KdlToken> {
        let token = self.tokens.next().ok()?;
        if token.start > self.at {
            find_comments(self.tokens.text, self.at..token.start, &mut self.comments);
        }
        if token.kind == KdlTokenKind::Line {
            // The lexer joins adjacent line ends to one token, including the comments between them.
            find_comments(self.tokens.text, token.start..token.end, &mut self.comments);
        }
        self.at = self.at.max(token.end);
        Some(token)
    }

    fn put_back(&mut self, token: KdlToken) {
        self.tokens.put_back(token);
    }

    /// Consumes the next token that ends neither a line nor a node.
    fn take_in_block(&mut self) -> Option<KdlToken> {
        loop {
            let token = self.next_token()?;
            if !matches!(token.kind, KdlTokenKind::Line | KdlTokenKind::Semicolon) {
                return Some(token);
            }
        }
    }

    /// Reads nodes up to a closing brace or the end, and consumes neither.
    fn read_nodes(&mut self) -> Option<Vec<KdlNode>> {
        let mut nodes = Vec::new();
        loop {
            let token = self.take_in_block()?;
            match token.kind {
                KdlTokenKind::End | KdlTokenKind::CloseBrace => {
                    self.put_back(token);
                    return Some(nodes);
                }
                KdlTokenKind::SlashDash => {
                    let known = self.comments.len();
                    let name = self.take_in_block()?;
                    let node = self.read_node(name)?;
                    self.keep_commented_out(token.start..node.semicolon.unwrap_or(node.end), known);
                }
                _ => nodes.push(self.read_node(token)?),
            }
        }
    }

    /// Collects a commented-out part, in place of the comments inside it.
    fn keep_commented_out(&mut self, at: Range<usize>, known: usize) {
        let behind: Vec<_> =
            self.comments.split_off(known).into_iter().filter(|c| c.start >= at.end).collect();
        self.comments.push(at);
        self.comments.extend(behind);
    }

    /// Parses a node after its name.
    fn read_node(&mut self, name: KdlToken) -> Option<KdlNode> {
        let KdlTokenKind::Text { text, .. } = name.kind else { return None };
        let mut node = KdlNode {
            name: text,
            name_at: name.start..name.end,
            entries: Vec::new(),
            block: None,
            end: name.end,
            semicolon: None,
        };
        loop {
            let token = self.next_token()?;
            match token.kind {
                KdlTokenKind::Line => return Some(node),
                KdlTokenKind::Semicolon => {
                    node.semicolon = Some(token.end);
                    return Some(node);
                }
                KdlTokenKind::End | KdlTokenKind::CloseBrace => {
                    self.put_back(token);
                    return Some(node);
                }
                KdlTokenKind::SlashDash => {
                    let known = self.comments.len();
                    let next = self.take_in_block()?;
                    let end = self.read_part(next)?.end();
                    self.keep_commented_out(token.start..end, known);
                    node.end = end;
                }
                _ => match self.read_part(token)? {
                    KdlNodePart::Entry(entry) => {
                        node.end = entry.at.end;
                        node.entries.push(entry);
                    }
                    KdlNodePart::Block(block) => {
                        node.end = block.at.end;
                        node.block = Some(block);
                    }
                },
            }
        }
    }

    /// Reads an argument, a property or a block.
    fn read_part(&mut self, token: KdlToken) -> Option<KdlNodePart> {
        if token.kind == KdlTokenKind::OpenBrace {
            let nodes = self.read_nodes()?;
            let close = self.next_token()?;
            let whole = close.kind == KdlTokenKind::CloseBrace;
            return whole.then_some(KdlNodePart::Block(KdlBlock { at: token.start..close.end, nodes }));
        }
        let at = token.start..token.end;
        if let KdlTokenKind::Text { text, .. } = &token.kind {
            let next = self.next_token()?;
            if next.kind == KdlTokenKind::Equals {
                let value = self.next_token()?;
                let at_value = value.start..value.end;
                return Some(KdlNodePart::Entry(KdlEntry {
                    key: Some((text.clone(), at)),
                    value: token_value(value)?,
                    at: at_value,
                }));
            }
            self.put_back(next);
        }
        Some(KdlNodePart::Entry(KdlEntry { key: None, value: token_value(token)?, at }))
    }
}

enum KdlNodePart {
    Entry(KdlEntry),
    Block(KdlBlock),
}

impl KdlNodePart {
    fn end(&self) -> usize {
        match self {
            Self::Entry(entry) => entry.at.end,
            Self::Block(block) => block.at.end,
        }
    }
}

fn token_value(token: KdlToken) -> Option<KdlValue> {
    match token.kind {
        KdlTokenKind::Text { text, .. } => Some(KdlValue::Text(text)),
        KdlTokenKind::Number => Some(KdlValue::Number),
        KdlTokenKind::Boolean(value) => Some(KdlValue::Boolean(value)),
        KdlTokenKind::Null => Some(KdlValue::Null),
        _ => None,
    }
}

/// Collects the comments in a range between two tokens.
fn find_comments(text: &str, within: Range<usize>, found: &mut Vec<Range<usize>>) {
    let mut at = within.start;
    while let Some(start) = text[at..within.end].find('/').map(|n| at + n) {
        let rest = &text[start..within.end];
        let length = if rest.starts_with("/*") {
            multi_line(rest)
        } else {
            rest.find(['\n', '\r', '\u{B}', '\u{C}', '\u{85}', '\u{2028}', '\u{2029}'])
                .unwrap_or(rest.len())
        };
        found.push(start..start + length);
        at = start + length.max(1);
    }
}

/// Returns the length of a `/* … */` comment, including nested ones.
fn multi_line(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(n) = text[at..].find(['/', '*']) {
        at += n;
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(text: &str) -> Vec<String> {
        fn walk(text: &str, nodes: &[KdlNode], out: &mut Vec<String>) {
            for node in nodes {
                let entries: Vec<_> =
                    node.entries.iter().map(|entry| &text[entry.start()..entry.at.end]).collect();
                out.push(format!("{}|{}|{}", node.name, entries.join(","), &text[node.start()..node.end]));
                walk(text, node.children(), out);
            }
        }
        let mut out = Vec::new();
        walk(text, &parse_kdl_layout(text).unwrap().nodes, &mut out);
        out
    }

    #[test]
    fn every_node_has_a_span() {
        assert_eq!(
            nodes("// h\nvpc main cidr=\"10.0.0.0/8\" // c\nusers { a; b x=1 { c #true } }\r\n"),
            [
                "vpc|main,cidr=\"10.0.0.0/8\"|vpc main cidr=\"10.0.0.0/8\"",
                "users||users { a; b x=1 { c #true } }",
                "a||a",
                "b|x=1|b x=1 { c #true }",
                "c|#true|c #true"
            ]
        );
        assert_eq!(nodes("a 1 \\\n  b=2\nc"), ["a|1,b=2|a 1 \\\n  b=2", "c||c"]);
    }

    #[test]
    fn comments_and_slashdashed_nodes_are_kept() {
        let text = "// one\na /* two */ 1 /-2 // three\n/- b { // in\n  c }\n/* four\n /* five */ */\nd {\n  // six\n}\n// seven";
        let read = parse_kdl_layout(text).unwrap();
        let comments: Vec<_> = read.comments.iter().map(|at| &text[at.clone()]).collect();
        assert_eq!(
            comments,
            [
                "// one",
                "/* two */",
                "/-2",
                "// three",
                "/- b { // in\n  c }",
                "/* four\n /* five */ */",
                "// six",
                "// seven"
            ]
        );
    }
}
