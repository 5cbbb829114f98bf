//! Finds the syntactic context of a position, determined from the text before it only, because text that is being
//! typed usually cannot be parsed.

use super::types::{Cursor, CursorContext, is_word};
use super::{kdl, yaml};
use crate::config::syntax::document::Syntax;

/// Returns the context of a byte offset, which must be a character boundary. With `whole`, the word extends to its
/// end, otherwise to the position. `is_kind` tells in KDL whether a node's first argument is its name.
pub(in crate::editor::lsp) fn find_cursor(
    syntax: Syntax,
    text: &str,
    offset: usize,
    whole: bool,
    is_kind: &dyn Fn(&str) -> bool,
) -> Cursor {
    let rest = &text[offset..];
    let behind = if whole { rest.find(|c| !is_word(c)).unwrap_or(rest.len()) } else { 0 };
    let end = offset + behind;
    let mut cursor = match syntax {
        Syntax::Yaml => yaml::yaml_cursor(&text[..end]),
        Syntax::Kdl => kdl::kdl_cursor(&text[..end], is_kind),
    };
    // `- from: …`: only the following text distinguishes the first key of an item from a value.
    let is_key = whole && syntax == Syntax::Yaml && text[end..].starts_with(": ");
    if is_key && cursor.at == CursorContext::Value {
        cursor.at = CursorContext::Key;
    }
    cursor
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(syntax: Syntax, text: &str) -> (String, CursorContext, String) {
        let offset = text.find('|').unwrap();
        let text = text.replacen('|', "", 1);
        let found = find_cursor(syntax, &text, offset, true, &|word| ["vm", "use"].contains(&word));
        (found.path.join("/"), found.at, text[found.word].to_owned())
    }

    #[test]
    fn yaml_cursor_positions_have_a_path_and_a_context() {
        for (text, path, kind, word) in [
            ("v|", "", CursorContext::Key, "v"),
            ("stead: 1\nvm:\n  web:\n    pl|", "vm/web", CursorContext::Key, "pl"),
            ("vm:\n  web:\n    plan: std|-1\n", "vm/web/plan", CursorContext::Value, "std-1"),
            ("vm:\n  web:\n    plan: a\n    |", "vm/web", CursorContext::Key, ""),
            ("vm:\n  web:\n    plan: a\n  |", "vm", CursorContext::Key, ""),
            ("vm: { web: { plan: a, si|", "vm/web", CursorContext::Key, "si"),
            ("vm: { web: { plan: $va|", "vm/web/plan", CursorContext::Value, "$va"),
            ("vm:\n  web: { plan: a,\n    vp|c: x }\n", "vm/web", CursorContext::Key, "vpc"),
            ("vm:\n  web:\n    list: [a, b|", "vm/web/list", CursorContext::Value, "b"),
            ("vm:\n  web:\n    list:\n      - a|", "vm/web/list", CursorContext::Value, "a"),
            ("moved:\n  - fr|om: x", "moved", CursorContext::Key, "from"),
            ("moved:\n  - from: vm.x\n    t|", "moved", CursorContext::Key, "t"),
            ("moved: [{ from: vm.a|", "moved/from", CursorContext::Value, "vm.a"),
            ("vm:\n  web:\n    plan: \"${va|rs.x}\"", "vm/web/plan", CursorContext::Value, "vars.x"),
            ("vm:\n  web:\n    # pl|", "vm/web", CursorContext::Text, "pl"),
            ("a: |\n", "a", CursorContext::Value, ""),
            ("vm:\n  web:\n    'na|me': x", "vm/web", CursorContext::Key, "name"),
        ] {
            assert_eq!(at(Syntax::Yaml, text), (path.into(), kind, word.into()), "{text}");
        }
        let block = "vm:\n  web:\n    user_data: >\n      pl: x\n    pl|an: y";
        assert_eq!(at(Syntax::Yaml, block), ("vm/web".into(), CursorContext::Key, "plan".into()));
        assert_eq!(at(Syntax::Yaml, "vm:\n  web:\n    u: >\n      pl: x|").1, CursorContext::Text);
    }

    #[test]
    fn kdl_cursor_positions_have_a_path_and_a_context() {
        for (text, path, kind, word) in [
            ("v|", "", CursorContext::Key, "v"),
            ("vm we|b", "vm", CursorContext::Key, "web"),
            ("vm web pl|", "vm/web", CursorContext::Argument, "pl"),
            ("vm web plan=st|d", "vm/web/plan", CursorContext::Value, "std"),
            ("vm web plan=\"${va|rs.x}\"", "vm/web/plan", CursorContext::Value, "vars.x"),
            ("vm web plan=x { vp|c", "vm/web", CursorContext::Key, "vpc"),
            ("vm web {\n  plan st|d\n", "vm/web/plan", CursorContext::Argument, "std"),
            (
                "vm web {\n  lifecycle pro|tect=#true\n",
                "vm/web/lifecycle",
                CursorContext::Argument,
                "protect",
            ),
            ("vm web {\n  a b\n}\nvm x|", "vm", CursorContext::Key, "x"),
            ("vm web { a { b c; d|", "vm/web/a", CursorContext::Key, "d"),
            ("vars {\n  office type=ci|dr", "vars/office/type", CursorContext::Value, "cidr"),
            ("moved from=vm.a to=|", "moved/to", CursorContext::Value, ""),
            ("// v|", "", CursorContext::Text, "v"),
            ("vm web \\\n  pl|", "vm/web", CursorContext::Argument, "pl"),
            ("vm web a=#\"x\"y\"# b=|", "vm/web/b", CursorContext::Value, ""),
        ] {
            assert_eq!(at(Syntax::Kdl, text), (path.into(), kind, word.into()), "{text}");
        }
    }
}
