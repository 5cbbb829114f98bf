//! Diagnostics, drawn.

use proptest::prelude::*;

use super::*;
use crate::report::json;
use crate::report::text::escape::acts_or_hides;

const SHOP: &str =
    "stead: 1\nvpc: { main: { cidr: 10.20.0.0/16 } }\n\n\n\nvm:\n  web:\n    vpc: $vpc.mian\n";

fn span(source: u32, text: &str, part: &str) -> Span {
    let start = u32::try_from(text.find(part).unwrap()).unwrap();
    Span { source: SourceId(source), start, end: start + u32::try_from(part.len()).unwrap() }
}

fn sources(files: &[(&str, &str)]) -> Sources {
    let mut sources = Sources::default();
    for (path, text) in files {
        sources.add(Source::new(*path, *text));
    }
    sources
}

fn missing() -> Diagnostic {
    Diagnostic::error("S0201", "vpc does not exist.mian")
        .with_label(span(0, SHOP, "$vpc.mian"), "used by vm.web")
        .with_label(span(0, SHOP, "main"), "vpc.main is declared here")
        .help("did you mean `$vpc.main`?")
        .fix(span(0, SHOP, "$vpc.mian"), "$vpc.main")
}

#[test]
fn a_diagnostic_shows_location_help_and_suggestion() {
    let sources = sources(&[("shop.yaml", SHOP)]);
    insta::assert_snapshot!(diagnostics_page(&[missing()], &sources, TextStyle::plain(80)), @r"
    S0201

      × vpc does not exist.mian
       ╭─[shop.yaml:2:8]
     1 │ stead: 1
     2 │ vpc: { main: { cidr: 10.20.0.0/16 } }
       ·        ──┬─
       ·          ╰── vpc.main is declared here
     3 │
       ╰────
       ╭─[shop.yaml:8:10]
     7 │   web:
     8 │     vpc: $vpc.mian
       ·          ────┬────
       ·              ╰── used by vm.web
       ╰────
      help: did you mean `$vpc.main`?

    1 error
    ");
    insta::assert_snapshot!(diagnostics_page(&[missing()], &sources, TextStyle { unicode: false, ..TextStyle::plain(80) }), @r"
    S0201

      x vpc does not exist.mian
       ,-[shop.yaml:2:8]
     1 | stead: 1
     2 | vpc: { main: { cidr: 10.20.0.0/16 } }
       :        ^^|^
       :          `-- vpc.main is declared here
     3 |
       `----
       ,-[shop.yaml:8:10]
     7 |   web:
     8 |     vpc: $vpc.mian
       :          ^^^^|^^^^
       :              `-- used by vm.web
       `----
      help: did you mean `$vpc.main`?

    1 error
    ");
    insta::assert_snapshot!(diagnostic_lines(&[missing()], &sources, TextStyle::plain(80)), @r"
    shop.yaml:8:10: error[S0201]: vpc does not exist.mian | did you mean `$vpc.main`?
    1 error
    ");
}

#[test]
fn a_diagnostic_shows_locations_in_several_files() {
    let network = "vpc:\n  main: { cidr: 10.0.0.0/8 }\n";
    let sources = sources(&[("shop.yaml", SHOP), ("net.yaml", network)]);
    let twice = Diagnostic::error("S0103", "vpc.main is written twice")
        .with_label(span(1, network, "main"), "second")
        .with_label(span(0, SHOP, "main"), "first")
        .detail("A resource has one block.\nFiles of a directory are one stack.");
    insta::assert_snapshot!(diagnostics_page(&[twice], &sources, TextStyle::plain(80)), @r"
    S0103

      × vpc.main is written twice
      ╰─▶ A resource has one block.
          Files of a directory are one stack.
       ╭─[net.yaml:2:3]
     1 │ vpc:
     2 │   main: { cidr: 10.0.0.0/8 }
       ·   ──┬─
       ·     ╰── second
       ╰────

    Advice:
      ☞ see also
       ╭─[shop.yaml:2:8]
     1 │ stead: 1
     2 │ vpc: { main: { cidr: 10.20.0.0/16 } }
       ·        ──┬─
       ·          ╰── first
     3 │
       ╰────

    1 error
    ");
}

#[test]
fn diagnostics_are_sorted_by_location_and_limited() {
    let text: String = (0..200).fold(String::new(), |text, n| text + &format!("key{n:03}: x\n"));
    let sources = sources(&[("b.yaml", &text), ("a.yaml", "a: 1\n")]);
    let at = |n: u32| Span { source: SourceId(0), start: n * 10, end: n * 10 + 6 };
    let mut problems: Vec<_> = (0..120)
        .rev()
        .map(|n| Diagnostic::error("S0101", format!("Problem {n}")).with_label(at(n), ""))
        .collect();
    problems.push(
        Diagnostic::warning("S0900", "Later")
            .with_label(Span { source: SourceId(1), start: 0, end: 1 }, ""),
    );
    problems.push(Diagnostic::error("S0001", "Nowhere"));
    let short = diagnostic_lines(&problems, &sources, TextStyle::plain(80));
    let first: Vec<_> = short.lines().take(3).collect();
    assert_eq!(
        first,
        [
            "error[S0001]: Nowhere",
            "a.yaml:1:1: warning[S0900]: Later",
            "b.yaml:1:1: error[S0101]: Problem 0"
        ]
    );
    assert_eq!(short.lines().last(), Some("and 72 more; 121 errors, 1 warning"));
    assert_eq!(short.lines().count(), 51);
    assert!(
        diagnostics_page(&problems, &sources, TextStyle::plain(80))
            .ends_with("and 72 more; 121 errors, 1 warning\n")
    );
    assert_eq!(diagnostics_page(&[], &sources, TextStyle::plain(80)), "");
}

#[test]
fn a_huge_label_or_line_is_truncated() {
    let tall: String = "key: x\n".repeat(5000);
    let wide = format!("a: {}\n", "x".repeat(100_000));
    let all = |source, text: &str| Span {
        source: SourceId(source),
        start: 0,
        end: u32::try_from(text.len()).unwrap(),
    };
    let sources = sources(&[("tall.yaml", &tall), ("wide.yaml", &wide)]);
    let tall = diagnostics_page(
        &[Diagnostic::error("S1", "Tall").with_label(all(0, &tall), "here")],
        &sources,
        TextStyle::plain(80),
    );
    assert!(tall.lines().count() < 15, "{tall}");
    let wide = diagnostics_page(
        &[Diagnostic::error("S1", "Wide").with_label(all(1, &wide), "here")],
        &sources,
        TextStyle::plain(80),
    );
    assert!(wide.len() < 300 && wide.contains("wide.yaml:1:1 here"), "{wide}");
}

#[test]
fn color_is_used_only_on_request() {
    let sources = sources(&[("shop.yaml", SHOP)]);
    let coloured =
        diagnostics_page(&[missing()], &sources, TextStyle { colour: true, ..TextStyle::plain(80) });
    assert!(coloured.contains('\u{1b}'));
    assert!(!diagnostics_page(&[missing()], &sources, TextStyle::plain(80)).contains('\u{1b}'));
}

proptest! {
    #[test]
    fn hostile_text_in_sources_and_messages_is_escaped(
        text in "[a\u{1b}\u{202e}\u{9b}\u{200b}\u{e0041}\r\n:#\\[ é日\t]{0,60}",
        words in "[a\u{1b}\u{202e}\r\n:#\\[ é]{0,20}",
        from in 0u32..70, length in 0u32..70,
    ) {
        let at = Span { source: SourceId(0), start: from, end: from + length };
        let problem = Diagnostic::error("S1", words.clone())
            .with_label(at, words.clone()).detail(words.clone()).help(words.clone()).fix(at, words.clone());
        let sources = sources(&[(words.as_str(), text.as_str())]);
        for shown in [
            diagnostics_page(std::slice::from_ref(&problem), &sources, TextStyle::plain(60)),
            diagnostic_lines(std::slice::from_ref(&problem), &sources, TextStyle::plain(60)),
            json::diagnostics_document(std::slice::from_ref(&problem), &sources),
        ] {
            prop_assert!(!shown.chars().any(|c| c != '\n' && acts_or_hides(c)), "{shown:?}");
            prop_assert!(!shown.lines().any(|line| line.trim_start().starts_with("::")), "{shown}");
            prop_assert!(!shown.match_indices('#').any(|(at, _)| escape::begins_command(&shown[at..])), "{shown}");
        }
    }
}
