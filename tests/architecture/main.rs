//! Checks the structure of `src/`: which folder may import which, and how the modules depend on each other.
//!
//! `layers` holds the rules between the top folders. The other parts measure what is inside of them: `facts` reads a
//! file with `syn`, `modules` resolves paths, `dependencies` finds which file depends on which, `figures` compares the
//! result with the numbers below, and `order` with the table of parts. A number may only fall: a higher one fails, and
//! a lower one fails until it is written down here. To see what is measured, with the imports and calls that tie each
//! cycle:
//!
//! ```text
//! STEAD_HOUSE=print cargo test --test architecture -- --nocapture figures
//! ```
#![allow(
    missing_docs,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise"
)]

mod cases;
mod dependencies;
mod facts;
mod figures;
mod layers;
mod map;
mod modules;
mod order;
mod sources;
mod tokens;

/// Folders whose modules are one recursion over types that contain each other, with the reason. They do not count as a
/// cycle if the folder has no other modules and at most six.
const RECURSIONS: &[(&str, &str)] = &[(
    "model/values",
    "a value may be a secret, a secret may be derived, and a derived secret is computed from values",
)];

/// Folder, and its sub-folders and files in order, lower parts first: each may depend on those to its left only. A
/// folder that is listed here lists all its entries.
const ORDER: &[(&str, &[&str])] = &[
    (
        "cli",
        &[
            "args",
            "process",
            "files",
            "service",
            "stack",
            "ledger",
            "secrets",
            "planning",
            "forge",
            "artifacts",
            "workspace",
            "command_context",
            "actions",
            "commands",
            "dispatch",
        ],
    ),
    (
        "model",
        &[
            "address",
            "clock",
            "source",
            "graph",
            "page",
            "redact",
            "crypto",
            "diagnostic",
            "values",
            "budget",
            "schema",
            "expression",
            "live",
            "cel",
            "evaluate",
        ],
    ),
    (
        "config",
        &[
            "codes",
            "keywords",
            "syntax",
            "types",
            "diagnostics",
            "input",
            "stack",
            "merge",
            "resolve",
            "check",
            "load",
            "edit",
            "format",
            "convert",
            "test_file",
        ],
    ),
    (
        "cloud",
        &["capabilities", "error", "system_clock", "http", "read", "probe", "write", "wait", "client"],
    ),
    (
        "emulator",
        &[
            "clock",
            "seeded_rng",
            "log",
            "faults",
            "world",
            "limiter",
            "message",
            "seed",
            "store",
            "console",
            "service_state",
            "control",
            "http_service",
            "serve",
            "server",
        ],
    ),
    (
        "emulator/world",
        &[
            "engine",
            "records",
            "state",
            "request",
            "apps",
            "compute",
            "databases",
            "account",
            "clusters",
            "clock",
            "admin",
            "router",
        ],
    ),
    (
        "apply",
        &[
            "dependents",
            "evaluation_scope",
            "event",
            "planned_secrets",
            "schedule",
            "context",
            "step",
            "request_encoding",
            "protocol",
            "step_parts",
            "steps",
            "finalize",
            "open_intents",
            "executor",
            "run",
        ],
    ),
    (
        "guide",
        &[
            "document",
            "markdown",
            "explained",
            "embedded",
            "written",
            "library",
            "page_list",
            "reference",
            "terminal",
            "search",
            "site",
        ],
    ),
    ("editor", &["facts", "graph", "openapi", "explain", "lsp", "stack_schema"]),
    (
        "report",
        &[
            "json_value",
            "text",
            "groups",
            "json_writer",
            "diagnostics",
            "views",
            "run_report",
            "units",
            "json",
            "terminal",
            "live",
            "review",
        ],
    ),
    ("report/review", &["view", "finding", "identity", "formats", "comment"]),
    ("ledger", &["age_file", "state", "journal", "runs", "stores", "integrity"]),
    (
        "plan",
        &[
            "model",
            "inputs",
            "moves",
            "join",
            "decision",
            "blockers",
            "diff",
            "decide",
            "order",
            "artifact",
            "annotate",
            "refresh_request",
            "pipeline",
            "restate",
            "import",
        ],
    ),
];
