//! Explanations of expressions that do not parse: what was found, and what to write instead. In: the parser's
//! error and the expression; out: a detail, a hint and, where only one meaning is possible, a replacement.

use super::other_tools;
use crate::model::cel::SyntaxError;

/// Explanation of a syntax error in an expression.
pub(in crate::config) struct ExpressionSyntaxHint {
    /// What was found, and what was expected in its place.
    pub(in crate::config) detail: String,
    /// Advice on what to write instead.
    pub(in crate::config) help: String,
    /// Byte range of the error in the expression.
    pub(in crate::config) place: std::ops::Range<usize>,
    /// Replacement for that range; `None` if several meanings are possible.
    pub(in crate::config) fix: Option<&'static str>,
}

/// Hint for a user who did not intend an expression at all.
const NO_EXPRESSION: &str = "for the text `${` itself, write `$${`";

/// Returns the explanation of a parser error.
pub(in crate::config) fn explain_syntax_error(error: &SyntaxError, source: &str) -> ExpressionSyntaxHint {
    let offset = source.floor_char_boundary(error.offset.unwrap_or_default().min(source.len()));
    let found = first_token(&source[offset..]);
    let place = offset..offset + found.len();
    let mistake = |detail: String, help: &str| ExpressionSyntaxHint {
        detail,
        help: help.to_owned(),
        place: place.clone(),
        fix: None,
    };
    if source.trim().is_empty() {
        return mistake(
            "There is nothing between `${` and `}`.".into(),
            "write an expression there, such as `${env == 'prod'}`",
        );
    }
    if let Some((detail, right)) = other_sign(found) {
        return ExpressionSyntaxHint { fix: Some(right), ..mistake(detail, &format!("write `{right}`")) };
    }
    if found == "$" {
        let detail = "Within `${…}`, names are written without a `$`.".into();
        return ExpressionSyntaxHint { fix: Some(""), ..mistake(detail, "remove the inner `$`") };
    }
    match other_form(found, &source[..offset]) {
        Some((detail, help)) => mistake(detail, help),
        None => explain_general_error(&error.message, source, found, &mistake),
    }
}

/// Returns the explanation and the replacement for an operator or keyword of another language; `None`
/// for any other token.
fn other_sign(found: &str) -> Option<(String, &'static str)> {
    if let Some(right) = other_tools::root_hint(found) {
        return Some((format!("`{found}` is a reserved word of expressions."), right));
    }
    let right = match found {
        "=" => return Some(("One `=` is not a comparison.".into(), "==")),
        "and" | "AND" | "&" => "&&",
        "or" | "OR" => "||",
        _ => return None,
    };
    Some((format!("`{found}` is not a logical operator here."), right))
}

/// Returns the explanation and the hint for a construct of another language; `None` if it is not known.
/// `before` is the expression up to `found`.
fn other_form(found: &str, before: &str) -> Option<(String, &'static str)> {
    let last = before.trim_end().rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let reserved = || format!("`{found}` is a reserved word of expressions.");
    Some(match (found, last) {
        ("*", _) if before.trim_end().ends_with('[') => (
            "`[*]` means nothing here.".into(),
            "write `values(MAP).map(x, x.ATTRIBUTE)`, as in `values(vm.web).map(v, v.id)`",
        ),
        ("|", _) => (
            "One `|` means nothing: there are no filters.".into(),
            "for `or`, write `||`; a function is written around its value, as in `string(x)`",
        ),
        (_, "not") => ("`not` means nothing here.".into(), "write `!` before the condition"),
        ("`", _) => ("A text needs single quotes.".into(), "write `'text'`"),
        ("?", _) if before.ends_with('?') => {
            ("There is no `??`.".into(), "write `get(MAP, 'key', OTHER)`, or `has(x.y) ? x.y : OTHER`")
        }
        ("if" | "then" | "unless", _) => (reserved(), "write `CONDITION ? VALUE : OTHER`"),
        ("for" | "while" | "loop", _) => (reserved(), "write `LIST.map(x, …)`, or `LIST.filter(x, …)`"),
        _ => return None,
    })
}

fn explain_general_error(
    message: &str,
    source: &str,
    found: &str,
    mistake: &dyn Fn(String, &str) -> ExpressionSyntaxHint,
) -> ExpressionSyntaxHint {
    let what =
        if found.is_empty() { "the expression ends".to_owned() } else { format!("`{found}` occurs") };
    let capital = |text: String| {
        let mut chars = text.chars();
        chars.next().map(|first| first.to_uppercase().chain(chars).collect::<String>()).unwrap_or_default()
    };
    if let Some(word) = message.strip_prefix("reserved identifier: ") {
        return mistake(format!("`{word}` is a reserved word of expressions."), "give it another name");
    }
    if message.contains("conditional") {
        let help = "write both values: `CONDITION ? VALUE : OTHER`";
        return mistake(capital(format!("{what} where the `:` of `? … : …` is expected.")), help);
    }
    if message.contains("after '.'") {
        return mistake(
            capital(format!("{what} where a name is expected, after the dot.")),
            "name an attribute, or remove the dot",
        );
    }
    for (closing, opening) in [(")", "("), ("]", "["), ("}", "{")] {
        if message.starts_with(&format!("expected '{closing}'")) {
            let help = format!("close the `{opening}` with `{closing}`");
            return mistake(capital(format!("{what} where a `{closing}` is expected.")), &help);
        }
    }
    if source.matches('\'').count() % 2 == 1 || source.matches('"').count() % 2 == 1 {
        return mistake(
            "A text in quotes is not closed.".into(),
            "close it with the quote that it begins with",
        );
    }
    if message.contains("expecting <EOF>") {
        let help = "join the two by an operator, such as `+`, `==` or `&&`, or remove one";
        return mistake(format!("`{found}` follows a whole expression."), help);
    }
    if found.is_empty() {
        return mistake(
            "The expression ends where a value is expected.".into(),
            &format!("write the value; {NO_EXPRESSION}"),
        );
    }
    mistake(
        format!("`{found}` occurs where a value is expected."),
        &format!("write a value there; {NO_EXPRESSION}"),
    )
}

/// Returns the first token of a string: a word, a number, or one character; empty at the end.
fn first_token(text: &str) -> &str {
    let word = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    let one = text.chars().next().map_or(0, char::len_utf8);
    &text[..word.max(one)]
}

#[cfg(test)]
mod tests {
    use super::explain_syntax_error;
    use crate::model::cel::CelProgram;

    #[test]
    fn every_syntax_error_has_a_plain_explanation() {
        let told = |source: &str| {
            let error = CelProgram::parse(source).expect_err(source);
            let mistake = explain_syntax_error(&error, source);
            let fix = mistake.fix.map(|fix| format!(" | fix: `{fix}`")).unwrap_or_default();
            format!("{source} @{} {} | {}{fix}", mistake.place.start, mistake.detail, mistake.help)
        };
        let all = [
            "",
            "1 +",
            "vars.x == ",
            "env = 'prod'",
            "env == 'a' ? 1",
            "a and b",
            "a or b",
            "not a",
            "if env then 1",
            "(env == 'a'",
            "[1, 2",
            "a | upper",
            "a[0].",
            "1 2",
            "$vars.x",
            "env == `a`",
            "var.x",
            "env ?? 1",
            "[for x in vm : x]",
            "a, b",
            "package",
            "1 + * 2",
            "a ! b",
        ];
        insta::assert_snapshot!(all.map(told).join("\n"), @"
         @0 There is nothing between `${` and `}`. | write an expression there, such as `${env == 'prod'}`
        1 + @3 The expression ends where a value is expected. | write the value; for the text `${` itself, write `$${`
        vars.x ==  @10 The expression ends where a value is expected. | write the value; for the text `${` itself, write `$${`
        env = 'prod' @4 One `=` is not a comparison. | write `==` | fix: `==`
        env == 'a' ? 1 @14 The expression ends where the `:` of `? … : …` is expected. | write both values: `CONDITION ? VALUE : OTHER`
        a and b @2 `and` is not a logical operator here. | write `&&` | fix: `&&`
        a or b @2 `or` is not a logical operator here. | write `||` | fix: `||`
        not a @4 `not` means nothing here. | write `!` before the condition
        if env then 1 @0 `if` is a reserved word of expressions. | write `CONDITION ? VALUE : OTHER`
        (env == 'a' @11 The expression ends where a `)` is expected. | close the `(` with `)`
        [1, 2 @5 The expression ends where a `]` is expected. | close the `[` with `]`
        a | upper @2 One `|` means nothing: there are no filters. | for `or`, write `||`; a function is written around its value, as in `string(x)`
        a[0]. @5 The expression ends where a name is expected, after the dot. | name an attribute, or remove the dot
        1 2 @2 `2` follows a whole expression. | join the two by an operator, such as `+`, `==` or `&&`, or remove one
        $vars.x @0 Within `${…}`, names are written without a `$`. | remove the inner `$` | fix: ``
        env == `a` @7 A text needs single quotes. | write `'text'`
        var.x @0 `var` is a reserved word of expressions. | write `vars` | fix: `vars`
        env ?? 1 @5 There is no `??`. | write `get(MAP, 'key', OTHER)`, or `has(x.y) ? x.y : OTHER`
        [for x in vm : x] @1 `for` is a reserved word of expressions. | write `LIST.map(x, …)`, or `LIST.filter(x, …)`
        a, b @1 `,` follows a whole expression. | join the two by an operator, such as `+`, `==` or `&&`, or remove one
        package @0 `package` is a reserved word of expressions. | give it another name
        1 + * 2 @4 `*` occurs where a value is expected. | write a value there; for the text `${` itself, write `$${`
        a ! b @2 `!` follows a whole expression. | join the two by an operator, such as `+`, `==` or `&&`, or remove one
        ");
    }
}
