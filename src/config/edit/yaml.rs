//! Edits of YAML: which bytes to replace.

use std::ops::Range;

use granit_parser::ScalarStyle;

use super::content::{Meaning, is_computed};
use super::lines::{Lines, Patch};
use super::literal::{Literal, yaml_entry, yaml_inline, yaml_lines};
use super::references::{Renames, redirect_text};
use super::refusals::{self, Refusal};
use super::request::{Edit, Path, Step};
use crate::config::syntax::limits::byte_span;
use crate::config::syntax::quoting;
use crate::config::syntax::yaml::layout_tree::{Collection, Content, Item, Node, Tree};
use crate::model::address::Name;
use crate::model::source::{SourceId, Span};

/// A text to edit, and what it says.
pub(super) struct Editor<'t> {
    lines: Lines<'t>,
    tree: &'t Tree,
    id: SourceId,
}

/// One step of the way to a value: the collection, and the item in it.
#[derive(Clone, Copy)]
struct Place<'t> {
    holder: &'t Node,
    collection: &'t Collection,
    index: usize,
    /// The collection is in brackets, or in one that is.
    flow: bool,
}

impl<'t> Place<'t> {
    fn item(self) -> &'t Item {
        &self.collection.items[self.index]
    }
}

impl<'t> Editor<'t> {
    /// Returns an editor of a text.
    pub(super) fn new(text: &'t str, tree: &'t Tree, id: SourceId) -> Self {
        Self { lines: Lines { text, comments: &tree.comments }, tree, id }
    }

    /// Returns the bytes to replace for an edit.
    pub(super) fn patches(&self, edit: &Edit, says: &mut Meaning) -> Result<Vec<Patch>, Refusal> {
        match edit {
            Edit::Set(path, literal) => self.set_value(path, literal, says),
            Edit::Append(path, literal) => self.append_item(path, literal, says),
            Edit::Remove(path) => self.remove(path, says),
            Edit::Rename(path, to) => self.rename(path, to, says),
            Edit::Redirect(renames) => {
                let mut patches = Vec::new();
                if let Some(root) = &self.tree.root {
                    self.redirect_references(root, &Renames::new(renames), &mut Vec::new(), &mut patches)?;
                }
                Ok(patches)
            }
        }
    }

    fn span(&self, range: &Range<usize>) -> Span {
        byte_span(self.id, range.start, range.end)
    }

    /// Returns the way to a path as far as it is written.
    fn locate(&self, path: &Path, says: &mut Meaning) -> Result<Vec<Place<'t>>, Refusal> {
        let mut chain: Vec<Place<'t>> = Vec::new();
        let Some(mut node) = self.tree.root.as_ref() else { return Ok(chain) };
        let mut flow = false;
        for (n, step) in path.0.iter().enumerate() {
            let collection = match &node.content {
                Content::Alias => return Err(refusals::shared_value(self.span(&node.range), None)),
                Content::Scalar { .. } => return Ok(chain),
                Content::Sequence(collection) | Content::Mapping(collection) => collection,
            };
            flow |= collection.flow;
            let position = |key: &str| {
                collection
                    .items
                    .iter()
                    .position(|item| item.key.as_ref().is_some_and(|known| known.text == key))
            };
            let index = match step {
                Step::Key(key) => position(key),
                Step::Item(item) => (*item < collection.items.len()).then_some(*item),
            };
            let Some(index) = index else {
                let merged = position("<<").filter(|_| says.get(&path.0[..=n]).is_some());
                return match merged {
                    Some(merge) => {
                        let item = &collection.items[merge];
                        Err(refusals::shared_value(self.span(&(item.start..item.end())), None))
                    }
                    None => Ok(chain),
                };
            };
            chain.push(Place { holder: node, collection, index, flow });
            node = &collection.items[index].value;
        }
        Ok(chain)
    }

    /// Returns the way to a path that is written.
    fn find_place(&self, path: &Path, says: &mut Meaning) -> Result<Place<'t>, Refusal> {
        let chain = self.locate(path, says)?;
        match chain.last() {
            Some(place) if chain.len() == path.0.len() => Ok(*place),
            _ => Err(refusals::missing_path(&path.to_string())),
        }
    }

    fn set_value(&self, path: &Path, literal: &Literal, says: &mut Meaning) -> Result<Vec<Patch>, Refusal> {
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
        path: &Path,
        literal: &Literal,
        says: &mut Meaning,
    ) -> Result<Vec<Patch>, Refusal> {
        let chain = self.locate(path, says)?;
        let whole = Literal::List(vec![literal.clone()]);
        match chain.last().filter(|_| chain.len() == path.0.len()) {
            None => self.set_value(path, &whole, says),
            Some(place) => match &place.item().value.content {
                Content::Sequence(list) if !list.items.is_empty() => {
                    self.add_entry(Some(*place), None, literal).map(|patch| vec![patch])
                }
                Content::Alias => Err(refusals::shared_value(self.span(&place.item().value.range), None)),
                _ => self.set_value(path, &whole, says),
            },
        }
    }

    /// Refuses what is computed or stands elsewhere.
    fn check_plain(&self, node: &Node) -> Result<(), Refusal> {
        match &node.content {
            Content::Alias => Err(refusals::shared_value(self.span(&node.range), None)),
            Content::Scalar { text, .. } if is_computed(text) => {
                Err(refusals::computed_value(text, self.span(&node.range)))
            }
            Content::Scalar { .. } => Ok(()),
            Content::Sequence(all) | Content::Mapping(all) => {
                all.items.iter().try_for_each(|item| self.check_plain(&item.value))
            }
        }
    }

    /// Writes a value in place of the one of an item.
    fn replace_value(&self, item: &Item, literal: &Literal, flow: bool) -> Patch {
        let node = &item.value;
        if node.is_nothing() {
            let at = item.key.as_ref().map_or(item.start + 1, |key| key.colon.unwrap_or(key.at.end));
            let colon = if item.key.as_ref().is_some_and(|key| key.colon.is_none()) { ":" } else { "" };
            return Patch::new_insertion(at, format!("{colon} {}", yaml_inline(literal, flow)));
        }
        let start = node.anchor.as_ref().map_or(node.range.start, |anchor| {
            anchor.end + self.lines.text[anchor.end..node.range.end].len()
                - self.lines.text[anchor.end..node.range.end].trim_start().len()
        });
        let range = start..node.range.end;
        match (&node.content, literal) {
            (Content::Scalar { style, .. }, Literal::Text(text)) => {
                Patch::new(range, quote_in_style(text, *style, flow))
            }
            (Content::Sequence(old) | Content::Mapping(old), Literal::Map(_) | Literal::List(_))
                if !old.flow && has_parts(literal) && node.anchor.is_none() =>
            {
                let indent = self.lines.indent_at(start);
                Patch::new(range, yaml_lines(literal, &indent, self.lines.layout()))
            }
            (Content::Sequence(old) | Content::Mapping(old), literal) if !old.flow => {
                // A block stands below its key; one line stands behind it.
                let from = item.key.as_ref().and_then(|key| key.colon).filter(|_| node.anchor.is_none());
                let text = yaml_inline(literal, flow);
                match from {
                    Some(colon) => Patch::new(colon..range.end, format!(" {text}")),
                    None => Patch::new(range, text),
                }
            }
            (_, literal) => Patch::new(range, yaml_inline(literal, flow)),
        }
    }

    /// Adds an entry, or an item without a key, to the value of a place, or to the top.
    fn add_entry(
        &self,
        place: Option<Place<'t>>,
        key: Option<&Name>,
        literal: &Literal,
    ) -> Result<Patch, Refusal> {
        let parent = place.map(Place::item);
        let Some(node) = parent.map(|item| &item.value).or(self.tree.root.as_ref()) else {
            return Ok(self.add_first_entry(key, literal));
        };
        let flow = place.is_some_and(|place| place.flow);
        let inline = |flow| match key {
            Some(key) => format!("{}: {}", quoting::quote_yaml(key, flow), yaml_inline(literal, flow)),
            None => yaml_inline(literal, flow),
        };
        match &node.content {
            Content::Alias => Err(refusals::shared_value(self.span(&node.range), None)),
            Content::Scalar { text, style, .. } => {
                let nothing = *style == ScalarStyle::Plain
                    && matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL");
                match (nothing || node.is_nothing(), parent) {
                    (true, Some(item)) => Ok(self.below_nothing(item, node, key, literal, flow)),
                    _ => Err(refusals::no_map(self.span(&node.range))),
                }
            }
            Content::Sequence(_) if key.is_some() => Err(refusals::no_map(self.span(&node.range))),
            Content::Sequence(all) | Content::Mapping(all) => {
                let Some(last) = all.items.last() else {
                    let text = inline(true);
                    let text = if key.is_some() { format!("{{ {text} }}") } else { format!("[{text}]") };
                    let from = node.anchor.as_ref().map_or(node.range.start, |anchor| anchor.end);
                    let space = if node.anchor.is_some() { " " } else { "" };
                    return Ok(Patch::new(from..node.range.end, format!("{space}{text}")));
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
    fn add_first_entry(&self, key: Option<&Name>, literal: &Literal) -> Patch {
        let text = self.lines.text;
        let line = key.map_or_else(String::new, |key| yaml_entry(key, literal, "", self.lines.layout()));
        let patch = self.lines.insert_line(text.len(), &line);
        if text.is_empty() || text.ends_with('\n') {
            patch
        } else {
            Patch { text: format!("{}{}", patch.text, self.lines.layout().end), ..patch }
        }
    }

    /// Adds an entry below a key without a value.
    fn below_nothing(
        &self,
        item: &Item,
        node: &Node,
        key: Option<&Name>,
        literal: &Literal,
        flow: bool,
    ) -> Patch {
        let list = || Literal::List(vec![literal.clone()]);
        let whole = key.map_or_else(list, |key| Literal::Map(vec![(key.clone(), literal.clone())]));
        let colon = item.key.as_ref().and_then(|key| key.colon);
        let (Some(colon), false) = (colon, flow) else { return self.replace_value(item, &whole, flow) };
        let layout = self.lines.layout();
        let indent = format!("{}{}", self.lines.indent_at(item.start), layout.step);
        let lines = format!("{}{indent}{}", layout.end, yaml_lines(&whole, &indent, layout));
        if node.is_nothing() {
            return Patch::new_insertion(
                self.lines.line_end(self.lines.trailing_comment_end(colon)),
                lines,
            );
        }
        Patch::new(colon..node.range.end, lines)
    }

    fn behind_in_brackets(&self, last: &Item, inline: &str) -> Patch {
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
            Some(comma) => Patch::new_insertion(
                if own_line { self.lines.trailing_comment_end(comma) } else { comma },
                format!("{between}{inline}"),
            ),
            None => Patch::new_insertion(end, format!(",{between}{inline}")),
        }
    }

    /// Adds a line to a block.
    fn append_block_line(&self, all: &Collection, key: Option<&Name>, literal: &Literal) -> Patch {
        let (first, last) = (all.items.first(), all.items.last());
        let indent = first.map(|item| self.lines.indent_at(item.start)).unwrap_or_default();
        let layout = self.lines.layout();
        let line = match key {
            Some(key) => yaml_entry(key, literal, &indent, layout),
            None => format!("- {}", yaml_lines(literal, &format!("{indent}  "), layout)),
        };
        let at = self.lines.insertion_point(last.map_or(0, Item::end), &indent);
        self.lines.insert_line(at, &format!("{indent}{line}"))
    }

    fn remove(&self, path: &Path, says: &mut Meaning) -> Result<Vec<Patch>, Refusal> {
        let place = self.find_place(path, says)?;
        let items = &place.collection.items;
        if items.len() == 1 {
            let parents = self.locate(&path.first_steps(path.0.len() - 1), says)?;
            return Ok(vec![self.remove_only(place, parents.last().map(|parent| parent.item()))]);
        }
        Ok(vec![if place.flow { self.remove_in_brackets(place) } else { self.remove_lines(place) }])
    }

    /// Removes the only item of a collection, which stays as an empty one.
    fn remove_only(&self, place: Place<'t>, parent: Option<&Item>) -> Patch {
        let item = place.item();
        let empty = if item.key.is_some() { "{}" } else { "[]" };
        let Some(parent) = parent else {
            let part = item.start..item.end();
            let whole = self.lines.whole_lines(part.clone(), true).unwrap_or(part);
            return Patch::new(whole, if place.collection.flow { empty } else { "" });
        };
        let holder = place.holder;
        if place.collection.flow {
            let from = holder.anchor.as_ref().map_or(holder.range.start, |anchor| anchor.end);
            let space = if holder.anchor.is_some() { " " } else { "" };
            return Patch::new(from..holder.range.end, format!("{space}{empty}"));
        }
        let end = self.lines.trailing_comment_end(holder.range.end.max(item.end()));
        match parent.key.as_ref().and_then(|key| key.colon).filter(|_| holder.anchor.is_none()) {
            Some(colon) => {
                // What is said of the key, behind it, is not said of what goes.
                let own = self.lines.comments.iter().find(|comment| comment.start >= colon);
                let own = own.filter(|comment| comment.end <= self.lines.line_end(colon));
                let said = own.map_or("", |comment| &self.lines.text[colon..comment.end]);
                Patch::new(colon..end, format!(" {empty}{said}"))
            }
            None => Patch::new(holder.range.start..end, empty),
        }
    }

    fn remove_in_brackets(&self, place: Place<'t>) -> Patch {
        let items = &place.collection.items;
        let (item, text) = (place.item(), self.lines.text);
        let end = item.end();
        let gap = text[end..].len() - text[end..].trim_start().len();
        let comma = if text[end + gap..].starts_with(',') { end + gap + 1 } else { end };
        if let Some(whole) = self.lines.whole_lines(item.start..comma, false) {
            return Patch::new(whole, "");
        }
        match (place.index.checked_sub(1).map(|before| &items[before]), items.get(place.index + 1)) {
            (_, Some(next)) => Patch::new(item.start..next.start, ""),
            (Some(before), None) => Patch::new(before.end()..end, ""),
            (None, None) => Patch::new(item.start..end, ""),
        }
    }

    fn remove_lines(&self, place: Place<'t>) -> Patch {
        let item = place.item();
        let at_top = place.index == 0
            && self.tree.root.as_ref().is_some_and(|root| std::ptr::eq(root, place.holder));
        if let Some(whole) = self.lines.whole_lines(item.start..item.end(), at_top) {
            return Patch::new(whole, "");
        }
        // It shares its line with the dash that it stands behind.
        let next = place.collection.items.get(place.index + 1).map_or(item.end(), |next| next.start);
        let behind = self.lines.trailing_comment_end(item.end());
        let own = self.lines.comments.iter().map(|comment| comment.start);
        let comment = own.skip_while(|start| *start < behind).find(|start| *start < next);
        Patch::new(item.start..comment.unwrap_or(next), "")
    }

    fn rename(&self, path: &Path, to: &Name, says: &mut Meaning) -> Result<Vec<Patch>, Refusal> {
        let place = self.find_place(path, says)?;
        let Some(key) = &place.item().key else { return Err(refusals::missing_path(&path.to_string())) };
        let known = |item: &&Item| item.key.as_ref().is_some_and(|key| key.text == *to);
        if let Some(other) = place.collection.items.iter().find(known).and_then(|item| item.key.as_ref()) {
            return Err(refusals::name_taken(to, self.span(&other.at)));
        }
        let text = if key.plain { quoting::quote_yaml(to, place.flow) } else { quoting::yaml_quoted(to) };
        Ok(vec![Patch::new(key.at.clone(), text)])
    }

    /// Leads the references of every scalar elsewhere. The recursion is as deep as the tree.
    fn redirect_references(
        &self,
        node: &'t Node,
        renames: &Renames<'_>,
        keys: &mut Vec<&'t str>,
        patches: &mut Vec<Patch>,
    ) -> Result<(), Refusal> {
        match &node.content {
            Content::Alias => {}
            Content::Scalar { text, style, at } => {
                let plain = keys.contains(&"depends_on");
                let new = redirect_text(text, renames, plain)
                    .map_err(|_| refusals::unclear_index(self.span(at)))?;
                if let Some(new) = new {
                    patches.push(Patch::new(at.clone(), self.rewrite_scalar(at, &new, *style, renames)));
                }
            }
            Content::Sequence(all) | Content::Mapping(all) => {
                for item in &all.items {
                    let Some(key) = &item.key else {
                        self.redirect_references(&item.value, renames, keys, patches)?;
                        continue;
                    };
                    if let ["environments", _, "set"] = keys.as_slice()
                        && let Some(new) = renames.rename_path(&key.text)
                    {
                        patches.push(Patch::new(key.at.clone(), quoting::quote_yaml(&new, all.flow)));
                    }
                    keys.push(key.text.as_str());
                    self.redirect_references(&item.value, renames, keys, patches)?;
                    keys.pop();
                }
            }
        }
        Ok(())
    }

    /// Returns a scalar's new text in the style of the old one.
    fn rewrite_scalar(
        &self,
        at: &Range<usize>,
        new: &str,
        style: ScalarStyle,
        renames: &Renames<'_>,
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

fn has_parts(literal: &Literal) -> bool {
    match literal {
        Literal::Map(entries) => !entries.is_empty(),
        Literal::List(items) => !items.is_empty(),
        _ => false,
    }
}

/// Returns a text in the quotes that another one had.
fn quote_in_style(text: &str, style: ScalarStyle, flow: bool) -> String {
    match style {
        ScalarStyle::SingleQuoted if !text.chars().any(quoting::needs_escape) => quoting::yaml_single(text),
        ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => quoting::yaml_double(text),
        _ => quoting::quote_yaml(text, flow),
    }
}
