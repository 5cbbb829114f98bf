//! Keywords of the language: where each is allowed, what it means, and how it is written. One table for the
//! parser, completion, `explain` and the JSON Schema, so that none of them knows a keyword that another lacks.

use std::fmt;

/// Keyword of the language, with its documentation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Keyword {
    /// Keyword as it is written in a file.
    pub name: &'static str,
    /// Meaning of the keyword, in one sentence.
    pub summary: &'static str,
    /// How it is written in YAML; empty where the sentence is enough.
    pub example: &'static str,
    /// Form of the keyword's value.
    pub takes: KeywordValue,
    /// Whether the keyword is mandatory.
    pub needed: bool,
    /// Whether only a stack may have it. A module may not, because its caller decides.
    pub of_stacks: bool,
}

/// Form of the value that a keyword takes, for completion and the schema; the parser of each keyword checks it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeywordValue {
    /// A value whose form only this keyword has.
    Value,
    /// One of a few values, each with a sentence.
    OneOf(Keywords),
    /// A boolean: `true` or `false`.
    Boolean,
    /// An address, or several, without a `$`.
    Address,
    /// An address, or the name of a module, without a `$`.
    AddressOrModule,
    /// The names of kinds.
    Kinds,
    /// A map from variable names to values.
    Variables,
    /// A map, or a list of maps, with these keywords.
    Block(Keywords),
    /// A map from user-defined names to blocks with these keywords; if the list is empty, to any value.
    Named(Keywords),
}

const fn word(name: &'static str, summary: &'static str) -> Keyword {
    Keyword { name, summary, example: "", takes: KeywordValue::Value, needed: false, of_stacks: false }
}

impl Keyword {
    const fn example(self, example: &'static str) -> Self {
        Self { example, ..self }
    }

    const fn takes(self, takes: KeywordValue) -> Self {
        Self { takes, ..self }
    }

    const fn one_of(self, values: Keywords) -> Self {
        self.takes(KeywordValue::OneOf(values))
    }

    const fn mark_required(self) -> Self {
        Self { needed: true, ..self }
    }

    const fn of_stacks(self) -> Self {
        Self { of_stacks: true, ..self }
    }
}

impl fmt::Debug for Keyword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Keywords that are allowed in one context.
pub type Keywords = &'static [Keyword];

/// Returns the names of keywords, in the order of the table.
pub fn word_names(words: Keywords) -> impl DoubleEndedIterator<Item = &'static str> + Clone {
    words.iter().map(|word| word.name)
}

/// Returns a keyword by its name; `None` if it is not in the table.
#[must_use]
pub fn find_word(words: Keywords, name: &str) -> Option<&'static Keyword> {
    words.iter().find(|word| word.name == name)
}

/// Top-level keywords that are not kinds.
pub const TOP: Keywords = &[
    word("backend", "Refuses a local ledger: the settings define where the ledger is stored.")
        .example("backend: required")
        .one_of(&[word("required", "Refuses a ledger that exists only on this machine.")])
        .of_stacks(),
    word("data", "Objects that this stack does not manage.").takes(KeywordValue::Named(&[]))
        .example("data: { vpc: { shared: { name: shared } } }   # then $data.vpc.shared"),
    word("environments", "Environments, chosen by `-e`.").takes(KeywordValue::Named(ENVIRONMENT))
        .example("environments: { prod: { confirm: typed, vars: { size: large } } }")
        .of_stacks(),
    word("import", "Live objects to adopt as resources.").takes(KeywordValue::Block(IMPORT))
        .example("import: [{ to: database.main, id: dbk3x9q2 }]")
        .of_stacks(),
    word("include", "Files that are read as if they were in this directory.")
        .example("include: [../shared/network.stead.yaml]"),
    word("locals", "Values with a name; computed once.").takes(KeywordValue::Named(&[]))
        .example("locals: { host: \"${env}.example.com\" }   # then $locals.host"),
    word("moved", "New addresses of resources that the ledger has under old ones; a module declares its own.").takes(KeywordValue::Block(MOVED))
        .example("moved: [{ from: vm.frontend, to: vm.web }]   # or of whole modules: { from: shop_eu, to: shop_europe }; to another stack: { from: vm.web, to: vm.web, stack: ../web }"),
    word("outputs", "Values that an apply prints and that other stacks can read.").takes(KeywordValue::Named(&[]))
        .example("outputs: { url: $app.web.url }"),
    word("policy", "Rules that a plan must pass.").takes(KeywordValue::Named(POLICY))
        .example("policy: { budget: { deny: \"${plan.monthly_after > 400.0}\", message: Over budget. } }")
        .of_stacks(),
    word("removed", "What happens to objects whose block was removed; a module declares its own.").takes(KeywordValue::Block(REMOVED))
        .example("removed: [{ from: vm.legacy, action: forget }]"),
    word("secrets", "The ledger keeps generated secrets, and those that the service shows once, encrypted to these recipients.").takes(KeywordValue::Block(SECRETS))
        .example("secrets: { recipients: [age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p] }   # stead secret keygen --out FILE makes one")
        .of_stacks(),
    word("stack", "The stack's name.").example("stack: shop").of_stacks(),
    word("stacks", "Other stacks whose outputs are read.").takes(KeywordValue::Named(STACK))
        .example("stacks: { net: ../network }   # then $stacks.net.vpc_id")
        .of_stacks(),
    word("stead", "The version of the language.")
        .example("stead: 1")
        .one_of(&[word("1", "The version of the language.")]),
    word("use", "Directories as modules.").takes(KeywordValue::Named(USE)).example(
        "use: { eu: { source: ../modules/shop, with: { size: small } } }   # then eu.vm.web, $use.eu.OUTPUT",
    ),
    word("vars", "Variables: the only thing that environments differ in.").takes(KeywordValue::Named(VARIABLE))
        .example("vars: { size: { one_of: [small, large], default: small } }   # then $vars.size"),
];

/// Keywords that the block of every resource may have.
pub const BODY: Keywords = &[
    word("allow_exposure", "Exposures of the object that are intended, each with its reason: they warn no longer.")
        .takes(KeywordValue::Block(ALLOWED))
        .example("allow_exposure: [{ code: X01, reason: \"a public demo without data\", until: 2027-01-31 }]"),
    word("deliver_secret", "Where to deliver the secret that the service shows once: a file, a line of an env file, or a program from your own settings.")
        .takes(KeywordValue::Block(DELIVER))
        .example("deliver_secret: { file: ./secrets/ci-key }   # or { env_file: ./.env, variable: CI_KEY }, or { sink: vault }"),
    word("depends_on", "Resources that must exist first, but that no attribute refers to.")
        .takes(KeywordValue::Address)
        .example("depends_on: [vm.gate]"),
    word("for_each", "One instance for each key.")
        .example("for_each: [a, b]   # then vm.web.a, vm.web.b; each.key, each.value"),
    word("lifecycle", "How the object may be changed, replaced and deleted.")
        .takes(KeywordValue::Block(LIFECYCLE))
        .example("lifecycle: { protect: true, timeouts: { create: 30m } }"),
    word("project", "The project that it belongs to: `$project.NAME`, or a name or id."),
    word("when", "Whether this environment has the resource at all.")
        .takes(KeywordValue::Boolean)
        .example("when: \"${env == 'prod'}\""),
];

/// Keywords allowed in a `lifecycle` block.
pub const LIFECYCLE: Keywords = &[
    word(
        "final_snapshot",
        "A final snapshot is created before a VM or a volume is deleted, and is kept; if it fails, nothing is deleted.",
    )
    .takes(KeywordValue::Boolean)
    .example("lifecycle: { final_snapshot: true }"),
    word("ignore_drift", "Attributes whose live changes are ignored; an edit of the file still applies.")
        .takes(KeywordValue::Block(IGNORED))
        .example(
            "lifecycle: { ignore_drift: [{ field: plan, reason: resized by hand, until: 2027-01-31 }] }",
        ),
    word("on_remove", "What happens to the object when its block is removed.")
        .example("lifecycle: { on_remove: keep }")
        .one_of(&[
            word("delete", "The object is deleted with its block."),
            word("keep", "The object stays live."),
        ]),
    word("protect", "No deletion, no replacement.")
        .takes(KeywordValue::Boolean)
        .example("lifecycle: { protect: \"${env == 'prod'}\" }"),
    word("replace", "The order of deletion and creation in a replacement.")
        .example("lifecycle: { replace: create_first }")
        .one_of(&[
            word("create_first", "The new object is created, then the old one is deleted."),
            word("delete_first", "The old object is deleted, then the new one is created."),
            word("never", "A replacement is refused."),
        ]),
    word("timeouts", "How long each operation may take.")
        .takes(KeywordValue::Block(TIMEOUTS))
        .example("lifecycle: { timeouts: { create: 30m, update: 1h, delete: 10m } }"),
];

/// Keywords allowed in an entry of `allow_exposure`.
pub const ALLOWED: Keywords = &[
    word("code", "The code of the exposure: `stead explain exposure` lists them.")
        .one_of(&[
            word("X01", "A public database with an empty allowlist."),
            word("X02", "A public database with a very wide allowlist."),
            word("X03", "A database that accepts unencrypted connections."),
            word("X04", "An API key that is valid for more than a year."),
            word("X05", "An API key with a privileged role."),
            word("X06", "A VM whose console asks for no authenticator code."),
        ])
        .mark_required(),
    word("reason", "The reason, for readers of the file.").mark_required(),
    word("until", "The last day on which the entry applies; it warns again after it."),
];

/// Keywords allowed in an entry of `ignore_drift`.
pub const IGNORED: Keywords = &[
    word("field", "The attribute.").mark_required(),
    word("reason", "The reason, for readers of the file."),
    word("until", "The last day on which the entry applies."),
];

/// Keywords of an open map such as `env_vars`, besides its user-defined keys.
pub const MAP: Keywords = &[word(
    "exclusive",
    "With `exclusive: true`, all other keys of the live map are deleted; in quotes it is an ordinary key.",
)
.takes(KeywordValue::Boolean)
.example("env_vars: { exclusive: true, APP_ENV: prod }")];

/// Keywords allowed in a `timeouts` block.
pub const TIMEOUTS: Keywords = &[
    word("create", "How long creation may take: `15m`."),
    word("delete", "How long deletion may take."),
    word("update", "How long a change in place may take."),
];

/// Keywords allowed in the `secrets` block.
pub const SECRETS: Keywords = &[word(
    "recipients",
    "Who can decrypt the secrets in the ledger: 1 to 16 native age recipients, literal or from variables.",
)];

/// Keywords allowed in a `deliver_secret` block.
pub const DELIVER: Keywords = &[
    word("env_file", "A file of `NAME=value` lines, below the stack's directory."),
    word("file", "A file that contains only the secret, below the stack's directory."),
    word("sink", "A program that your own settings name; it reads the secret from standard input."),
    word("variable", "The name in an `env_file`."),
];

/// Keywords allowed in a variable's declaration.
pub const VARIABLE: Keywords = &[
    word("check", "A condition on `self` that must be true."),
    word("default", "The value if none is given; a variable without a default must be given one."),
    word("deliver_secret", "Where to deliver a generated secret.").takes(KeywordValue::Block(DELIVER)),
    word("description", "What it is for."),
    word("from_file", "The file that contains the value, below the stack's directory."),
    word(
        "generate",
        "The length of a secret that the first apply generates; later applies do not change the secret.",
    )
    .example("vars: { session_key: { type: secret, generate: 32 } }"),
    word("one_of", "The only values that are allowed."),
    word("source", "A program that your own settings name; it prints the secret.")
        .example("vars: { stripe_key: { type: secret, source: vault } }"),
    word("type", "The type; string by default.").one_of(TYPES),
];

/// Types of variables, the simple ones first; completion shows them in this order.
pub const TYPES: Keywords = &[
    word("string", "Text."),
    word("int", "A whole number."),
    word("number", "Any number."),
    word("bool", "True or false."),
    word("cidr", "An IPv4 network."),
    word("secret", "Text that is never stored nor printed."),
    word("list(string)", "Texts in order."),
    word("set(string)", "Texts without order or repetition."),
    word("map(string)", "Texts by key."),
];

/// Keywords allowed in an environment's block.
pub const ENVIRONMENT: Keywords = &[
    word("confirm", "How an apply asks for approval.").one_of(&[
        word("ask", "Yes or no."),
        word("typed", "The environment's name must be typed before an apply."),
    ]),
    word("default", "Whether this environment is used when none is chosen.").takes(KeywordValue::Boolean),
    word("set", "Values that replace exactly one path each: `database.main.storage_gb: 80`.")
        .example("environments: { prod: { set: { database.main.storage_gb: 80 } } }"),
    word("vars", "Values of variables.").takes(KeywordValue::Variables),
];

/// Keywords allowed in a policy's block.
pub const POLICY: Keywords = &[
    word("deny", "The condition under which a change is denied.").mark_required(),
    word("level", "What a denial does; overridable by default.")
        .example("policy: { budget: { level: mandatory, deny: \"${plan.monthly_after > 400.0}\", message: Over budget. } }")
        .one_of(&[
            word("advisory", "It warns, and changes no exit code."),
            word("overridable", "It blocks the plan, unless `--override` lifts it with a reason."),
            word("mandatory", "It blocks the plan, and nothing lifts it."),
        ]),
    word("message", "The message of the denial.").mark_required(),
    word(
        "on",
        "The kinds that the policy applies to; without it, the plan as a whole. A resource that is deleted counts only if the condition reads self.action or self.effects.",
    )
    .takes(KeywordValue::Kinds),
];

/// Keywords allowed in a module call (`use`).
pub const USE: Keywords = &[
    word("for_each", "One instance of the module for each entry."),
    word(
        "name",
        "The prefix of its resources' names, instead of its own name and key: with it, a renamed module keeps their names.",
    ),
    word("source", "The module's directory.").mark_required(),
    word("when", "The module exists only when this is true.").takes(KeywordValue::Boolean),
    word("with", "Values of the module's variables."),
];

/// Keywords allowed in an entry of `stacks`.
pub const STACK: Keywords = &[
    word("env", "The environment of that stack."),
    word("source", "The stack's directory.").mark_required(),
];

/// Keywords allowed in an entry of `moved`.
pub const MOVED: Keywords = &[
    word(
        "from",
        "The old address, or the old name of a module: all its resources move, except those that a more specific entry names.",
    )
    .takes(KeywordValue::AddressOrModule)
    .mark_required(),
    word("to", "The new address or name.").takes(KeywordValue::AddressOrModule).mark_required(),
    word("stack", "The directory of another stack, to which the resources move: `to` is an address there."),
    word("from_stack", "The directory of another stack, from which the resources come: `from` is an address there."),
];

/// Keywords allowed in an entry of `import`.
pub const IMPORT: Keywords = &[
    word("to", "The address that adopts the object.").takes(KeywordValue::Address).mark_required(),
    word("id", "The live object's id.").mark_required(),
    word("when", "The object is adopted only when this is true.").takes(KeywordValue::Boolean),
];

/// Keywords allowed in an entry of `removed`.
pub const REMOVED: Keywords = &[
    word("from", "The old address, or the old name of a module.")
        .takes(KeywordValue::AddressOrModule)
        .mark_required(),
    word("action", "forget: the object stays live; delete: it is deleted.")
        .mark_required()
        .one_of(&[word("forget", "The object stays live."), word("delete", "The object is deleted.")]),
];

/// Roots of a `$` path that are not kinds.
pub const ROOTS: Keywords = &[
    word("data", "A live object that this stack does not manage."),
    word("each", "Inside of `for_each`: `each.key`, `each.value`."),
    word("env", "The environment's name."),
    word("locals", "A local."),
    word("module", "In a module: the prefix of its resources' names."),
    word("stack", "The stack's name."),
    word("stacks", "Another stack's output."),
    word("use", "A module's output."),
    word("vars", "A variable."),
];

/// Attributes of `each` in a block with `for_each`.
pub const EACH: Keywords = &[word("key", "The instance's key."), word("value", "The entry's value.")];

/// Top-level keywords of a test file.
pub const TEST_FILE: Keywords = &[word("test", "Tests of the stack, in files *.test.yaml or *.test.kdl; `stead test` runs them.")
    .example("test: { two are made: { given: { env: prod }, plan: { create: [vpc.main, vm.web] } } }   # in a.test.yaml")
    .takes(KeywordValue::Named(TEST))];

/// Keywords allowed in a test's block.
pub const TEST: Keywords = &[
    word("given", "The state before the plan.").takes(KeywordValue::Block(TEST_GIVEN)),
    word(
        "plan",
        "What the plan must be; only what is written is checked, except that no blocker may occur.",
    )
    .takes(KeywordValue::Block(TEST_PLAN)),
    word("apply", "The required result of an apply; the plan after it must be empty.")
        .takes(KeywordValue::Block(TEST_APPLY)),
];

/// Keywords of a test's preconditions (`given`).
pub const TEST_GIVEN: Keywords = &[
    word("env", "The environment."),
    word("vars", "Values of variables.").takes(KeywordValue::Variables),
    word(
        "world",
        "Objects that are live already, in the format of `stead emulator --seed`; none by default.",
    ),
    word("applied", "`true`: the stack is applied first; with `vars`, with other values.")
        .takes(KeywordValue::Block(TEST_APPLIED)),
    word("now", "The time that policies read, as `2026-12-24T10:00:00Z`, or a day."),
    word("actor", "The actor that policies read."),
    word("branch", "The branch that policies read."),
];

/// Keywords of the apply that precedes the plan in a test.
pub const TEST_APPLIED: Keywords =
    &[word("vars", "Values that override those of the test.").takes(KeywordValue::Variables)];

/// Keywords of the expectations about a test's plan.
pub const TEST_PLAN: Keywords = &[
    word("create", "Exactly these addresses are created.").takes(KeywordValue::Address),
    word("update", "Exactly these are updated in place.").takes(KeywordValue::Address),
    word("replace", "Exactly these are replaced.").takes(KeywordValue::Address),
    word("delete", "Exactly these are deleted.").takes(KeywordValue::Address),
    word("adopt", "Exactly these are adopted.").takes(KeywordValue::Address),
    word("move", "Exactly these move from another address.").takes(KeywordValue::Address),
    word("forget", "The resources to forget: their objects stay live.").takes(KeywordValue::Address),
    word("read", "Exactly these are only read.").takes(KeywordValue::Address),
    word("count", "How many are created, updated, …, and `unchanged`."),
    word("monthly", "The monthly bill afterwards, in dollars.").takes(KeywordValue::Block(TEST_BILL)),
    word("blocks", "Exactly these codes block the plan."),
    word("policy", "The results of policies.").takes(KeywordValue::Named(&[])),
    word("problems", "Exactly these codes are the stack's problems, warnings included."),
];

/// Lower and upper bound of an expected monthly bill.
pub const TEST_BILL: Keywords =
    &[word("min", "The lower bound of the bill."), word("max", "The upper bound of the bill.")];

/// Keywords of the expectations about a test's apply.
pub const TEST_APPLY: Keywords = &[
    word("outputs", "Values of outputs.").takes(KeywordValue::Named(&[])),
    word("objects", "How many live objects of each kind there are afterwards."),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Every list of words.
    const ALL: &[Keywords] = &[
        TOP,
        BODY,
        LIFECYCLE,
        ALLOWED,
        IGNORED,
        MAP,
        TIMEOUTS,
        DELIVER,
        SECRETS,
        VARIABLE,
        TYPES,
        ENVIRONMENT,
        POLICY,
        USE,
        STACK,
        MOVED,
        IMPORT,
        REMOVED,
        ROOTS,
        EACH,
        TEST_FILE,
        TEST,
        TEST_GIVEN,
        TEST_APPLIED,
        TEST_PLAN,
        TEST_BILL,
        TEST_APPLY,
    ];

    #[test]
    fn every_keyword_is_unique_and_documented_with_a_valid_example() {
        for words in ALL {
            for (n, word) in words.iter().enumerate() {
                assert!(word.summary.ends_with(['.', '`']), "{word:?}");
                assert!(word_names(&words[..n]).all(|other| other != word.name), "{word:?}");
                if let KeywordValue::OneOf(values) = word.takes {
                    assert!(values.iter().all(|value| value.summary.ends_with('.')), "{word:?}");
                }
                if !word.example.is_empty() {
                    let read: Result<serde_yaml::Value, _> = serde_yaml::from_str(word.example);
                    assert!(read.is_ok_and(|value| value.is_mapping()), "{word:?}");
                    assert!(word.example.contains(word.name), "{word:?}");
                }
            }
        }
        for words in [TOP, BODY, LIFECYCLE, ROOTS] {
            assert!(words.is_sorted_by(|a, b| a.name < b.name));
        }
    }
}
