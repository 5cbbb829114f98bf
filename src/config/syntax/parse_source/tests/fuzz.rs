//! Arbitrary input: never a panic, and every refusal has a place inside the text, a code of the table
//! and words on what to do.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::render::read;
use crate::config::syntax::decode::decode_utf8;
use crate::config::syntax::limits::{CODES, MAX_PROBLEMS};
use crate::model::source::SourceId;

const YAML: &str = "stead: 1\nvars:\n  a: { type: int, default: [1, \"x\"] }\nbase: &b {k: \"${x ? 1 : 2}\", c: '*/5'}\nvm:\n  web:\n    <<: *b\n    size: 9.10\n    text: |\n      one\n      two\n    list:\n      - a\n      - b: c # d\n";
const KDL: &str = "stead 1\nvars {\n  a type=int default=1 { one_of 1 0x2 \"x\\ty\" }\n}\n// c\nvm web k=\"${x ? 1 : 2}\" /-c=#true {\n  text \"\"\"\n    one\n    two\n    \"\"\"\n  list { - a; - b=c }\n  raw #\"x\"# /* d */ #null \\\n    9.10\n}\n";

/// Fragments with a special meaning in YAML or KDL, from which the fuzz test assembles its inputs.
const PIECES: [&str; 44] = [
    "{", "}", "[", "]", "(", ")", "\"", "'", "\"\"\"", "#", "# ", "=", " = ", ":", ": ", ",", ";", "\\",
    "/", "//", "/-", "/*", "*/", "-", "- ", "&a ", "*a", "<<", "!x ", "|", ">", "%", "@", "`", "${", "$",
    "#true", "true", "\n", "\t", "\r\n", "  ", "é", "\u{202E}",
];

fn check(path: &str, text: &str) {
    let Err(problems) = read(path, text) else { return };
    assert!(!problems.is_empty() && problems.len() <= MAX_PROBLEMS);
    for problem in problems {
        assert!(CODES.iter().any(|known| known.code == problem.code), "{}", problem.code);
        assert!(problem.detail.is_some() && problem.help.is_some(), "{problem:?}");
        let spans = problem.labels.iter().map(|label| label.span);
        for span in spans.chain(problem.fix.iter().map(|fix| fix.span)) {
            assert!(text.get(span.start as usize..span.end as usize).is_some(), "{span:?} in {text:?}");
        }
        assert!(problem.span().is_some());
    }
}

fn both(text: &str) {
    check("a.yaml", text);
    check("a.kdl", text);
}

fn mutated(text: &str, edits: &[(Index, usize, &str)]) -> String {
    let mut text = text.to_owned();
    for (index, cut, piece) in edits {
        let places: Vec<_> = text.char_indices().map(|(n, _)| n).chain([text.len()]).collect();
        let at = index.index(places.len());
        let end = places[(at + cut).min(places.len() - 1)];
        text.replace_range(places[at]..end, piece);
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in vec(any::<u8>(), 0..200)) {
        match decode_utf8(SourceId(0), bytes) {
            Ok(text) => both(&text),
            Err(unreadable) => {
                let at = unreadable.diagnostic.span().unwrap();
                prop_assert!(unreadable.shown.len() >= at.end as usize || at.start == 0);
            }
        }
    }

    #[test]
    fn arbitrary_text_does_not_panic(text in "\\PC{0,80}") {
        both(&text);
    }

    #[test]
    fn arbitrary_token_sequences_do_not_panic(pieces in vec(prop_oneof![3 => select(&PIECES[..]), 2 => select(&["a", "b", "1", " ", "x y"][..])], 0..60)) {
        both(&pieces.concat());
    }

    #[test]
    fn arbitrary_edits_do_not_panic(edits in vec((any::<Index>(), 0_usize..4, select(&PIECES[..])), 1..4)) {
        check("a.yaml", &mutated(YAML, &edits));
        check("a.kdl", &mutated(KDL, &edits));
    }
}

#[test]
fn the_texts_that_are_mutated_are_valid() {
    assert!(read("a.yaml", YAML).is_ok());
    assert!(read("a.kdl", KDL).is_ok());
}
