//! Edits of YAML: which bytes to replace. In: the file's bytes, its layout tree, its parsed content and an
//! edit; out: patches of that file. Nothing is verified here; `apply` parses the result.

use std::ops::Range;

use granit_parser::ScalarStyle;

use super::content::{ComparableContent, is_computed};
use super::lines::{CommentedText, TextPatch};
use super::literal::{ConfigLiteral, has_parts, quote_in_style, yaml_entry, yaml_inline, yaml_lines};
use super::references::{PathRenames, redirect_text};
use super::refusals::{self, EditError};
use super::request::{Edit, EditPath, EditPathStep};
use crate::config::syntax::limits::byte_span;
use crate::config::syntax::quoting;
use crate::config::syntax::yaml::layout_tree::{YamlCollection, YamlContent, YamlItem, YamlNode, YamlTree};
use crate::model::address::Name;
use crate::model::source::{SourceId, Span};

/// Editor of one YAML file.
pub(super) struct YamlEditor<'t> {
    lines: CommentedText<'t>,
    tree: &'t YamlTree,
    id: SourceId,
}

/// One step of a path: the collection, and the item in it.
#[derive(Clone, Copy)]
struct YamlItemPosition<'t> {
    holder: &'t YamlNode,
    collection: &'t YamlCollection,
    index: usize,
    /// Whether the collection is in brackets, or inside another one that is.
    flow: bool,
}

impl<'t> YamlItemPosition<'t> {
    fn item(self) -> &'t YamlItem {
        &self.collection.items[self.index]
    }
}

impl<'t> YamlEditor<'t> {
    /// Returns an editor of a file; `tree` is the layout of `text`.
    pub(super) fn new(text: &'t str, tree: &'t YamlTree, id: SourceId) -> Self {
        Self { lines: CommentedText { text, comments: &tree.comments }, tree, id }
    }

    /// Returns the bytes to replace for an edit.
    pub(super) fn patches(
        &self,
        edit: &Edit,
        says: &mut ComparableContent,
    ) -> Result<Vec<TextPatch>, EditError> {
        match edit {
            Edit::Set(path, literal) => self.set_value(path, literal, says),
            Edit::Append(path, literal) => self.append_item(path, literal, says),
            Edit::Remove(path) => self.remove(path, says),
            Edit::Rename(path, to) => self.rename(path, to, says),
            Edit::Redirect(renames) => {
                let mut patches = Vec::new();
                if let Some(root) = &self.tree.root {
                    self.redirect_references(
                        root,
                        &PathRenames::new(renames),
                        &mut Vec::new(),
                        &mut patches,
                    )?;
                }
                Ok(patches)
            }
        }
    }

    fn span(&self, range: &Range<usize>) -> Span {
        byte_span(self.id, range.start, range.end)
    }

    /// Returns the existing steps of a path, outermost first; fewer than the path has if it does not exist whole.
    ///
    /// # Errors
    /// When the path leads through an alias or a merge key: the value is written elsewhere.
    fn locate(
        &self,
        path: &EditPath,
        says: &mut ComparableContent,
    ) -> Result<Vec<YamlItemPosition<'t>>, EditError> {
        let mut chain: Vec<YamlItemPosition<'t>> = Vec::new();
        let Some(mut node) = self.tree.root.as_ref() else { return Ok(chain) };
        let mut flow = false;
        for (n, step) in path.0.iter().enumerate() {
            let collection = match &node.content {
                YamlContent::Alias => return Err(refusals::shared_value(self.span(&node.range), None)),
                YamlContent::Scalar { .. } => return Ok(chain),
                YamlContent::Sequence(collection) | YamlContent::Mapping(collection) => collection,
            };
            flow |= collection.flow;
            let index = match step {
                EditPathStep::Key(key) => collection.position(key),
                EditPathStep::Item(item) => (*item < collection.items.len()).then_some(*item),
            };
            let Some(index) = index else {
                let merged = collection.position("<<").filter(|_| says.get(&path.0[..=n]).is_some());
                return match merged {
                    Some(merge) => {
                        let item = &collection.items[merge];
                        Err(refusals::shared_value(self.span(&(item.start..item.end())), None))
                    }
                    None => Ok(chain),
                };
            };
            chain.push(YamlItemPosition { holder: node, collection, index, flow });
            node = &collection.items[index].value;
        }
        Ok(chain)
    }

    /// Returns the last step of a path; refuses the edit if the path does not exist.
    fn find_place(
        &self,
        path: &EditPath,
        says: &mut ComparableContent,
    ) -> Result<YamlItemPosition<'t>, EditError> {
        let chain = self.locate(path, says)?;
        match chain.last() {
            Some(place) if chain.len() == path.0.len() => Ok(*place),
            _ => Err(refusals::missing_path(&path.to_string())),
        }
    }

    fn set_value(
        &self,
        path: &EditPath,
        literal: &ConfigLiteral,
        says: &mut ComparableContent,
    ) -> Result<Vec<TextPatch>, EditError> {
        let chain = self.locate(path, says)?;
        if let Some(place) = chain.last().filter(|_| chain.len() == path.0.len()) {
            self.check_plain(&place.item().value)?;
            return Ok(vec![self.replace_value(place.item(), literal, place.flow)]);
        }
        let Some(keys) = path.keys_from(chain.len()) else {
            return Err(refusals::missing_path(&path.to_string()));
        };
        let Some((key, inner)) = keys.split_first() else {
            return Err(refusals::missing_path(&path.to_string()));
        };
        let literal = literal.clone().nest_under(inner);
        self.add_entry(chain.last().copied(), Some(key), &literal).map(|patch| vec![patch])
    }

    fn append_item(
        &self,
        path: &EditPath,
        literal: &ConfigLiteral,
        says: &mut ComparableContent,
    ) -> Result<Vec<TextPatch>, EditError> {
        let chain = self.locate(path, says)?;
        let whole = ConfigLiteral::List(vec![literal.clone()]);
        match chain.last().filter(|_| chain.len() == path.0.len()) {
            None => self.set_value(path, &whole, says),
            Some(place) => match &place.item().value.content {
                YamlContent::Sequence(list) if !list.items.is_empty() => {
                    self.add_entry(Some(*place), None, literal).map(|patch| vec![patch])
                }
                YamlContent::Alias => {
                    Err(refusals::shared_value(self.span(&place.item().value.range), None))
                }
                _ => self.set_value(path, &whole, says),
            },
        }
    }

    /// Refuses to edit a value that is computed, or written elsewhere and reached through an alias.
    fn check_plain(&self, node: &YamlNode) -> Result<(), EditError> {
        match &node.content {
            YamlContent::Alias => Err(refusals::shared_value(self.span(&node.range), None)),
            YamlContent::Scalar { text, .. } if is_computed(text) => {
                Err(refusals::computed_value(text, self.span(&node.range)))
            }
            YamlContent::Scalar { .. } => Ok(()),
            YamlContent::Sequence(all) | YamlContent::Mapping(all) => {
                all.items.iter().try_for_each(|item| self.check_plain(&item.value))
            }
        }
    }

    /// Returns the patch that replaces the value of an item.
    fn replace_value(&self, item: &YamlItem, literal: &ConfigLiteral, flow: bool) -> TextPatch {
        let node = &item.value;
        if node.is_nothing() {
            let at = item.key.as_ref().map_or(item.start + 1, |key| key.colon.unwrap_or(key.at.end));
            let colon = if item.key.as_ref().is_some_and(|key| key.colon.is_none()) { ":" } else { "" };
            return TextPatch::new_insertion(at, format!("{colon} {}", yaml_inline(literal, flow)));
        }
        let start = node.anchor.as_ref().map_or(node.range.start, |anchor| {
            anchor.end + self.lines.text[anchor.end..node.range.end].len()
                - self.lines.text[anchor.end..node.range.end].trim_start().len()
        });
        let range = start..node.range.end;
        match (&node.content, literal) {
            (YamlContent::Scalar { style, .. }, ConfigLiteral::Text(text)) => {
                TextPatch::new(range, quote_in_style(text, *style, flow))
            }
            (
                YamlContent::Sequence(old) | YamlContent::Mapping(old),
                ConfigLiteral::Map(_) | ConfigLiteral::List(_),
            ) if !old.flow && has_parts(literal) && node.anchor.is_none() => {
                let indent = self.lines.indent_at(start);
                TextPatch::new(range, yaml_lines(literal, &indent, self.lines.layout()))
            }
            (YamlContent::Sequence(old) | YamlContent::Mapping(old), literal) if !old.flow => {
                // A block value begins below its key; a value on one line follows the key.
                let from = item.key.as_ref().and_then(|key| key.colon).filter(|_| node.anchor.is_none());
                let text = yaml_inline(literal, flow);
                match from {
                    Some(colon) => TextPatch::new(colon..range.end, format!(" {text}")),
                    None => TextPatch::new(range, text),
                }
            }
            (_, literal) => TextPatch::new(range, yaml_inline(literal, flow)),
        }
    }

    /// Adds an entry, or an item without a key, to a collection or to the top level.
    fn add_entry(
        &self,
        place: Option<YamlItemPosition<'t>>,
        key: Option<&Name>,
        literal: &ConfigLiteral,
    ) -> Result<TextPatch, EditError> {
        let parent = place.map(YamlItemPosition::item);
        let Some(node) = parent.map(|item| &item.value).or(self.tree.root.as_ref()) else {
            return Ok(self.add_first_entry(key, literal));
        };
        let flow = place.is_some_and(|place| place.flow);
        let inline = |flow| match key {
            Some(key) => format!("{}: {}", quoting::quote_yaml(key, flow), yaml_inline(literal, flow)),
            None => yaml_inline(literal, flow),
        };
        match &node.content {
            YamlContent::Alias => Err(refusals::shared_value(self.span(&node.range), None)),
            YamlContent::Scalar { text, style, .. } => {
                let nothing = *style == ScalarStyle::Plain
                    && matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL");
                match (nothing || node.is_nothing(), parent) {
                    (true, Some(item)) => Ok(self.below_nothing(item, node, key, literal, flow)),
                    _ => Err(refusals::no_map(self.span(&node.range))),
                }
            }
            YamlContent::Sequence(_) if key.is_some() => Err(refusals::no_map(self.span(&node.range))),
            YamlContent::Sequence(all) | YamlContent::Mapping(all) => {
                let Some(last) = all.items.last() else {
                    let text = inline(true);
                    let text = if key.is_some() { format!("{{ {text} }}") } else { format!("[{text}]") };
                    let from = node.anchor.as_ref().map_or(node.range.start, |anchor| anchor.end);
                    let space = if node.anchor.is_some() { " " } else { "" };
                    return Ok(TextPatch::new(from..node.range.end, format!("{space}{text}")));
                };
                Ok(if all.flow || flow {
                    self.behind_in_brackets(last, &inline(true))
                } else {
                    self.append_block_line(all, key, literal)
                })
            }
        }
    }

    /// Adds the first entry of a file.
    fn add_first_entry(&self, key: Option<&Name>, literal: &ConfigLiteral) -> TextPatch {
        let text = self.lines.text;
        let line = key.map_or_else(String::new, |key| yaml_entry(key, literal, "", self.lines.layout()));
        let patch = self.lines.insert_line(text.len(), &line);
        if text.is_empty() || text.ends_with('\n') {
            patch
        } else {
            TextPatch { text: format!("{}{}", patch.text, self.lines.layout().end), ..patch }
        }
    }

    /// Adds an entry below a key without a value.
    fn below_nothing(
        &self,
        item: &YamlItem,
        node: &YamlNode,
        key: Option<&Name>,
        literal: &ConfigLiteral,
        flow: bool,
    ) -> TextPatch {
        let list = || ConfigLiteral::List(vec![literal.clone()]);
        let whole = key.map_or_else(list, |key| ConfigLiteral::Map(vec![(key.clone(), literal.clone())]));
        let colon = item.key.as_ref().and_then(|key| key.colon);
        let (Some(colon), false) = (colon, flow) else { return self.replace_value(item, &whole, flow) };
        let layout = self.lines.layout();
        let indent = format!("{}{}", self.lines.indent_at(item.start), layout.step);
        let lines = format!("{}{indent}{}", layout.end, yaml_lines(&whole, &indent, layout));
        if node.is_nothing() {
            return TextPatch::new_insertion(
                self.lines.line_end(self.lines.trailing_comment_end(colon)),
                lines,
            );
        }
        TextPatch::new(colon..node.range.end, lines)
    }

    fn behind_in_brackets(&self, last: &YamlItem, inline: &str) -> TextPatch {
        let text = self.lines.text;
        let end = last.end();
        let gap = text[end..].len() - text[end..].trim_start().len();
        let comma = text[end + gap..].starts_with(',').then_some(end + gap + 1);
        let own_line = self.lines.is_first(last.start);
        let between = if own_line {
            format!("{}{}", self.lines.layout().end, self.lines.indent_at(last.start))
        } else {
            " ".to_owned()
        };
        match comma {
            Some(comma) => TextPatch::new_insertion(
                if own_line { self.lines.trailing_comment_end(comma) } else { comma },
                format!("{between}{inline}"),
            ),
            None => TextPatch::new_insertion(end, format!(",{between}{inline}")),
        }
    }

    /// Appends an entry to a block collection: to a mapping under `key`; to a sequence if `key` is `None`.
    fn append_block_line(
        &self,
        all: &YamlCollection,
        key: Option<&Name>,
        literal: &ConfigLiteral,
    ) -> TextPatch {
        let (first, last) = (all.items.first(), all.items.last());
        let indent = first.map(|item| self.lines.indent_at(item.start)).unwrap_or_default();
        let layout = self.lines.layout();
        let line = match key {
            Some(key) => yaml_entry(key, literal, &indent, layout),
            None => format!("- {}", yaml_lines(literal, &format!("{indent}  "), layout)),
        };
        let at = self.lines.insertion_point(last.map_or(0, YamlItem::end), &indent);
        self.lines.insert_line(at, &format!("{indent}{line}"))
    }

    fn remove(&self, path: &EditPath, says: &mut ComparableContent) -> Result<Vec<TextPatch>, EditError> {
        let place = self.find_place(path, says)?;
        let items = &place.collection.items;
        if items.len() == 1 {
            let parents = self.locate(&path.first_steps(path.0.len() - 1), says)?;
            return Ok(vec![self.remove_only(place, parents.last().map(|parent| parent.item()))]);
        }
        Ok(vec![if place.flow { self.remove_in_brackets(place) } else { self.remove_lines(place) }])
    }

    /// Removes the only item of a collection, which stays as an empty one.
    fn remove_only(&self, place: YamlItemPosition<'t>, parent: Option<&YamlItem>) -> TextPatch {
        let item = place.item();
        let empty = if item.key.is_some() { "{}" } else { "[]" };
        let Some(parent) = parent else {
            let part = item.start..item.end();
            let whole = self.lines.whole_lines(part.clone(), true).unwrap_or(part);
            return TextPatch::new(whole, if place.collection.flow { empty } else { "" });
        };
        let holder = place.holder;
        if place.collection.flow {
            let from = holder.anchor.as_ref().map_or(holder.range.start, |anchor| anchor.end);
            let space = if holder.anchor.is_some() { " " } else { "" };
            return TextPatch::new(from..holder.range.end, format!("{space}{empty}"));
        }
        let end = self.lines.trailing_comment_end(holder.range.end.max(item.end()));
        match parent.key.as_ref().and_then(|key| key.colon).filter(|_| holder.anchor.is_none()) {
            Some(colon) => {
                // A comment on the key's line belongs to the key, not to the removed value.
                let own = self.lines.comments.iter().find(|comment| comment.start >= colon);
                let own = own.filter(|comment| comment.end <= self.lines.line_end(colon));
                let said = own.map_or("", |comment| &self.lines.text[colon..comment.end]);
                TextPatch::new(colon..end, format!(" {empty}{said}"))
            }
            None => TextPatch::new(holder.range.start..end, empty),
        }
    }

    fn remove_in_brackets(&self, place: YamlItemPosition<'t>) -> TextPatch {
        let items = &place.collection.items;
        let (item, text) = (place.item(), self.lines.text);
        let end = item.end();
        let gap = text[end..].len() - text[end..].trim_start().len();
        let comma = if text[end + gap..].starts_with(',') { end + gap + 1 } else { end };
        if let Some(whole) = self.lines.whole_lines(item.start..comma, false) {
            return TextPatch::new(whole, "");
        }
        match (place.index.checked_sub(1).map(|before| &items[before]), items.get(place.index + 1)) {
            (_, Some(next)) => TextPatch::new(item.start..next.start, ""),
            (Some(before), None) => TextPatch::new(before.end()..end, ""),
            (None, None) => TextPatch::new(item.start..end, ""),
        }
    }

    fn remove_lines(&self, place: YamlItemPosition<'t>) -> TextPatch {
        let item = place.item();
        let at_top = place.index == 0
            && self.tree.root.as_ref().is_some_and(|root| std::ptr::eq(root, place.holder));
        if let Some(whole) = self.lines.whole_lines(item.start..item.end(), at_top) {
            return TextPatch::new(whole, "");
        }
        // The first entry shares its line with the dash before it, so whole lines cannot be removed.
        let next = place.collection.items.get(place.index + 1).map_or(item.end(), |next| next.start);
        let behind = self.lines.trailing_comment_end(item.end());
        let own = self.lines.comments.iter().map(|comment| comment.start);
        let comment = own.skip_while(|start| *start < behind).find(|start| *start < next);
        TextPatch::new(item.start..comment.unwrap_or(next), "")
    }

    fn rename(
        &self,
        path: &EditPath,
        to: &Name,
        says: &mut ComparableContent,
    ) -> Result<Vec<TextPatch>, EditError> {
        let place = self.find_place(path, says)?;
        let Some(key) = &place.item().key else { return Err(refusals::missing_path(&path.to_string())) };
        let known = |item: &&YamlItem| item.key.as_ref().is_some_and(|key| key.text == *to);
        if let Some(other) = place.collection.items.iter().find(known).and_then(|item| item.key.as_ref()) {
            return Err(refusals::name_taken(to, self.span(&other.at)));
        }
        let text = if key.plain { quoting::quote_yaml(to, place.flow) } else { quoting::yaml_quoted(to) };
        Ok(vec![TextPatch::new(key.at.clone(), text)])
    }

    /// Renames the references in every scalar. The recursion is as deep as the tree, whose depth the parser limits.
    fn redirect_references(
        &self,
        node: &'t YamlNode,
        renames: &PathRenames<'_>,
        keys: &mut Vec<&'t str>,
        patches: &mut Vec<TextPatch>,
    ) -> Result<(), EditError> {
        match &node.content {
            YamlContent::Alias => {}
            YamlContent::Scalar { text, style, at } => {
                let plain = keys.contains(&"depends_on");
                let new = redirect_text(text, renames, plain)
                    .map_err(|_| refusals::unclear_index(self.span(at)))?;
                if let Some(new) = new {
                    patches
                        .push(TextPatch::new(at.clone(), self.rewrite_scalar(at, &new, *style, renames)));
                }
            }
            YamlContent::Sequence(all) | YamlContent::Mapping(all) => {
                for item in &all.items {
                    let Some(key) = &item.key else {
                        self.redirect_references(&item.value, renames, keys, patches)?;
                        continue;
                    };
                    if let ["environments", _, "set"] = keys.as_slice()
                        && let Some(new) = renames.rename_path(&key.text)
                    {
                        patches.push(TextPatch::new(key.at.clone(), quoting::quote_yaml(&new, all.flow)));
                    }
                    keys.push(key.text.as_str());
                    self.redirect_references(&item.value, renames, keys, patches)?;
                    keys.pop();
                }
            }
        }
        Ok(())
    }

    /// Returns a scalar's new form in the quoting style of the old one.
    fn rewrite_scalar(
        &self,
        at: &Range<usize>,
        new: &str,
        style: ScalarStyle,
        renames: &PathRenames<'_>,
    ) -> String {
        let raw = &self.lines.text[at.clone()];
        match style {
            ScalarStyle::Plain if !raw.contains('\n') => new.to_owned(),
            ScalarStyle::SingleQuoted if !raw.contains('\n') => quoting::yaml_single(new),
            ScalarStyle::DoubleQuoted
                if !raw.contains('\\') && !new.contains(['"', '\\']) && !raw.contains('\n') =>
            {
                format!("\"{new}\"")
            }
            ScalarStyle::DoubleQuoted if !raw.contains('\n') => quoting::yaml_double(new),
            _ => redirect_text(raw, renames, false)
                .ok()
                .flatten()
                .unwrap_or_else(|| quoting::yaml_double(new)),
        }
    }
}
