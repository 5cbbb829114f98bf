//! Expansion of anchors, aliases and merge keys, because KDL has none. In: an outline of YAML; out: the same
//! content without them. The parser has limited what aliases expand to.

use foldhash::{HashMap, HashMapExt};

use super::outline::{Outline, OutlineItem, OutlineValue, OutlineValueKind, TriviaLine};

/// Replaces each alias by a copy of its anchored value, and returns the number of aliases and merge keys. The
/// copies have no comments, which stay with the anchored value.
pub(super) fn expand_aliases(outline: &mut Outline) -> usize {
    let mut expander = AnchorExpander { anchors: HashMap::new(), count: 0 };
    expander.expand_outline(outline);
    expander.count
}

struct AnchorExpander {
    anchors: HashMap<String, OutlineValueKind>,
    count: usize,
}

impl AnchorExpander {
    fn expand_outline(&mut self, outline: &mut Outline) {
        for item in &mut outline.items {
            self.expand_value(&mut item.value);
        }
        let merge =
            outline.items.iter().position(|item| item.key.as_ref().is_some_and(|key| key.text == "<<"));
        if let Some(merge) = merge {
            let item = outline.items.remove(merge);
            self.count += 1;
            merge_keys(outline, merge, item);
        }
    }

    fn expand_value(&mut self, value: &mut OutlineValue) {
        if let OutlineValueKind::Alias(name) = &value.kind {
            self.count += 1;
            value.kind = self.anchors.get(name).cloned().unwrap_or(OutlineValueKind::Null);
        } else if let OutlineValueKind::List(outline, _) | OutlineValueKind::Map(outline, _) =
            &mut value.kind
        {
            self.expand_outline(outline);
        }
        if let Some(name) = value.anchor.take() {
            let mut kind = value.kind.clone();
            strip_comments(&mut kind);
            self.anchors.insert(name, kind);
        }
    }
}

/// Adds the keys of a merged map that the map itself does not have, in the place of the merge key, whose
/// comments the first of them gets.
fn merge_keys(outline: &mut Outline, at: usize, merge: OutlineItem) {
    let maps = match merge.value.kind {
        OutlineValueKind::Map(map, _) => vec![map],
        OutlineValueKind::List(list, _) => list
            .items
            .into_iter()
            .filter_map(|item| match item.value.kind {
                OutlineValueKind::Map(map, _) => Some(map),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    };
    let mut notes: Vec<TriviaLine> = merge.above;
    notes.extend(merge.behind.map(|behind| TriviaLine::Comment(behind.text)));
    let mut at = at;
    for mut item in maps.into_iter().flat_map(|map| map.items) {
        let key = item.key.as_ref().map(|key| key.text.clone());
        if outline.items.iter().any(|known| known.key.as_ref().map(|key| &key.text) == key.as_ref()) {
            continue;
        }
        item.above.splice(0..0, notes.drain(..));
        outline.items.insert(at, item);
        at += 1;
    }
    match outline.items.get_mut(at) {
        Some(next) => drop(next.above.splice(0..0, notes)),
        None => outline.foot.splice(0..0, notes).for_each(drop),
    }
}

/// Removes the comments from a copy.
fn strip_comments(kind: &mut OutlineValueKind) {
    if let OutlineValueKind::List(outline, _) | OutlineValueKind::Map(outline, _) = kind {
        outline.foot.clear();
        for item in &mut outline.items {
            item.above.clear();
            item.behind = None;
            strip_comments(&mut item.value.kind);
        }
    }
}
