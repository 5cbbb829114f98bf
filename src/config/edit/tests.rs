//! Edits of generated files: what was asked for happens, and no other byte changes.
//!
//! `STEAD_EDIT_CASES=10000` makes as many files, with several edits each.
#![allow(clippy::disallowed_methods, reason = "how many cases there are is said in the environment")]

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::config::format::write_new_file;
use crate::config::syntax::document::Syntax;
use crate::kinds::REGISTRY;
use crate::model::address::Name;
use crate::model::source::Source;

fn scalar() -> impl Strategy<Value = ConfigLiteral> {
    prop_oneof![
        Just(ConfigLiteral::Null),
        any::<bool>().prop_map(ConfigLiteral::Boolean),
        "(0|[1-9][0-9]{0,3})(\\.[0-9]{1,2})?".prop_map(|text| ConfigLiteral::Number(text.into())),
        "[a-z][a-z_]{0,6}".prop_map(|text| ConfigLiteral::Text(text.into())),
        "[ -#%-~é]{0,12}".prop_map(|text| ConfigLiteral::Text(text.into())),
    ]
}

fn tree() -> impl Strategy<Value = ConfigLiteral> {
    scalar().prop_recursive(3, 20, 4, |inner| {
        let entry = ("[a-z][a-z_]{0,6}".prop_map(Name::from), inner.clone());
        prop_oneof![
            vec(inner, 0..4).prop_map(ConfigLiteral::List),
            vec(entry, 1..4).prop_map(|mut entries| {
                let mut seen = std::collections::HashSet::new();
                entries.retain(|(key, _)| seen.insert(key.clone()));
                ConfigLiteral::Map(entries)
            })
        ]
    })
}

/// The parts of a file, each with one entry, its comments and blank lines.
fn parts(entries: &[(ConfigLiteral, u8)], syntax: Syntax) -> Vec<String> {
    let mark = if syntax == Syntax::Yaml { "#" } else { "//" };
    let part = |(n, (value, dice)): (usize, &(ConfigLiteral, u8))| {
        let above = if dice & 1 > 0 { format!("{mark} above {n}\n") } else { String::new() };
        let blank = if dice & 2 > 0 { "\n" } else { "" };
        let written = write_new_file(syntax, &[(Name::from(format!("k{n}")), value.clone())], &REGISTRY);
        let written = match written.trim_end_matches('\n') {
            line if dice & 4 > 0 && !line.contains('\n') => format!("{line}   {mark} behind {n}\n"),
            _ => written,
        };
        let text = format!("{blank}{above}{written}");
        if dice & 8 > 0 { text.replace('\n', "\r\n") } else { text }
    };
    entries.iter().enumerate().map(part).collect()
}

/// A path into a value, led by dice.
fn path_into(value: &ConfigLiteral, mut path: EditPath, dice: &[u8]) -> (EditPath, ConfigLiteral) {
    let Some((first, rest)) = dice.split_first() else { return (path, value.clone()) };
    match value {
        ConfigLiteral::Map(entries) if !entries.is_empty() && first % 4 > 0 => {
            let (key, inner) = &entries[usize::from(*first) % entries.len()];
            path = path.with_key(key.clone());
            path_into(inner, path, rest)
        }
        ConfigLiteral::List(items) if !items.is_empty() && first % 4 > 1 => {
            let n = usize::from(*first) % items.len();
            path_into(&items[n], path.with_item(n), rest)
        }
        _ => (path, value.clone()),
    }
}

fn cases() -> u32 {
    std::env::var("STEAD_EDIT_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(96)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn an_edit_changes_only_its_target(
        entries in vec((tree(), any::<u8>()), 1..6),
        which in any::<proptest::sample::Index>(),
        dice in vec(any::<u8>(), 0..4),
        what in 0..5_u8,
        new in prop_oneof![3 => scalar(), 1 => tree()],
    ) {
        for (name, syntax) in [("a.yaml", Syntax::Yaml), ("a.kdl", Syntax::Kdl)] {
            // One line end a file.
            let ends = entries[0].1 & 8;
            let same: Vec<_> = entries.iter().map(|(value, dice)| (value.clone(), (dice & !8) | ends)).collect();
            let parts = parts(&same, syntax);
            let n = which.index(entries.len());
            let (path, old) = path_into(&entries[n].0, EditPath::from_text(&format!("k{n}")), &dice);
            let edit_made = match what {
                0 => Edit::Remove(path.clone()),
                1 if matches!(path.0.last(), Some(EditPathStep::Key(_))) => Edit::Rename(path.clone(), "renamed".into()),
                2 if matches!(old, ConfigLiteral::Map(_)) => Edit::Set(path.clone().with_key("added"), new.clone()),
                3 if matches!(old, ConfigLiteral::List(_)) => Edit::Append(path.clone(), new.clone()),
                _ => Edit::Set(path.clone(), new.clone()),
            };
            let text = parts.concat();
            let source = Source::new(name, text.as_str());
            let made = apply_edits(&EditableFile { source: &source, registry: &REGISTRY }, std::slice::from_ref(&edit_made));
            let Ok(made) = made else {
                let refusal = made.unwrap_err();
                // What KDL cannot say is refused, and so is what one form of it cannot hold.
                prop_assert!(refusal.0.code != "S0375" || !is_usual(&new, &entries), "{:?}\n{}\n{:?}", edit_made, text, refusal.0);
                continue;
            };
            let (before, after) = (parts[..n].concat(), parts[n + 1..].concat());
            let after_blank = after.strip_prefix("\r\n").or_else(|| after.strip_prefix('\n')).unwrap_or(&after);
            prop_assert!(made.starts_with(&before), "{:?}\n{}\n{}", edit_made, text, made);
            let removed = matches!(edit_made, Edit::Remove(_)) && made.ends_with(after_blank);
            prop_assert!(made.ends_with(&after) || removed, "{:?}\n{}\n{}", edit_made, text, made);
        }
    }
}

/// Tells whether every value can stand anywhere.
fn is_usual(new: &ConfigLiteral, entries: &[(ConfigLiteral, u8)]) -> bool {
    fn usual(value: &ConfigLiteral) -> bool {
        match value {
            ConfigLiteral::List(items) => {
                !items.is_empty() && items.iter().all(|item| item.is_scalar() && usual(item))
            }
            ConfigLiteral::Map(entries) => entries.iter().all(|(_, value)| usual(value)),
            _ => true,
        }
    }
    usual(new) && entries.iter().all(|(value, _)| usual(value))
}
