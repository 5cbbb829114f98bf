//! Edits of KDL: which bytes to replace. In: the file's bytes, its layout tree and an edit; out: patches of
//! that file. Nothing is verified here; `apply` parses the result.

use std::ops::Range;

use super::content::{LIST_KEYWORDS, is_computed};
use super::kdl_target::{KdlEditTarget, KdlTargets};
use super::lines::{CommentedText, TextPatch};
use super::literal::{ConfigLiteral, kdl_node, kdl_tail, kdl_word};
use super::references::{PathRenames, redirect_text};
use super::refusals::{self, EditError};
use super::request::{Edit, EditPath, EditPathStep, EditableFile, is_list_of_texts};
use crate::config::syntax::kdl::layout_tree::{KdlBlock, KdlEntry, KdlNode, KdlTree, KdlValue};
use crate::config::syntax::limits::byte_span;
use crate::config::syntax::quoting;
use crate::model::address::Name;
use crate::model::source::{SourceId, Span};

/// Maximum width in bytes of a line to which a property is appended; in a longer one the entry becomes a child.
const MAX_LINE_WIDTH: usize = 100;

/// Editor of one KDL file.
pub(super) struct KdlEditor<'t> {
    lines: CommentedText<'t>,
    targets: KdlTargets<'t>,
    tree: &'t KdlTree,
    file: &'t EditableFile<'t>,
}

impl<'t> KdlEditor<'t> {
    /// Returns an editor of a file; `tree` is the layout of `text`.
    pub(super) fn new(text: &'t str, tree: &'t KdlTree, file: &'t EditableFile<'t>) -> Self {
        let targets = KdlTargets { text, tree, file };
        Self { lines: CommentedText { text, comments: &tree.comments }, targets, tree, file }
    }

    /// Returns the bytes to replace for an edit.
    pub(super) fn patches(&self, edit: &Edit) -> Result<Vec<TextPatch>, EditError> {
        match edit {
            Edit::Set(path, literal) => self.set_value(path, literal),
            Edit::Append(path, literal) => self.append_item(path, literal),
            Edit::Remove(path) => self.remove(path),
            Edit::Rename(path, to) => self.rename(path, to),
            Edit::Redirect(renames) => {
                let mut patches = Vec::new();
                let renames = PathRenames::new(renames);
                self.redirect_references(&self.tree.nodes, &renames, &mut Vec::new(), &mut patches)?;
                Ok(patches)
            }
        }
    }

    fn span(range: &Range<usize>) -> Span {
        byte_span(SourceId(0), range.start, range.end)
    }

    fn set_value(&self, path: &EditPath, literal: &ConfigLiteral) -> Result<Vec<TextPatch>, EditError> {
        let (site, used) = self.targets.locate(path);
        let Some(keys) = path.keys_from(used) else {
            return Err(refusals::missing_path(&path.to_string()));
        };
        match (site, keys.split_first()) {
            (Some(site), None) => self.replace_value(site, path, literal),
            (Some(KdlEditTarget::Node { node, labelled, .. }), Some((key, inner))) => {
                if node.arguments().nth(usize::from(labelled)).is_some() {
                    return Err(refusals::no_map(Self::span(&(node.start()..node.end))));
                }
                self.add_entry(node, path, key, &literal.clone().nest_under(inner))
            }
            (Some(KdlEditTarget::Property(_, entry) | KdlEditTarget::Argument(_, entry)), Some(_)) => {
                Err(refusals::no_map(Self::span(&entry.at)))
            }
            (None, _) => Ok(vec![self.add_at_top(path, literal)]),
        }
    }

    /// Refuses to edit a computed value.
    fn check_plain(value: &KdlValue, at: &Range<usize>) -> Result<(), EditError> {
        match value {
            KdlValue::Text(text) if is_computed(text) => {
                Err(refusals::computed_value(text, Self::span(at)))
            }
            _ => Ok(()),
        }
    }

    fn check_node(node: &KdlNode, skip: usize) -> Result<(), EditError> {
        let values = node.entries.iter().skip(skip);
        values.into_iter().try_for_each(|entry| Self::check_plain(&entry.value, &entry.at))?;
        node.children().iter().try_for_each(|child| Self::check_node(child, 0))
    }

    fn replace_value(
        &self,
        site: KdlEditTarget<'t>,
        path: &EditPath,
        literal: &ConfigLiteral,
    ) -> Result<Vec<TextPatch>, EditError> {
        match site {
            KdlEditTarget::Property(node, entry) => {
                Self::check_plain(&entry.value, &entry.at)?;
                if literal.is_scalar() {
                    return Ok(vec![TextPatch::new(
                        entry.at.clone(),
                        self.requote_scalar(&entry.at, literal),
                    )]);
                }
                let mut patches = vec![self.remove_argument(node, entry)];
                let Some(EditPathStep::Key(key)) = path.0.last() else { return Ok(patches) };
                patches.push(self.add_child(node, path, key, literal));
                Ok(patches)
            }
            // One of several arguments cannot become a block.
            KdlEditTarget::Argument(_, entry) if !literal.is_scalar() => {
                Err(refusals::no_map(Self::span(&entry.at)))
            }
            KdlEditTarget::Argument(_, entry) => {
                Self::check_plain(&entry.value, &entry.at)?;
                Ok(vec![TextPatch::new(entry.at.clone(), self.requote_scalar(&entry.at, literal))])
            }
            KdlEditTarget::Node { node, labelled, .. } => {
                Self::check_node(node, usize::from(labelled))?;
                if let (Some(only), true) = (node.entries.first(), literal.is_scalar())
                    && !labelled
                    && node.entries.len() == 1
                    && node.block.is_none()
                    && only.key.is_none()
                {
                    return Ok(vec![TextPatch::new(
                        only.at.clone(),
                        self.requote_scalar(&only.at, literal),
                    )]);
                }
                let from = if labelled {
                    node.entries.first().map_or(node.name_at.end, |label| label.at.end)
                } else {
                    node.name_at.end
                };
                let indent = self.lines.indent_at(node.start());
                let head = &self.lines.text[node.start()..from];
                let tail = kdl_tail(head, literal, self.file.is_list(path), &indent, self.lines.layout());
                Ok(vec![TextPatch::new(from..node.end.max(from), tail)])
            }
        }
    }

    /// Returns a scalar as KDL, a string in quotes where the old one had them.
    fn requote_scalar(&self, old: &Range<usize>, literal: &ConfigLiteral) -> String {
        match literal {
            ConfigLiteral::Text(text) if self.lines.text[old.clone()].starts_with('"') => {
                quoting::kdl_quoted(text)
            }
            literal => kdl_word(literal),
        }
    }

    /// Adds an entry to a node: a property where the line has room, or a child.
    fn add_entry(
        &self,
        node: &'t KdlNode,
        path: &EditPath,
        key: &Name,
        literal: &ConfigLiteral,
    ) -> Result<Vec<TextPatch>, EditError> {
        if node.children().iter().any(|child| child.name == "-") {
            return Err(refusals::no_map(Self::span(&(node.start()..node.end))));
        }
        if literal.is_scalar() && node.block.is_none() {
            let property = format!(" {}={}", quoting::quote_kdl(key), kdl_word(literal));
            let line = node.end - self.lines.line_start(node.start());
            if line + property.len() <= MAX_LINE_WIDTH {
                let behind = node.entries.last().map_or(node.name_at.end, |entry| entry.at.end);
                return Ok(vec![TextPatch::new_insertion(behind, property)]);
            }
        }
        Ok(vec![self.add_child(node, path, key, literal)])
    }

    fn add_child(
        &self,
        node: &'t KdlNode,
        path: &EditPath,
        key: &Name,
        literal: &ConfigLiteral,
    ) -> TextPatch {
        let layout = self.lines.layout();
        let outer = self.lines.indent_at(node.start());
        let inner = format!("{outer}{}", layout.step);
        let listed = self.file.is_list(path);
        let Some(block) = &node.block else {
            let child = kdl_node(key, literal, listed, &inner, layout);
            let end = layout.end;
            return TextPatch::new_insertion(node.end, format!(" {{{end}{inner}{child}{end}{outer}}}"));
        };
        self.in_block(block, &outer, |indent| kdl_node(key, literal, listed, indent, layout))
    }

    /// Adds a node to a block.
    fn in_block(&self, block: &KdlBlock, outer: &str, child: impl Fn(&str) -> String) -> TextPatch {
        let layout = self.lines.layout();
        let inner = format!("{outer}{}", layout.step);
        let text = &self.lines.text[block.at.clone()];
        let close = block.at.end - 1;
        match block.nodes.last() {
            None if text.trim_matches(['{', '}']).trim().is_empty() => {
                let end = layout.end;
                TextPatch::new(block.at.clone(), format!("{{{end}{inner}{}{end}{outer}}}", child(&inner)))
            }
            Some(last) if !self.lines.is_first(last.start()) => match last.semicolon {
                Some(semicolon) => TextPatch::new_insertion(semicolon, format!(" {}", child(outer))),
                None => TextPatch::new_insertion(last.end, format!("; {}", child(outer))),
            },
            last => {
                let indent = block.nodes.first().filter(|first| self.lines.is_first(first.start()));
                let indent = indent.map_or(inner, |first| self.lines.indent_at(first.start()));
                let line = format!("{indent}{}", child(&indent));
                let behind = last.map_or(block.at.start + 1, |last| last.semicolon.unwrap_or(last.end));
                let at = self.lines.insertion_point(behind, &outer_of(&indent));
                if at >= close || !self.lines.is_first(close) {
                    let end = layout.end;
                    return TextPatch::new_insertion(close, format!("{end}{line}{end}{outer}"));
                }
                self.lines.insert_line(at, &line)
            }
        }
    }

    /// Adds a whole block to the end of the file.
    fn add_at_top(&self, path: &EditPath, literal: &ConfigLiteral) -> TextPatch {
        let layout = self.lines.layout();
        let keys = path.keys_from(0).unwrap_or_default();
        let node = match keys.as_slice() {
            [kind, name, inner @ ..] if self.file.is_kind(kind) => {
                let head = format!("{} {}", quoting::quote_kdl(kind), quoting::quote_kdl(name));
                let body = literal.clone().nest_under(inner);
                let tail = match &body {
                    ConfigLiteral::Map(none) if none.is_empty() => String::new(),
                    body => kdl_tail(&head, body, false, "", layout),
                };
                format!("{head}{tail}")
            }
            [word, inner @ ..] => {
                kdl_node(word, &literal.clone().nest_under(inner), self.file.is_list(path), "", layout)
            }
            [] => String::new(),
        };
        self.at_end(&node)
    }

    fn at_end(&self, node: &str) -> TextPatch {
        let text = self.lines.text;
        let patch = self.lines.insert_line(text.len(), node);
        if text.is_empty() || text.ends_with('\n') {
            patch
        } else {
            TextPatch { text: format!("{}{}", patch.text, self.lines.layout().end), ..patch }
        }
    }

    fn append_item(&self, path: &EditPath, literal: &ConfigLiteral) -> Result<Vec<TextPatch>, EditError> {
        let layout = self.lines.layout();
        if let [EditPathStep::Key(word)] = path.0.as_slice()
            && LIST_KEYWORDS.contains(&word.as_str())
        {
            let last = self.tree.nodes.iter().rfind(|node| node.name == *word);
            let node = kdl_node(word, literal, false, "", layout);
            return Ok(vec![match last {
                Some(last) if self.lines.is_first(last.start()) => {
                    let at = self.lines.insertion_point(last.semicolon.unwrap_or(last.end), "");
                    self.lines.insert_line(at, &node)
                }
                _ => self.at_end(&node),
            }]);
        }
        let whole = ConfigLiteral::List(vec![literal.clone()]);
        match self.targets.locate(path) {
            (Some(KdlEditTarget::Node { node, labelled: false, .. }), used) if used == path.0.len() => {
                let items = node.children().iter().any(|child| child.name == "-");
                if let (Some(block), true) = (&node.block, items) {
                    let outer = self.lines.indent_at(node.start());
                    let child = |indent: &str| kdl_node("-", literal, false, indent, layout);
                    return Ok(vec![self.in_block(block, &outer, child)]);
                }
                match node.entries.last() {
                    Some(last) if last.key.is_none() && literal.is_scalar() => {
                        Ok(vec![TextPatch::new_insertion(last.at.end, format!(" {}", kdl_word(literal)))])
                    }
                    None if node.children().is_empty() => self.set_value(path, &whole),
                    _ => Err(refusals::no_map(Self::span(&(node.start()..node.end)))),
                }
            }
            (Some(KdlEditTarget::Property(_, entry)), used) if used == path.0.len() => {
                Err(refusals::no_map(Self::span(&entry.at)))
            }
            _ => self.set_value(path, &whole),
        }
    }

    fn remove(&self, path: &EditPath) -> Result<Vec<TextPatch>, EditError> {
        if let [EditPathStep::Key(word)] = path.0.as_slice() {
            let nodes = self.tree.nodes.iter().filter(|node| node.name == *word);
            let patches: Vec<_> =
                nodes.map(|node| self.without_node(node, &self.tree.nodes, None)).collect();
            return if patches.is_empty() { Err(refusals::missing_path(word)) } else { Ok(patches) };
        }
        Ok(vec![match self.targets.find_target(path)? {
            KdlEditTarget::Argument(node, entry)
                if node.entries.len() == 2
                    && !self.file.is_list(&path.parent())
                    && !Self::stays_a_list(node, entry, path) =>
            {
                // A single argument would no longer be a list, so it is written as an item with a dash.
                let kept = node.entries.iter().find(|other| !std::ptr::eq(*other, entry));
                let text = kept.map_or("", |kept| &self.lines.text[kept.at.clone()]);
                TextPatch::new(node.name_at.end..node.end, format!(" {{ - {text} }}"))
            }
            KdlEditTarget::Property(node, entry) | KdlEditTarget::Argument(node, entry) => {
                self.remove_argument(node, entry)
            }
            KdlEditTarget::Node { node, siblings, block, .. } => self.without_node(node, siblings, block),
        }])
    }

    /// Returns whether the single argument that remains is still a list.
    fn stays_a_list(node: &KdlNode, gone: &KdlEntry, path: &EditPath) -> bool {
        let kept = node.entries.iter().find(|other| !std::ptr::eq(*other, gone));
        let keys = path.parent().keys_from(0).unwrap_or_default();
        matches!(kept.map(|kept| &kept.value), Some(KdlValue::Text(text)) if is_list_of_texts(&keys, text))
    }

    /// Removes an argument or a property with the space before it.
    fn remove_argument(&self, node: &KdlNode, entry: &KdlEntry) -> TextPatch {
        let position = node.entries.iter().position(|other| std::ptr::eq(other, entry)).unwrap_or_default();
        let before = position.checked_sub(1).map_or(node.name_at.end, |before| node.entries[before].at.end);
        let gap = &self.lines.text[before..entry.start()];
        let from = if gap.trim().is_empty() { before } else { before + gap.trim_end().len() };
        TextPatch::new(from..entry.at.end, "")
    }

    fn without_node(&self, node: &KdlNode, siblings: &[KdlNode], block: Option<&KdlBlock>) -> TextPatch {
        let end = node.semicolon.unwrap_or(node.end);
        if let (Some(block), [_]) = (block, siblings) {
            // If the block contains comments, it stays, so that they are not lost.
            let inside = |at: usize| block.at.contains(&at);
            let others = |whole: &Range<usize>| {
                let mut comments = self.lines.comments.iter().map(|comment| comment.start);
                comments.any(|start| inside(start) && !whole.contains(&start))
            };
            let whole = self.lines.whole_lines(node.start()..end, false).filter(others);
            let whole = whole.filter(|whole| inside(whole.start) && inside(whole.end));
            return whole
                .map_or_else(|| TextPatch::new(block.at.clone(), "{}"), |whole| TextPatch::new(whole, ""));
        }
        let position = siblings.iter().position(|other| std::ptr::eq(other, node)).unwrap_or_default();
        let at_top = block.is_none() && position == 0;
        if let Some(whole) = self.lines.whole_lines(node.start()..end, at_top) {
            return TextPatch::new(whole, "");
        }
        let before = position.checked_sub(1).map(|before| &siblings[before]);
        let same_line = |from: usize, to: usize| !self.lines.text[from..to].contains('\n');
        match (siblings.get(position + 1), before) {
            (Some(next), _) if same_line(end, next.start()) => {
                TextPatch::new(node.start()..next.start(), "")
            }
            (_, Some(before)) if same_line(before.end, node.start()) => TextPatch::new(before.end..end, ""),
            _ => TextPatch::new(node.start()..end, ""),
        }
    }

    fn rename(&self, path: &EditPath, to: &Name) -> Result<Vec<TextPatch>, EditError> {
        let sibling = EditPath(
            [&path.0[..path.0.len().saturating_sub(1)], &[EditPathStep::Key(to.clone())]].concat(),
        );
        if let Ok(KdlEditTarget::Node { node, .. }) = self.targets.find_target(&sibling) {
            return Err(refusals::name_taken(to, Self::span(&node.name_at)));
        }
        if let Ok(KdlEditTarget::Property(_, entry)) = self.targets.find_target(&sibling) {
            return Err(refusals::name_taken(to, Self::span(&entry.at)));
        }
        let at = match self.targets.find_target(path)? {
            KdlEditTarget::Property(_, KdlEntry { key: Some((_, at)), .. }) => at,
            KdlEditTarget::Node { node, labelled: true, .. } => {
                self.targets.block_label(node).map_or(&node.name_at, |(_, at)| at)
            }
            KdlEditTarget::Node { node, .. } => &node.name_at,
            KdlEditTarget::Property(..) | KdlEditTarget::Argument(..) => {
                return Err(refusals::missing_path(&path.to_string()));
            }
        };
        let quoted = self.lines.text[at.clone()].starts_with('"');
        Ok(vec![TextPatch::new(
            at.clone(),
            if quoted { quoting::kdl_quoted(to) } else { quoting::quote_kdl(to) },
        )])
    }

    /// Renames the references in every value. The recursion is as deep as the tree, whose depth the parser limits.
    fn redirect_references(
        &self,
        nodes: &'t [KdlNode],
        renames: &PathRenames<'_>,
        keys: &mut Vec<&'t str>,
        patches: &mut Vec<TextPatch>,
    ) -> Result<(), EditError> {
        for node in nodes {
            self.redirect_setting_key(keys, &node.name, &node.name_at, renames, patches);
            keys.push(node.name.as_str());
            for entry in &node.entries {
                if let Some((key, at)) = &entry.key {
                    self.redirect_setting_key(keys, key, at, renames, patches);
                }
                let KdlValue::Text(text) = &entry.value else { continue };
                let plain = keys.contains(&"depends_on")
                    || entry.key.as_ref().is_some_and(|(key, _)| key == "depends_on");
                let new = redirect_text(text, renames, plain)
                    .map_err(|_| refusals::unclear_index(Self::span(&entry.at)))?;
                if let Some(new) = new {
                    patches.push(TextPatch::new(
                        entry.at.clone(),
                        self.rewrite_text(&entry.at, text, &new, renames),
                    ));
                }
            }
            self.redirect_references(node.children(), renames, keys, patches)?;
            keys.pop();
        }
        Ok(())
    }

    /// Renames a key under `set` of an environment, which is a path: `environments { prod { set {
    /// "database.main.storage_gb" 80 } } }`.
    fn redirect_setting_key(
        &self,
        keys: &[&str],
        key: &str,
        at: &Range<usize>,
        renames: &PathRenames<'_>,
        patches: &mut Vec<TextPatch>,
    ) {
        let in_set = matches!(keys, ["environments", _, "set"]);
        if let Some(new) = in_set.then(|| renames.rename_path(key)).flatten() {
            let quoted = self.lines.text[at.clone()].starts_with('"');
            patches.push(TextPatch::new(
                at.clone(),
                if quoted { quoting::kdl_quoted(&new) } else { quoting::quote_kdl(&new) },
            ));
        }
    }

    /// Returns `new`, the renamed form of the string `old` at `at`, as KDL text. It keeps the quoting style of the
    /// source if that can express the new string; otherwise it is quoted.
    fn rewrite_text(&self, at: &Range<usize>, old: &str, new: &str, renames: &PathRenames<'_>) -> String {
        let raw = &self.lines.text[at.clone()];
        if raw == old {
            quoting::quote_kdl(new)
        } else if raw.len() == old.len() + 2 && !new.contains(['"', '\\']) {
            format!("\"{new}\"")
        } else {
            redirect_text(raw, renames, false).ok().flatten().unwrap_or_else(|| quoting::kdl_quoted(new))
        }
    }
}

/// Returns an indentation that is shorter than `indent`, so that lines as deep as `indent` count as inside;
/// empty for the top level.
fn outer_of(indent: &str) -> String {
    indent.get(..indent.len().saturating_sub(1)).unwrap_or_default().to_owned()
}
