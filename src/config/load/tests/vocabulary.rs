//! The form of the value that each keyword takes. `words` derives from it which forms are wrong.

use crate::config::keywords;

/// A keyword and the form of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    /// The keyword, as files write it.
    pub name: &'static str,
    /// The form of the keyword's value.
    pub takes: Takes,
    /// Whether its block is wrong without it.
    pub needed: bool,
}

/// Form of a keyword's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// The version of the language.
    Version,
    /// One of these literals.
    OneOf(&'static [&'static str]),
    /// A name that can be part of an address.
    Name,
    /// Named blocks, possibly none.
    Blocks,
    /// Named values of any form, possibly none.
    Values,
    /// Values for names that are declared elsewhere, possibly none.
    Known,
    /// A map of keywords, possibly empty.
    Words,
    /// A map of keywords with at least one entry.
    Said,
    /// A list of maps, possibly empty.
    Entries,
    /// One path, or a list of them, possibly empty.
    Paths,
    /// One literal path.
    Path,
    /// The path of a file below the stack's directory.
    File,
    /// The literal `true` or `false`.
    Flag,
    /// `true`, `false`, or an expression that is known while loading.
    Condition,
    /// An expression that is the whole value.
    Expression,
    /// The keys of the instances: a list, a map, or an expression.
    Keys,
    /// Addresses, in a list.
    Addresses,
    /// A single address, not a list.
    Address,
    /// Attributes of the block, in a list.
    Attributes,
    /// One attribute of the block.
    Attribute,
    /// One kind, or a list of kinds.
    Kinds,
    /// The type of a variable.
    Type,
    /// Exactly one plain value.
    Plain,
    /// Plain values, at least one.
    Plains,
    /// A string, possibly empty.
    Prose,
    /// A string that is known before any resource exists, possibly empty.
    Front,
    /// An address without a `$`, or the name of a module.
    Place,
    /// A string that is not empty.
    Text,
    /// One recipient of the ledger's secrets, or a list of them.
    Recipients,
    /// A calendar date such as `2027-01-31`.
    Date,
    /// A duration with its unit.
    Duration,
    /// The id of a live object.
    Id,
    /// A project by reference, name or id.
    Project,
    /// The name of a process environment variable.
    Variable,
    /// The name of a program in the user's settings.
    Program,
    /// The number of characters of a generated secret.
    Length,
    /// The name of an environment.
    Environment,
}

const fn word(name: &'static str, takes: Takes) -> Word {
    Word { name, takes, needed: false }
}

const fn needed(name: &'static str, takes: Takes) -> Word {
    Word { name, takes, needed: true }
}

/// Top-level keywords other than the kinds.
pub const TOP: &[Word] = &[
    word("backend", Takes::OneOf(&["required"])),
    word("data", Takes::Known),
    word("environments", Takes::Blocks),
    word("import", Takes::Entries),
    word("include", Takes::Paths),
    word("locals", Takes::Values),
    word("moved", Takes::Entries),
    word("outputs", Takes::Values),
    word("policy", Takes::Blocks),
    word("removed", Takes::Entries),
    word("secrets", Takes::Words),
    needed("stack", Takes::Name),
    word("stacks", Takes::Values),
    needed("stead", Takes::Version),
    word("use", Takes::Blocks),
    word("vars", Takes::Blocks),
];

/// Keywords of every resource's block.
pub const BODY: &[Word] = &[
    word("allow_exposure", Takes::Entries),
    word("deliver_secret", Takes::Said),
    word("depends_on", Takes::Addresses),
    word("for_each", Takes::Keys),
    word("lifecycle", Takes::Words),
    word("project", Takes::Project),
    word("when", Takes::Condition),
];

/// Keywords allowed in a `lifecycle` block.
pub const LIFECYCLE: &[Word] = &[
    word("final_snapshot", Takes::Condition),
    word("ignore_drift", Takes::Attributes),
    word("on_remove", Takes::OneOf(&["delete", "keep"])),
    word("protect", Takes::Condition),
    word("replace", Takes::OneOf(&["create_first", "delete_first", "never"])),
    word("timeouts", Takes::Words),
];

/// Keywords allowed in a `lifecycle.timeouts` block.
pub const TIMEOUTS: &[Word] =
    &[word("create", Takes::Duration), word("delete", Takes::Duration), word("update", Takes::Duration)];

/// Keywords of an entry of `lifecycle.ignore_drift`.
pub const IGNORED: &[Word] =
    &[needed("field", Takes::Attribute), word("reason", Takes::Text), word("until", Takes::Date)];

/// Keywords allowed in a `deliver_secret` block.
pub const DELIVER: &[Word] = &[
    word("env_file", Takes::File),
    word("file", Takes::File),
    word("sink", Takes::Program),
    word("variable", Takes::Variable),
];

/// Keywords of a variable's declaration.
pub const VARIABLE: &[Word] = &[
    word("check", Takes::Expression),
    word("default", Takes::Plain),
    word("deliver_secret", Takes::Said),
    word("description", Takes::Prose),
    word("from_file", Takes::File),
    word("generate", Takes::Length),
    word("one_of", Takes::Plains),
    word("source", Takes::Program),
    word("type", Takes::Type),
];

/// Keywords of an environment.
pub const ENVIRONMENT: &[Word] = &[
    word("confirm", Takes::OneOf(&["ask", "typed"])),
    word("default", Takes::Flag),
    word("set", Takes::Known),
    word("vars", Takes::Known),
];

/// Keywords of a policy.
pub const POLICY: &[Word] = &[
    needed("deny", Takes::Expression),
    word("level", Takes::OneOf(&["advisory", "overridable", "mandatory"])),
    needed("message", Takes::Text),
    word("on", Takes::Kinds),
];

/// Keywords of a `use` block, with the values that each takes.
pub const USE: &[Word] = &[
    word("for_each", Takes::Keys),
    word("name", Takes::Front),
    needed("source", Takes::Path),
    word("when", Takes::Condition),
    word("with", Takes::Known),
];

/// Keywords of an entry of `stacks`.
pub const STACK: &[Word] = &[word("env", Takes::Environment), needed("source", Takes::Path)];

/// Keywords of an entry of `moved`.
pub const MOVED: &[Word] = &[
    needed("from", Takes::Address),
    word("from_stack", Takes::Path),
    word("stack", Takes::Path),
    needed("to", Takes::Address),
];

/// Keywords allowed in the `secrets` block.
pub const SECRETS: &[Word] = &[word("recipients", Takes::Recipients)];

/// Keywords of an entry of `import`.
pub const IMPORT: &[Word] =
    &[needed("id", Takes::Id), needed("to", Takes::Address), word("when", Takes::Condition)];

/// Keywords of an entry of `removed`.
pub const REMOVED: &[Word] =
    &[needed("action", Takes::OneOf(&["delete", "forget"])), needed("from", Takes::Place)];

/// Every place with its keywords, and the language's own list of them.
pub const PLACES: &[(&str, &[Word], keywords::Keywords)] = &[
    ("top", TOP, keywords::TOP),
    ("body", BODY, keywords::BODY),
    ("lifecycle", LIFECYCLE, keywords::LIFECYCLE),
    ("timeouts", TIMEOUTS, keywords::TIMEOUTS),
    ("ignored", IGNORED, keywords::IGNORED),
    ("deliver", DELIVER, keywords::DELIVER),
    ("secrets", SECRETS, keywords::SECRETS),
    ("variable", VARIABLE, keywords::VARIABLE),
    ("environment", ENVIRONMENT, keywords::ENVIRONMENT),
    ("policy", POLICY, keywords::POLICY),
    ("use", USE, keywords::USE),
    ("stack", STACK, keywords::STACK),
    ("moved", MOVED, keywords::MOVED),
    ("import", IMPORT, keywords::IMPORT),
    ("removed", REMOVED, keywords::REMOVED),
];

#[test]
fn the_keyword_tables_are_complete() {
    for (place, words, known) in PLACES {
        let mut told: Vec<&str> = words.iter().map(|word| word.name).collect();
        let mut known: Vec<&str> = keywords::word_names(known).collect();
        told.sort_unstable();
        known.sort_unstable();
        assert_eq!(told, known, "{place}");
    }
}
