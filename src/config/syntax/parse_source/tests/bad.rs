//! Bad input: one clear error each, at the right line and column, with the corrected text.

use insta::assert_snapshot;

use super::render::{fixed, problems, read};

fn y(text: &str) -> String {
    problems("a.yaml", text)
}

fn k(text: &str) -> String {
    problems("a.kdl", text)
}

/// So many lines, numbered from 1.
fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (1..=count).fold(String::new(), |text, n| text + &line(n))
}

/// What a fix gives must be free of problems.
fn mended(path: &str, text: &str) -> String {
    let text = fixed(path, text).expect("a fix");
    read(path, &text).unwrap_or_else(|problems| panic!("{text:?} {problems:#?}"));
    text
}

#[test]
fn invisible_characters_are_reported_outside_of_sentences() {
    for mistake in ["a: x\u{a0}", "a: \u{200b}x", "a: x\u{2060}y", "b: 1\na:\u{a0}x"] {
        assert!(y(mistake).contains("Invisible character"), "{mistake:?}: {}", y(mistake));
    }
    for meant in ["a: Vite\u{a0}! 10 €", "a: 東京\u{3000}都", "a: 👨\u{200d}👩", "a: \"x\u{a0}\""]
    {
        assert_eq!(y(meant), "no problem", "{meant:?}");
    }
}

#[test]
fn an_unquoted_yaml_expression_is_an_error() {
    assert_snapshot!(y("a:\n  host: ${env == 'prod' ? 'a' : 'b'}\nb: 1"), @r#"S0112 2:9 Expression without quotes | Quote it: `host: "${env == 'prod' ? 'a' : 'b'}"`."#);
    assert_snapshot!(mended("a.yaml", "a:\n  host: ${env == 'prod' ? 'a' : 'b'}\nb: 1"), @r#"
    a:
      host: "${env == 'prod' ? 'a' : 'b'}"
    b: 1
    "#);
    assert_snapshot!(mended("a.yaml", "a: ${x ? \"y\" : 'z'} # c"), @r#"a: '${x ? "y" : ''z''}' # c"#);
    assert_snapshot!(y("a:\n- ${x ? 1 : 2}"), @r#"S0112 2:3 Expression without quotes | Quote it: `- "${x ? 1 : 2}"`."#);
    assert_snapshot!(y("a: { b: ${x}, c: 1 }"), @r#"S0113 1:9 Expression without quotes in `{}` or `[]` | Write `"${x}"`."#);
    assert_snapshot!(mended("a.yaml", "a: { b: shop-${x}-y, c: 1 }"), @r#"a: { b: "shop-${x}-y", c: 1 }"#);
    assert_snapshot!(y("a: [1, ${x ? 'y' : 'z'}]"), @r#"S0113 1:8 Expression without quotes in `{}` or `[]` | Write `"${x ? 'y' : 'z'}"`."#);
    assert_snapshot!(mended("a.yaml", "a: [1, ${x ? 'y' : 'z'}]"), @r#"a: [1, "${x ? 'y' : 'z'}"]"#);
    assert_snapshot!(y("a: ${size(x) # y}\nb: 1"), @r#"S0112 1:4 Expression cut off by a comment | Write `"${size(x) # y}"`."#);
    assert_snapshot!(y("a: {{ x }}\nb: 1"), @r#"S0115 1:4 Template in double braces | Write `$vars.x`, or quotes around text that shall keep its braces."#);
}

#[test]
fn nested_yaml_quotes_are_reported_at_their_location() {
    for (innocent, place) in [
        ("user_data: |\n  echo \"${arr[\"key\"]}\"\nplan p\n", " 3:"),
        ("# a: \"${arr[\"key\"]}\"\nplan p\n", " 2:"),
        ("a: 'x: \"${arr[\"key\"]}\"' b\n", " 1:"),
        ("a: { b: c # \"${arr[\"key\"]}\"\n", " 1:"),
    ] {
        let told = y(innocent);
        assert!(!told.contains("Double quotes") && told.contains(place), "{innocent}: {told}");
    }
    for wrong in ["a: \"${x == \"b\"}\"\nb: 1", "a:\n- \"${x[\"b\"]}\"", "a: [1, \"${x == \"b\"}\"]"] {
        assert!(y(wrong).contains("Double quotes inside"), "{wrong}: {}", y(wrong));
    }
}

#[test]
fn unquoted_yaml_crons_and_special_first_characters_are_errors() {
    assert_snapshot!(y("a:\n  cron_schedule: */5 * * * *\n  b: 1"), @r#"S0114 2:18 Cron schedule without quotes | Quote the cron: `cron_schedule: "*/5 * * * *"`."#);
    assert_snapshot!(mended("a.yaml", "a:\n  cron_schedule: */5 * * * *\n  b: 1"), @r#"
    a:
      cron_schedule: "*/5 * * * *"
      b: 1
    "#);
    assert_snapshot!(y("cron: * * * * *"), @r#"S0114 1:7 Cron schedule without quotes | Quote the cron: `cron: "* * * * *"`."#);
    assert_snapshot!(y("a: { cron: */5 0 * * 1-5, b: 1 }"), @r#"S0114 1:12 Cron schedule without quotes | Quote the cron: `"*/5 0 * * 1-5"`."#);
    assert_snapshot!(mended("a.yaml", "a: { cron: */5 0 * * 1-5, b: 1 }"), @r#"a: { cron: "*/5 0 * * 1-5", b: 1 }"#);
    assert_snapshot!(y("- @daily"), @r#"S0115 1:3 Reserved first character | Write `"@daily"`."#);
    assert_snapshot!(y("a: `x` # c"), @r#"S0115 1:4 Reserved first character | Write `"`x`"`."#);
    assert_snapshot!(y("a: { b: %x, c: 1 }"), @r#"S0115 1:9 Reserved first character | Write `"%x"`."#);
    assert_snapshot!(y("a: & b"), @r#"S0115 1:4 Reserved first character | Write `"& b"`."#);
    assert_snapshot!(y("a: >5 GB"), @r#"S0115 1:4 Reserved first character | Write `">5 GB"`."#);
    assert_snapshot!(y("a: 1\n%x: 2"), @r#"S0115 2:1 Reserved first character | Write `"%x"`."#);
    assert_snapshot!(y("base: &bass {x: 1}\nb: *base"), @"S0122 2:4 Alias without an anchor | Did you mean `*bass`?");
    assert_snapshot!(y("b: *later\nc: &later 1"), @r#"
    S0122 1:4 Alias without an anchor | Define the anchor `&later` above; text that begins with `*` needs quotes.
    "#);
}

#[test]
fn invalid_yaml_quotes_are_errors() {
    assert_snapshot!(y("a: \"x\nb: 1"), @"S0116 1:4 Quote is not closed | Close the quote on its line; text of several lines goes below `key: |`.");
    assert_snapshot!(y("a:\n  b: \"x\n  c: y\nd: \"z\"\n"), @"S0116 2:6 Quote is not closed | Close the quote on its line; text of several lines goes below `key: |`.");
    assert_snapshot!(y("a: 'x\nb: 1\nc: 2"), @"S0116 1:4 Quote is not closed | Close the quote on its line; text of several lines goes below `key: |`.");
    assert_snapshot!(y("a: \"x\n"), @"S0116 1:4 Quote is not closed | Close the quote on its line; text of several lines goes below `key: |`.");
    assert_snapshot!(y("a: 'it's'"), @r#"S0124 1:8 Text after a closing quote | Write `"it's"`; inside single quotes, `'` is written twice: `'it''s'`."#);
    assert_snapshot!(y("a: \"x\" y"), @r#"S0124 1:8 Text after a closing quote | Write `"x y"`."#);
    assert_snapshot!(y("a: \"C:\\dir\\x\""), @r"S0124 1:7 Unknown escape in quotes | Write `\\` for a backslash, or use single quotes, which have no escapes.");
}

#[test]
fn invalid_yaml_colons_and_indentation_are_errors() {
    assert_snapshot!(y("a:1\nb: 2"), @"S0117 1:2 No space after the colon | Write `a: 1`.");
    assert_snapshot!(y("a: 1\nb:2\nc: 3"), @"S0117 2:2 No space after the colon | Write `b: 2`.");
    assert_snapshot!(y("vpc:\n  main:\n    cidr:10.0.0.0/16\n"), @"S0117 3:9 No space after the colon | Write `cidr: 10.0.0.0/16`.");
    assert_snapshot!(mended("a.yaml", "vpc:\n  main:\n    cidr:10.0.0.0/16\n"), @r"
    vpc:
      main:
        cidr: 10.0.0.0/16
    ");
    assert_snapshot!(y("stead:1"), @"S0117 1:6 No space after the colon | Write `stead: 1`.");
    assert_snapshot!(y("a: b: c"), @r#"S0110 1:5 Second colon in a value | Write `a: "b: c"` if it is text; a nested key goes on a line of its own."#);
    assert_snapshot!(y("a:\n    b: 1\n  c: 2"), @"S0118 3:3 Indentation matches no block | Align it with the lines of the block that it belongs to.");
    assert_snapshot!(y("a:\n  b: 1\n   c: 2"), @"S0118 3:4 Indentation matches no block | Align it with the lines of the block that it belongs to.");
    assert_snapshot!(y("a: 1\n b: 2"), @"S0118 2:2 Indentation matches no block | Align it with the lines of the block that it belongs to.");
    assert_snapshot!(y("a: 1\n- b"), @"S0118 2:1 List items beside keys | Indent the list below a key of its own.");
    assert_snapshot!(y("- a\nb: 1"), @"S0118 2:1 List items beside keys | Indent the list below a key of its own.");
    assert_snapshot!(y("a: - b"), @"S0110 1:4 List item after a key | Write `a: [b]`, or put each `- ` on a line of its own.");
    assert_snapshot!(y("a:\n  b\n  c: 1"), @"S0110 2:3 Line without a key | Write `key: value`, or indent it as part of the value above.");
    assert_snapshot!(y("a:\n\tb: 1"), @"S0111 2:1 Tab in the indentation | Write two spaces for each level instead of the tab.");
    assert_snapshot!(mended("a.yaml", "a:\n\tb: 1"), @r"
    a:
      b: 1
    ");
    assert_snapshot!(y("a:\n  b: 1\n\tc: 1"), @"S0111 3:1 Tab in the indentation | Write two spaces for each level instead of the tab.");
    assert_snapshot!(y("a:\n  b: [\n\t1]\n\tc: 2"), @"S0111 3:1 Tab in the indentation | Write two spaces for each level instead of the tab.");
}

#[test]
fn unclosed_yaml_brackets_are_errors() {
    assert_snapshot!(y("a: [1, 2\nb: 3"), @"S0125 1:4 Bracket is not closed | Close it with `]`; text that begins with a bracket needs quotes.");
    assert_snapshot!(y("a: {x: 1\nb: 3"), @"S0125 1:4 Bracket is not closed | Close it with `}`; text that begins with a bracket needs quotes.");
    assert_snapshot!(y("a: [1, 2"), @"S0125 1:4 Bracket is not closed | Close it with `]`; text that begins with a bracket needs quotes.");
    assert_snapshot!(y("a: [1}"), @"S0125 1:4 Brackets do not match | Close each bracket with one of the same type.");
    assert_snapshot!(y("a: ]"), @"S0125 1:4 Unmatched bracket | Remove it, or put quotes around the text.");
    assert_snapshot!(y("a: {x: 1 y: 2}"), @"S0125 1:11 Comma or closing bracket missing | Write a comma, close the bracket, or put quotes around the text.");
}

#[test]
fn yaml_that_is_not_a_mapping_is_an_error() {
    assert_snapshot!(y("- a"), @"S0107 1:1 Not a mapping | Begin with `stead: 1` and `stack: NAME`.");
    assert_snapshot!(y("just some words"), @"S0107 1:1 Not a mapping | Begin with `stead: 1` and `stack: NAME`.");
    assert_snapshot!(y("a: 1\n---\nb: 2"), @"S0121 2:1 Several documents | Move it to a file of its own: all files of a stack's directory are read together.");
    assert_snapshot!(y("a: !!str 16"), @r#"S0119 1:4 Tag | Write `"16"`."#);
    assert_snapshot!(y("a: !secret x\nb: !!map {c: 1}"), @r"
    S0119 1:4 Tag | Remove the tag; text that begins with `!` needs quotes.
    S0119 2:4 Tag | Remove the tag.
    ");
    assert_snapshot!(y("? [a]\n: b"), @"S0120 1:3 Key that is not text | Write `key: value`.");
    assert_snapshot!(y("[a]: b"), @"S0120 1:1 Key that is not text | Write `key: value`.");
    assert_snapshot!(y(": b"), @"S0120 1:1 Key that is not text | Write `key: value`.");
    assert_snapshot!(y("a: &x 1\n*x : 2"), @"S0120 2:1 Key that is not text | Write `key: value`.");
    assert_snapshot!(y("a: {<<: 1}"), @"S0123 1:9 Merge of a value that is not a mapping | Write `<<: *anchor` or `<<: [*first, *second]`.");
    assert_snapshot!(y("a: &x 1\nb: {<<: [*x]}"), @"S0123 2:10 Merge of a value that is not a mapping | Write `<<: *anchor` or `<<: [*first, *second]`.");
    assert_snapshot!(y("a: &x {b: *x}"), @"S0122 1:11 Alias inside its own anchor | Put the anchor on a smaller block, or write this one out.");
    assert_snapshot!(y("a: &x {k: 1}\nb: {<<: *x, <<: *x}"), @"S0123 2:13 Second merge key | Write `<<: [*first, *second]`; the first one wins.");
}

#[test]
fn unquoted_kdl_text_is_an_error() {
    assert_snapshot!(k("vpc main cidr=10.0.0.0/16"), @r#"S0131 1:15 Text needs quotes | Write `cidr="10.0.0.0/16"`."#);
    assert_snapshot!(mended("a.kdl", "vpc main cidr=10.0.0.0/16"), @r#"vpc main cidr="10.0.0.0/16""#);
    assert_snapshot!(k("vm web { health_check_path /healthz; repo acme/shop }"), @r#"
    S0131 1:28 Text needs quotes | Write `"/healthz"`.
    S0131 1:43 Text needs quotes | Write `"acme/shop"`.
    "#);
    assert_snapshot!(mended("a.kdl", "vm web { health_check_path /healthz; port 1 }"), @r#"vm web { health_check_path "/healthz"; port 1 }"#);
    assert_snapshot!(k("timeouts create=15m"), @r#"S0131 1:17 Text needs quotes | Write `create="15m"`."#);
    assert_snapshot!(k("a check=${self >= 1 && self <= 6} b=1"), @r#"S0131 1:9 Text needs quotes | Write `check="${self >= 1 && self <= 6}"`."#);
    assert_snapshot!(mended("a.kdl", "a check=${self == \"x\"} b=1"), @r#"a check="${self == \"x\"}" b=1"#);
    assert_snapshot!(k("a url=https://example.com/x?y=1 // c"), @r#"S0131 1:7 Text needs quotes | Write `url="https://example.com/x?y=1"`."#);
    assert_snapshot!(k("a type=set(string)"), @r#"S0131 1:8 Text needs quotes | Write `type="set(string)"`."#);
    assert_snapshot!(k("a $vm.web[0]"), @r#"S0131 1:3 Text needs quotes | Write `"$vm.web[0]"`."#);
    assert_snapshot!(k("a color=#fff"), @r##"S0131 1:9 Text needs quotes | Write `color="#fff"`."##);
    assert_snapshot!(k("a path=C:\\dir"), @r#"S0131 1:8 Text needs quotes | Write `path="C:\\dir"`."#);
    assert_snapshot!(k("a name='it is'"), @r#"S0137 1:8 Single quotes | Write `name="it is"`."#);
    assert_snapshot!(mended("a.kdl", "a name='it is' x=1"), @r#"a name="it is" x=1"#);
    assert_snapshot!(k("a 1.2.3 .5 -x"), @r#"
    S0131 1:3 Text needs quotes | Write `"1.2.3"`.
    S0131 1:9 Text needs quotes | Write `".5"`.
    "#);
}

#[test]
fn invalid_kdl_keywords_lists_and_comments_are_errors() {
    assert_snapshot!(k("a x=true y=false z=null"), @r"
    S0132 1:5 Keyword without `#` | Write `x=#true`.
    S0132 1:12 Keyword without `#` | Write `y=#false`.
    S0132 1:20 Keyword without `#` | Write `z=#null`.
    ");
    assert_snapshot!(mended("a.kdl", "a x=true"), @"a x=#true");
    assert_snapshot!(k("a x=#True y=#yes"), @r"
    S0132 1:5 Unknown keyword | Write `x=#true`.
    S0132 1:13 Unknown keyword | Write `y=#true`.
    ");
    assert_snapshot!(k("a inf"), @r#"S0131 1:3 Text needs quotes | Write `"inf"`."#);
    assert_snapshot!(k("# comment\na 1 # more \"words\"\nb 2"), @r#"
    S0135 1:1 Comment with `#` | Write `// comment`.
    S0135 2:5 Comment with `#` | Write `// more "words"`.
    "#);
    assert_snapshot!(mended("a.kdl", "# comment {\na 1"), @r"
    // comment {
    a 1
    ");
    assert_snapshot!(k("a [1, 2]"), @"S0136 1:3 List in brackets | Write `a 1 2`.");
    assert_snapshot!(k("a nodes=[x, y]"), @"S0136 1:9 List in brackets | Write `nodes x y`.");
    assert_snapshot!(k("a x, y, 3, 4"), @"S0136 1:3 Commas between values | Write `x y 3 4`; text with a comma needs double quotes.");
}

#[test]
fn the_syntax_of_other_languages_in_kdl_is_an_error() {
    assert_snapshot!(k("vpc main {\n  cidr = \"10.0.0.0/16\"\n  size=3\n}"), @r#"
    S0133 2:7 `=` after a name | Write `cidr "10.0.0.0/16"`.
    S0133 3:7 `=` after a name | Write `size 3`.
    "#);
    assert_snapshot!(mended("a.kdl", "vpc main {\n  cidr = \"10.0.0.0/16\"\n}"), @r#"
    vpc main {
      cidr "10.0.0.0/16"
    }
    "#);
    assert_snapshot!(k("vpc main {\n  cidr = 10.0.0.0/16\n}"), @r#"S0133 2:7 `=` after a name | Write `cidr "10.0.0.0/16"`."#);
    assert_snapshot!(k("vpc:\n  main:\n    cidr: 1"), @"S0134 1:4 Colon after a name | Write `vpc { … }` for a block; if the whole file is YAML, give it the extension `.yaml`.");
    assert_snapshot!(mended("a.kdl", "stack: shop"), @"stack shop");
    assert_snapshot!(k("vpc main: { cidr a }"), @"S0134 1:9 Colon after a name | Write `main { … }`.");
    assert_snapshot!(k("cidr: 10.0.0.0/16\na : true"), @r#"
    S0134 1:5 Colon after a name | Write `cidr "10.0.0.0/16"`.
    S0134 2:2 Colon after a name | Write `a #true`.
    "#);
    assert_snapshot!(k("vpc main cidr: 10.0.0.0/16 b=1"), @r#"S0134 1:14 Colon after a name | Write `cidr="10.0.0.0/16"`."#);
    assert_snapshot!(mended("a.kdl", "vpc main cidr: 10.0.0.0/16 b=1"), @r#"vpc main cidr="10.0.0.0/16" b=1"#);
    assert_snapshot!(mended("a.kdl", "a : true"), @"a #true");
    assert_snapshot!(mended("a.kdl", "a { cidr = 10.0.0.0/16; b 1 }"), @r#"a { cidr "10.0.0.0/16"; b 1 }"#);
    assert_snapshot!(k("a (u8)1 x=(y)2 3"), @r"
    S0138 1:3 Type annotation | Remove the parentheses and their content.
    S0138 1:11 Type annotation | Remove the parentheses and their content.
    S0139 1:7 Value and block at once | Keep the value, or write all of it as keys: `a { key value }`; a map of named blocks is `a { first { … }; second { … } }`.
    ");
    assert_snapshot!(k("\"a\": 1"), @"S0134 1:4 Colon after a name | Write `a 1`.");
}

#[test]
fn unclosed_kdl_braces_and_strings_are_errors() {
    assert_snapshot!(k("a {\n  b {\n    c 1\n}"), @"S0142 1:3 Brace is not closed | Close it with `}`.");
    assert_snapshot!(k("a {\n}\n}"), @"S0142 3:1 Unmatched brace | Remove it, or look for a `{` that is missing above.");
    assert_snapshot!(k("a \"x\nb 1"), @r#"S0141 1:3 Text is not closed | Close the quote. Text of several lines is written between two lines of `"""`."#);
    assert_snapshot!(k("a \"x"), @r#"S0141 1:3 Text is not closed | Close the quote. Text of several lines is written between two lines of `"""`."#);
    assert_snapshot!(k("a \"C:\\dir\""), @r##"S0141 1:6 Unknown escape in text | Write `\\` for a backslash, or the whole text as `#"…"#`."##);
    assert_snapshot!(k("a \"\\u{110000}\""), @r##"S0141 1:4 Unknown escape in text | Write `\\` for a backslash, or the whole text as `#"…"#`."##);
    assert_snapshot!(k("a \"\"\"x\"\"\""), @r#"S0141 1:3 Text of several lines is not well formed | Put `"""` at the end of the first line and on a line of its own after the text; the last one's indentation is cut off."#);
    assert_snapshot!(k("a \"\"\"\n  x\n y\n  \"\"\""), @r#"S0141 3:1 Text of several lines is not well formed | Put `"""` at the end of the first line and on a line of its own after the text; the last one's indentation is cut off."#);
    assert_snapshot!(k("a \"\"\"\n  x\"\"\""), @r#"S0141 2:4 Text of several lines is not well formed | Put `"""` at the end of the first line and on a line of its own after the text; the last one's indentation is cut off."#);
    assert_snapshot!(k("a 1 /* x"), @"S0130 1:5 Syntax error | Close it with `*/`.");
    assert_snapshot!(k("a \"b\"\"c\""), @"S0130 1:6 Syntax error | Put a space before it; quotes go around the whole text.");
    assert_snapshot!(k("a {} b"), @"S0130 1:6 Syntax error | Put this on a line of its own, or before the block.");
    assert_snapshot!(k("{ a }"), @"S0130 1:1 Syntax error | Write `name value` or `name { … }`.");
    assert_snapshot!(k("a b="), @"S0130 1:5 Syntax error | Write a word, text in double quotes, a number, `#true`, `#false` or `#null`.");
    assert_snapshot!(k("a =\nb 1"), @"S0133 1:2 `=` after a name | Write `a VALUE`.");
    assert_snapshot!(k("a \u{202E}b"), @r"S0130 1:3 Syntax error | Remove it; inside text, write it as `\u{…}`.");
    assert_snapshot!(k("1 a"), @"S0130 1:1 Syntax error | Write `name value` or `name { … }`.");
    assert_snapshot!(k("a 1;; b 2"), @"S0130 1:5 Syntax error | Write `name value` or `name { … }`.");
    assert_snapshot!(k("a )"), @"S0130 1:3 Syntax error | Write a word, text in double quotes, a number, `#true`, `#false` or `#null`.");
    assert_snapshot!(k("a \\ b"), @r"S0130 1:5 Syntax error | Put the text into double quotes, with `\\` for a backslash.");
    assert_snapshot!(k("a (u8"), @"S0138 1:3 Type annotation | Remove the parentheses and their content.");
}

#[test]
fn both_syntaxes_reject_deep_nesting_and_expansion_bombs() {
    let deep = 10_000;
    let stairs = lines(deep, |n| format!("{}a:\n", " ".repeat(n - 1)));
    assert_snapshot!(y(&stairs), @"S0104 65:65 Nested too deeply | Look for a bracket or brace that is not closed.");
    assert_snapshot!(y(&format!("a: {}", "[".repeat(deep))), @"S0104 1:67 Nested too deeply | Look for a bracket or brace that is not closed.");
    assert_snapshot!(y(&format!("a: {}1{}", "{x: ".repeat(deep), "}".repeat(deep))), @"S0104 1:256 Nested too deeply | Look for a bracket or brace that is not closed.");
    assert_snapshot!(y(&format!("a:\n{}1", "- ".repeat(deep))), @"S0104 2:127 Nested too deeply | Look for a bracket or brace that is not closed.");
    assert_snapshot!(k(&"a {\n".repeat(deep)), @"S0104 65:3 Nested too deeply | Look for a bracket or brace that is not closed.");
    assert_snapshot!(k(&format!("{}{}", "a {".repeat(deep), "}".repeat(deep))), @"S0104 1:195 Nested too deeply | Look for a bracket or brace that is not closed.");
    assert_snapshot!(k(&"/-a {".repeat(deep)), @"S0104 1:325 Nested too deeply | Look for a bracket or brace that is not closed.");
    assert_snapshot!(k(&format!("{}{}", "/*".repeat(deep), "*/".repeat(deep))), @"no problem");
    assert_snapshot!(k(&"(".repeat(deep)), @"S0138 1:1 Type annotation | Remove the parentheses and their content.");

    let level = |n: usize| format!("a{n}: &a{n} [{}]\n", format!("*a{},", n - 1).repeat(9));
    let bomb = format!("a0: &a0 [1,1,1,1,1,1,1,1,1]\n{}", lines(12, level));
    assert_snapshot!(y(&bomb), @"S0105 5:9 Aliases repeat too much | Write the values out, or use `locals` and `for_each`.");
    let level = |n: usize| format!("a{n}: &a{n} {{<<: *a{0}, x{n}: [*a{0}, *a{0}]}}\n", n - 1);
    let merges = lines(40, level);
    assert_snapshot!(y(&format!("a0: &a0 {{x: 1}}\n{merges}")), @"S0105 10:14 Aliases repeat too much | Write the values out, or use `locals` and `for_each`.");
    let tower = lines(100, |n| format!("a{n}: &a{n} [*a{}]\n", n - 1));
    assert_snapshot!(y(&format!("a0: &a0 [1]\n{tower}")), @"S0104 64:12 Nested too deeply | Look for a bracket or brace that is not closed.");
}

#[test]
fn the_number_of_reported_problems_is_limited() {
    let count = |path, text: &str| read(path, text).unwrap_err().len();
    assert_eq!(count("a.yaml", &lines(1000, |n| format!("a{n}: 1\na{n}: 1\n"))), 50);
    assert_eq!(count("a.kdl", &"# c\n".repeat(1000)), 50);
    assert_eq!(count("a.kdl", &lines(1000, |n| format!("a{n} 1\na{n} 1\n"))), 50);
    assert_eq!(count("a.yaml", &"a: 1\n".repeat(1000)), 1, "the same again is told once");
    assert_eq!(count("a.kdl", &"a 1\n".repeat(1000)), 1, "the same again is told once");
}
