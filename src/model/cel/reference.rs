//! Reference of the language's functions and macros: each with its result and a working example. The help and the
//! editor show it; a test evaluates the examples.

/// A function or a macro of the language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CelFunction {
    /// The name used in a call, without parentheses.
    pub name: &'static str,
    /// The call with its parameters, for the help.
    pub usage: &'static str,
    /// One sentence about the result.
    pub summary: &'static str,
    /// An expression that calls it.
    pub example: &'static str,
    /// The result of the example, as `Value` displays it; empty where it depends on a file.
    pub gives: &'static str,
}

const fn new_function(
    name: &'static str,
    usage: &'static str,
    summary: &'static str,
    example: &'static str,
    gives: &'static str,
) -> CelFunction {
    CelFunction { name, usage, summary, example, gives }
}

/// All functions and macros, sorted by name.
pub const FUNCTIONS: &[CelFunction] = &[
    new_function(
        "all",
        "list.all(x, TEST)",
        "Whether the test holds for every entry.",
        "[1, 2].all(x, x > 0)",
        "true",
    ),
    new_function("base64", "base64(text)", "The text in base64.", "base64('shop')", "c2hvcA=="),
    new_function("bool", "bool(text)", "The text `true` or `false` as a boolean.", "bool('true')", "true"),
    new_function(
        "cidr_subnet",
        "cidr_subnet(network, bits, number)",
        "A subnet of a network: the number of additional prefix bits, and the index of the subnet.",
        "cidr_subnet('10.0.0.0/16', 8, 2)",
        "10.0.2.0/24",
    ),
    new_function(
        "contains",
        "text.contains(part)",
        "Whether the text contains this part.",
        "'web-1'.contains('web')",
        "true",
    ),
    new_function(
        "double",
        "double(value)",
        "The value as a number with a fraction.",
        "double('1.5') * 2",
        "3.0",
    ),
    new_function(
        "endsWith",
        "text.endsWith(part)",
        "Whether the text ends with this part.",
        "'a.com'.endsWith('.com')",
        "true",
    ),
    new_function(
        "exists",
        "list.exists(x, TEST)",
        "Whether the test holds for one entry at least.",
        "[1, 2].exists(x, x == 2)",
        "true",
    ),
    new_function(
        "exists_one",
        "list.exists_one(x, TEST)",
        "Whether the test holds for exactly one entry.",
        "[1, 2, 2].exists_one(x, x == 2)",
        "false",
    ),
    new_function(
        "file",
        "file(path)",
        "The text of a file below the stack's directory.",
        "file('./boot.sh')",
        "",
    ),
    new_function(
        "filter",
        "list.filter(x, TEST)",
        "The entries for which the test holds.",
        "[1, 2, 3].filter(x, x > 1)",
        "[2, 3]",
    ),
    new_function(
        "format",
        "pattern.format(list)",
        "The pattern with its `%s` and `%d` filled in.",
        "'%s-%d'.format(['web', 2])",
        "web-2",
    ),
    new_function(
        "get",
        "get(map, key, default)",
        "A map's value, or the default where it has no such key.",
        "get({'a': 1}, 'b', 0)",
        "0",
    ),
    new_function("has", "has(map.key)", "Whether the map has this key.", "has({'a': 1}.a)", "true"),
    new_function("int", "int(value)", "The value as a whole number.", "int('40') + 2", "42"),
    new_function(
        "join",
        "list.join(separator)",
        "The texts of a list, joined to one text.",
        "['a', 'b'].join('-')",
        "a-b",
    ),
    new_function(
        "keys",
        "keys(map)",
        "The keys of a map, or of a block with `for_each`.",
        "keys({'a': 1, 'b': 2})",
        "[a, b]",
    ),
    new_function("lowerAscii", "text.lowerAscii()", "The text in lower case.", "'Web'.lowerAscii()", "web"),
    new_function(
        "map",
        "list.map(x, VALUE)",
        "A list of the results for each entry.",
        "[1, 2].map(x, x * 10)",
        "[10, 20]",
    ),
    new_function(
        "matches",
        "text.matches(pattern)",
        "Whether a regular expression matches a part of the text.",
        "'web-12'.matches('^web-[0-9]+$')",
        "true",
    ),
    new_function(
        "replace",
        "text.replace(old, new)",
        "The text with every occurrence of a part replaced.",
        "'a.b'.replace('.', '-')",
        "a-b",
    ),
    new_function(
        "sha256",
        "sha256(text)",
        "The text's SHA-256, in hexadecimal.",
        "size(sha256('shop'))",
        "64",
    ),
    new_function(
        "size",
        "size(value)",
        "The number of entries, or of characters of a text.",
        "size(['a', 'b'])",
        "2",
    ),
    new_function(
        "split",
        "text.split(separator)",
        "The parts of a text between separators.",
        "'a,b'.split(',')",
        "[a, b]",
    ),
    new_function(
        "startsWith",
        "text.startsWith(part)",
        "Whether the text begins with this part.",
        "'web-1'.startsWith('web')",
        "true",
    ),
    new_function("string", "string(value)", "The value as text.", "'port ' + string(8080)", "port 8080"),
    new_function("trim", "text.trim()", "The text without blanks around it.", "' a '.trim()", "a"),
    new_function("upperAscii", "text.upperAscii()", "The text in upper case.", "'web'.upperAscii()", "WEB"),
    new_function(
        "values",
        "values(map)",
        "The values of a map, or the instances of a block with `for_each`.",
        "values({'a': 1, 'b': 2})",
        "[1, 2]",
    ),
];

#[cfg(test)]
mod tests {
    use super::super::evaluate_program;
    use super::super::functions::FUNCTION_NAMES;
    use super::super::{CelProgram, ExpressionScope};
    use super::*;

    #[test]
    fn every_function_exists_and_returns_its_documented_example() {
        assert!(FUNCTIONS.is_sorted_by(|a, b| a.name < b.name));
        for name in FUNCTION_NAMES {
            assert!(FUNCTIONS.iter().any(|function| function.name == *name), "{name} is not explained");
        }
        for function in FUNCTIONS.iter().filter(|function| function.name != "file") {
            let program = CelProgram::parse(function.example).map_err(|error| error.message);
            let given = evaluate_program(&program.unwrap(), &ExpressionScope::default());
            assert_eq!(given.unwrap().to_string(), function.gives, "{}", function.example);
            assert!(function.example.contains(function.name) && function.usage.contains(function.name));
            assert!(function.summary.ends_with('.'), "{}", function.name);
        }
    }
}
