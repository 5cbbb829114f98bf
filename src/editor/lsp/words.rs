//! The language's own words, for completion and hover: where each may stand, and what it says.

/// A word and what it says.
pub(super) type Word = (&'static str, &'static str);

/// Blocks besides kinds.
pub(super) const TOP: &[Word] = &[
    ("backend", "`required` refuses a ledger that only this machine has."),
    ("data", "Live objects that this stack does not manage, found by the fields given: `$data.KIND.NAME`."),
    ("environments", "Each environment sets variables; `default: true` marks the one taken by itself."),
    ("import", "Live objects to take over: `{ to: ADDRESS, id: ID }`."),
    ("include", "Further files of this stack, by paths relative to this file."),
    ("locals", "Values with a name: `$locals.NAME`."),
    ("moved", "Resources that have another name now: `{ from: ADDRESS, to: ADDRESS }`."),
    ("outputs", "What others may read of this stack."),
    ("policy", "Plans that are refused: `deny` is an expression, `message` says why."),
    ("removed", "Resources taken out, and what becomes of their objects: `forget` or `delete`."),
    ("stack", "The stack's name."),
    ("stacks", "Other stacks whose outputs are read: `$stacks.NAME.OUTPUT`."),
    ("stead", "The version of the language: 1."),
    ("use", "Modules: a directory, what goes in by `with`, what comes out as `$use.NAME.OUTPUT`."),
    ("vars", "Variables: `$vars.NAME`."),
];

/// Words of every resource's block.
pub(super) const BODY: &[Word] = &[
    (
        "deliver_secret",
        "Where a secret goes that the service shows once: `{ file: PATH }`, `{ env_file: PATH, variable: NAME }` or `{ sink: NAME }`.",
    ),
    ("depends_on", "Addresses that come first although no reference says so."),
    ("for_each", "One instance for each entry of a set, list of texts or map; `each.key`, `each.value`."),
    (
        "lifecycle",
        "What may happen to it: `protect`, `on_remove`, `ignore_drift`, `replace`, `final_snapshot`, `timeouts`.",
    ),
    ("project", "The project that it belongs to."),
    ("when", "It is there only when this is true."),
];

/// Words of `lifecycle`.
pub(super) const LIFECYCLE: &[Word] = &[
    ("final_snapshot", "True: a snapshot is made before a VM or volume goes, and stays."),
    (
        "ignore_drift",
        "Attributes whose live changes are left alone; each may say `field`, `reason`, `until`.",
    ),
    ("on_remove", "`delete` or `keep` the object when its block is gone."),
    ("protect", "True stops delete, replace and destroy."),
    ("replace", "`create_first`, `delete_first` or `never`."),
    ("timeouts", "How long `create`, `update` and `delete` may take: `15m`."),
];

/// Words of `lifecycle.timeouts`.
pub(super) const TIMEOUTS: &[Word] = &[
    ("create", "How long creation may take: `15m`."),
    ("delete", "How long deletion may take."),
    ("update", "How long a change in place may take."),
];

/// Words of `deliver_secret`.
pub(super) const DELIVER: &[Word] = &[
    ("env_file", "A file of `NAME=value` lines, below the stack's directory."),
    ("file", "A file that holds the secret alone, below the stack's directory."),
    ("sink", "A program that your own settings name; it takes the secret by standard input."),
    ("variable", "The name in an `env_file`."),
];

/// Words of a variable.
pub(super) const VARIABLE: &[Word] = &[
    ("check", "An expression over `self` that must be true."),
    ("default", "Its value when nothing else gives one."),
    ("deliver_secret", "Where a generated secret goes."),
    ("description", "What it is for."),
    ("from_file", "A file below the stack's directory that holds the secret."),
    ("generate", "A secret of so many characters that the first apply makes: `32`."),
    ("one_of", "The values that it may have."),
    ("source", "A program that your own settings name; it prints the secret."),
    ("type", "`string`, `int`, `number`, `bool`, `cidr`, `secret`, `list(…)`, `set(…)` or `map(…)`."),
];

/// Types of variables.
pub(super) const TYPES: &[Word] = &[
    ("bool", "True or false."),
    ("cidr", "An IPv4 network."),
    ("int", "A whole number."),
    ("list(string)", "Texts in order."),
    ("map(string)", "Texts by key."),
    ("number", "Any number."),
    ("secret", "Text that is never stored nor printed."),
    ("set(string)", "Texts without order or repetition."),
    ("string", "Text."),
];

/// Words of an environment.
pub(super) const ENVIRONMENT: &[Word] = &[
    ("confirm", "`typed`: the stack's name must be typed before an apply."),
    ("default", "True: taken when none is asked for."),
    ("set", "Values for paths: `database.main.storage_gb: 80` replaces exactly that one."),
    ("vars", "Values of variables."),
];

/// Words of a policy.
pub(super) const POLICY: &[Word] = &[
    ("deny", "An expression; where it is true, the plan is refused."),
    ("message", "What is said then."),
    ("on", "The kind of the resources that it looks at, each as `self`."),
];

/// Words of a use.
pub(super) const USE: &[Word] = &[
    ("for_each", "One instance of the module for each entry."),
    ("source", "The module's directory, relative to this file."),
    ("when", "It is there only when this is true."),
    ("with", "The module's variables."),
];

/// Words of another stack.
pub(super) const STACK: &[Word] = &[
    ("env", "The environment of that stack."),
    ("source", "The stack's directory, relative to this one."),
];

/// Words of an entry of `moved`.
pub(super) const MOVED: &[Word] =
    &[("from", "The address that it had."), ("to", "The address that it has now.")];

/// Words of an entry of `import`.
pub(super) const IMPORT: &[Word] = &[
    ("id", "The live object's id."),
    ("to", "The address that takes it over."),
    ("when", "Only when this is true."),
];

/// Words of an entry of `removed`.
pub(super) const REMOVED: &[Word] = &[
    ("action", "`forget` leaves the object live; `delete` removes it."),
    ("from", "The address that it had."),
];

/// What a `$` can begin with, besides kinds.
pub(super) const ROOTS: &[Word] = &[
    ("data", "A live object that this stack does not manage."),
    ("each", "Inside of `for_each`: `each.key`, `each.value`."),
    ("env", "The environment's name."),
    ("locals", "A local."),
    ("stack", "The stack's name."),
    ("stacks", "Another stack's output."),
    ("use", "A module's output."),
    ("vars", "A variable."),
];

/// What `each` has.
pub(super) const EACH: &[Word] = &[("key", "The instance's key."), ("value", "The entry's value.")];

/// Values of words that take only a few.
pub(super) fn values(key: &str) -> &'static [Word] {
    match key {
        "on_remove" => &[("delete", "The object goes with its block."), ("keep", "The object stays live.")],
        "replace" => &[
            ("create_first", "The new one comes, then the old one goes."),
            ("delete_first", "The old one goes, then the new one comes."),
            ("never", "A replacement is refused."),
        ],
        "action" => &[("delete", "The object is removed."), ("forget", "The object stays live.")],
        "confirm" => &[("typed", "The stack's name must be typed before an apply.")],
        "backend" => &[("required", "A ledger that only this machine has is refused.")],
        "stead" => &[("1", "The version of the language.")],
        "type" => TYPES,
        _ => &[],
    }
}
