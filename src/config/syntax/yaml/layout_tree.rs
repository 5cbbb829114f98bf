//! Layout of a YAML file: every entry, dash, anchor and alias with its byte range.
//!
//! `read` yields the meaning of a file; this tree yields the location of each part, for edits and formatting.
//! Invariant: it is only built from files that `read` accepts.

use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, StrInput, StructureStyle, options};

use crate::model::address::Name;

/// A value with its byte range, including its anchor.
#[derive(Debug, Clone)]
pub(in crate::config) struct YamlNode {
    /// Byte range from its anchor, or its first character, to its last.
    pub(in crate::config) range: Range<usize>,
    /// Byte range of the anchor `&name`; `None` without one.
    pub(in crate::config) anchor: Option<Range<usize>>,
    pub(in crate::config) content: YamlContent,
}

/// Content of a value.
#[derive(Debug, Clone)]
pub(in crate::config) enum YamlContent {
    /// An alias, such as `*name`.
    Alias,
    /// A scalar; a missing value is an empty plain one.
    Scalar {
        /// The string, unescaped.
        text: Name,
        /// Quoting style in the source.
        style: ScalarStyle,
        /// Byte range without its anchor, including a block scalar's header.
        at: Range<usize>,
    },
    /// `[a, b]` or lines with dashes.
    Sequence(YamlCollection),
    /// `{ a: b }` or lines with keys.
    Mapping(YamlCollection),
}

/// The entries or items of a collection.
#[derive(Debug, Clone)]
pub(in crate::config) struct YamlCollection {
    /// Whether it is in flow style, with brackets.
    pub(in crate::config) flow: bool,
    /// Entries or items, in the order written.
    pub(in crate::config) items: Vec<YamlItem>,
}

impl YamlCollection {
    /// Returns the position of the entry with a key; `None` if there is none.
    pub(in crate::config) fn position(&self, key: &str) -> Option<usize> {
        self.items.iter().position(|item| item.key.as_ref().is_some_and(|known| known.text == key))
    }
}

/// An entry of a mapping or an item of a sequence.
#[derive(Debug, Clone)]
pub(in crate::config) struct YamlItem {
    /// Offset of its key, question mark or dash; in flow style, of its value.
    pub(in crate::config) start: usize,
    /// Key; `None` in a sequence.
    pub(in crate::config) key: Option<YamlKey>,
    pub(in crate::config) value: YamlNode,
}

/// Key with its byte range.
#[derive(Debug, Clone)]
pub(in crate::config) struct YamlKey {
    /// The key, unescaped.
    pub(in crate::config) text: Name,
    /// Byte range, with its quotes.
    pub(in crate::config) at: Range<usize>,
    /// Offset after its colon; `None` where it has none.
    pub(in crate::config) colon: Option<usize>,
    /// Whether it is written without quotes.
    pub(in crate::config) plain: bool,
}

/// Layout tree of a file, with its comments.
#[derive(Debug)]
pub(in crate::config) struct YamlTree {
    /// The top-level node; `None` for an empty file.
    pub(in crate::config) root: Option<YamlNode>,
    /// Byte ranges of all comments, including the `#`, in order.
    pub(in crate::config) comments: Vec<Range<usize>>,
}

impl YamlItem {
    /// Returns the offset after its last character.
    pub(in crate::config) fn end(&self) -> usize {
        let key = self.key.as_ref().map_or(0, |key| key.colon.unwrap_or(key.at.end));
        self.value.range.end.max(key)
    }
}

impl YamlNode {
    /// Returns whether the value is missing.
    pub(in crate::config) fn is_nothing(&self) -> bool {
        self.anchor.is_none() && self.range.is_empty()
    }

    /// Returns the collection; `None` for other content.
    pub(in crate::config) fn collection(&self) -> Option<&YamlCollection> {
        match &self.content {
            YamlContent::Sequence(collection) | YamlContent::Mapping(collection) => Some(collection),
            YamlContent::Alias | YamlContent::Scalar { .. } => None,
        }
    }
}

/// Reads the layout of a file; `None` when it is not valid YAML.
pub(in crate::config) fn parse_yaml_layout(text: &str) -> Option<YamlTree> {
    let options = options! {
        emit_comments: true,
        emit_unresolved_aliases: true,
        emit_anchor_events: true,
    };
    let (mut events, mut comments) = (Vec::new(), Vec::new());
    for event in Parser::<StrInput>::new_from_str_with_options(text, options) {
        let (event, marks) = event.ok()?;
        let range = marks.byte_range().unwrap_or_default();
        match event {
            Event::Comment(..) => comments.push(range),
            Event::StreamStart | Event::StreamEnd | Event::DocumentStart(..) | Event::DocumentEnd => {}
            event => events.push((event, range)),
        }
    }
    let mut at = text.strip_prefix('\u{feff}').map_or(0, |_| '\u{feff}'.len_utf8());
    // Directives and the document start marker precede the tree.
    if let Some((_, first)) = events.first()
        && let Some(mark) = text[at..first.start.max(at)].rfind("---")
        && text[..at + mark].ends_with(['\n', '\u{feff}'])
    {
        at += mark + 3;
    } else if text[at..].starts_with("---") {
        at += 3;
    }
    let mut reader = YamlLayoutReader { text, events: &events, next: 0, at };
    let root = if events.is_empty() { None } else { Some(reader.read_node(false)?) };
    Some(YamlTree { root, comments })
}

struct YamlLayoutReader<'t> {
    text: &'t str,
    events: &'t [(Event<'t>, Range<usize>)],
    next: usize,
    /// Offset up to which the file was consumed.
    at: usize,
}

impl<'t> YamlLayoutReader<'t> {
    fn next_event(&mut self) -> Option<&'t (Event<'t>, Range<usize>)> {
        let events = self.events;
        let event = events.get(self.next)?;
        self.next += 1;
        Some(event)
    }

    fn peek(&self) -> Option<&'t Event<'t>> {
        Some(&self.events.get(self.next)?.0)
    }

    /// Returns the offset of the next character that is neither white space nor in a comment.
    fn next_content_offset(&self) -> usize {
        skip_to_content(self.text, self.at)
    }

    /// Reads a value. The recursion is as deep as the tree, whose depth `read` has limited.
    fn read_node(&mut self, flow: bool) -> Option<YamlNode> {
        let (event, range) = self.next_event()?;
        let anchor = match self.events.get(self.next) {
            Some((Event::Anchor(..), at)) => {
                self.next += 1;
                self.at = at.end;
                Some(at.clone())
            }
            _ => None,
        };
        let content = match event {
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                self.at = range.end;
                (YamlContent::Alias, range.clone())
            }
            Event::Scalar(text, style, ..) => {
                let at = self.read_scalar(*style, range);
                (YamlContent::Scalar { text: Name::new(text), style: *style, at: at.clone() }, at)
            }
            Event::SequenceStart(style, ..) => {
                self.read_collection(*style == StructureStyle::Flow, range, false, flow)?
            }
            Event::MappingStart(style, ..) => {
                self.read_collection(*style == StructureStyle::Flow, range, true, flow)?
            }
            _ => return None,
        };
        let (content, at) = content;
        let range = anchor.as_ref().map_or(at.clone(), |anchor| anchor.start..at.end.max(anchor.end));
        Some(YamlNode { range, anchor, content })
    }

    /// Returns the byte range of a scalar, and continues after it.
    fn read_scalar(&mut self, style: ScalarStyle, range: &Range<usize>) -> Range<usize> {
        let at = match style {
            ScalarStyle::Plain if range.is_empty() => self.at..self.at,
            ScalarStyle::Literal | ScalarStyle::Folded => {
                let start = self.next_content_offset();
                let header = self.text[start..].split('\n').next().unwrap_or_default();
                let written = &self.text[start..range.end.max(start)];
                let keeps = header.split('#').next().is_some_and(|header| header.contains('+'));
                let end = if keeps { written.trim_end_matches([' ', '\t']) } else { written.trim_end() };
                let header_end = header.trim_end().len();
                start..start + end.len().max(header_end)
            }
            _ => range.clone(),
        };
        self.at = at.end;
        at
    }

    fn read_collection(
        &mut self,
        flow: bool,
        range: &Range<usize>,
        mapping: bool,
        in_flow: bool,
    ) -> Option<(YamlContent, Range<usize>)> {
        // `[a: b]` contains a mapping without braces of its own.
        let brackets = flow && self.text[range.start..].starts_with(['{', '[']);
        if brackets {
            self.at = range.end;
        }
        let mut items: Vec<YamlItem> = Vec::new();
        let end = loop {
            match self.peek()? {
                Event::SequenceEnd | Event::MappingEnd => break self.next_event()?.1.end,
                _ => items.push(self.read_item(flow || in_flow, mapping)?),
            }
        };
        let start =
            if brackets { range.start } else { items.first().map_or(range.start, |item| item.start) };
        let end = if brackets { end } else { items.last().map_or(start, YamlItem::end) };
        self.at = end;
        let collection = YamlCollection { flow, items };
        let content =
            if mapping { YamlContent::Mapping(collection) } else { YamlContent::Sequence(collection) };
        Some((content, start..end))
    }

    fn read_item(&mut self, flow: bool, mapping: bool) -> Option<YamlItem> {
        let mut start = self.next_content_offset();
        if flow && self.text[start..].starts_with(',') {
            self.at = start + 1;
            start = self.next_content_offset();
        }
        if !mapping {
            if !flow {
                // Skip the dash of the item.
                self.at = start + 1;
            }
            let value = self.read_node(flow)?;
            return Some(YamlItem { start, key: None, value });
        }
        if self.text[start..].starts_with('?')
            && matches!(self.text.as_bytes().get(start + 1), None | Some(b' ' | b'\n' | b'\r' | b'\t'))
        {
            self.at = start + 1;
        }
        let key = self.read_node(flow)?;
        let YamlContent::Scalar { text, style, at } = key.content else { return None };
        let next = self.next_content_offset();
        let colon = self.text[next..].starts_with(':').then_some(next + 1);
        self.at = colon.unwrap_or(self.at);
        let value = self.read_node(flow)?;
        let key = YamlKey { text, at, colon, plain: style == ScalarStyle::Plain };
        Some(YamlItem { start, key: Some(key), value })
    }
}

/// Returns the next offset, from `at` on, of a character that is neither white space nor in a comment.
fn skip_to_content(text: &str, mut at: usize) -> usize {
    loop {
        let rest = &text[at..];
        at += rest.len() - rest.trim_start().len();
        if !text[at..].starts_with('#') {
            return at;
        }
        at += text[at..].find('\n').unwrap_or(text.len() - at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every item's text, a line each, in the order of the tree.
    fn items(text: &str) -> Vec<String> {
        fn walk(text: &str, node: &YamlNode, out: &mut Vec<String>) {
            for item in node.collection().map(|all| all.items.as_slice()).unwrap_or_default() {
                let key = item.key.as_ref().map_or("-", |key| key.text.as_str());
                out.push(format!(
                    "{key}|{}|{}",
                    &text[item.start..item.end()],
                    &text[item.value.range.clone()]
                ));
                walk(text, &item.value, out);
            }
        }
        let mut out = Vec::new();
        walk(text, parse_yaml_layout(text).unwrap().root.as_ref().unwrap(), &mut out);
        out
    }

    #[test]
    fn every_item_has_a_span() {
        assert_eq!(
            items("# h\na: 1 # x\nb:\n  # in\n  - c\n  -\n  - - d\n"),
            [
                "a|a: 1|1",
                "b|b:\n  # in\n  - c\n  -\n  - - d|- c\n  -\n  - - d",
                "-|- c|c",
                "-|-|",
                "-|- - d|- d",
                "-|- d|d"
            ]
        );
        assert_eq!(
            items("---\na: &n { b: c, \"d\": [1, e: 2], f }\ng: *n\n"),
            [
                "a|a: &n { b: c, \"d\": [1, e: 2], f }|&n { b: c, \"d\": [1, e: 2], f }",
                "b|b: c|c",
                "d|\"d\": [1, e: 2]|[1, e: 2]",
                "-|1|1",
                "-|e: 2|e: 2",
                "e|e: 2|2",
                "f|f|",
                "g|g: *n|*n",
            ]
        );
        assert_eq!(
            items("a: |\n  x\n\n  y\n\n# c\nb: &t >+\n  z\n\nc:\nd: x\n  y\n"),
            [
                "a|a: |\n  x\n\n  y||\n  x\n\n  y",
                "b|b: &t >+\n  z\n\n|&t >+\n  z\n\n",
                "c|c:|",
                "d|d: x\n  y|x\n  y"
            ]
        );
        assert_eq!(
            items("a:\n- x\n- y # c\n? k\n: v\n"),
            ["a|a:\n- x\n- y|- x\n- y", "-|- x|x", "-|- y|y", "k|? k\n: v|v"]
        );
    }

    #[test]
    fn an_empty_text_has_comments_only() {
        let read = parse_yaml_layout("# a\r\n\r\n# b").unwrap();
        assert!(read.root.is_none());
        assert_eq!(read.comments, [0..3, 7..10]);
    }
}
