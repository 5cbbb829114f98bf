//! stead: declarative infrastructure for one cloud.
//!
//! # Map
//!
//! Data flows in one direction: files become a `Stack`, the API a `Snapshot`, the store a `Ledger`; the three become a
//! `Plan`, the plan an `Outcome`, and reports show them. A folder imports only the folders that `tests/architecture`
//! lists for it, and its parts import one way, too: the table `ORDER` there is the order in which to read a folder.
//!
//! | folder | in | out |
//! |---|---|---|
//! | `src/model` | | types that all others share: addresses, values, secrets, schemas, live objects, diagnostics |
//! | `src/kinds` | | one table for each kind of object: attributes, endpoints, statuses, limits |
//! | `src/config` | files, variables, environment | `Stack`, or all diagnostics: `parse`, `merge`, `resolve`, `check` |
//! | `src/ledger` | a store: directory, PostgreSQL, S3, HTTP | `Ledger`, and a journal that records what is done to it |
//! | `src/cloud` | the API | `Snapshot`; waits; one request for each mutation |
//! | `src/plan` | stack, ledger, snapshot | `Plan`: decisions, steps in order, blockers, cost. Pure |
//! | `src/apply` | plan, client, locked ledger | `Outcome`. A kill at any moment loses and duplicates nothing |
//! | `src/workspace` | the stacks of a repository, their ledgers, a snapshot | units in order, one plan for all, whether a later plan fits it. Pure |
//! | `src/report` | plan, outcome, drift | pages, documents and review formats, escaped and redacted |
//! | `src/editor` | source text at a position | completion, hover, rename, `explain`, schemas |
//! | `src/guide` | texts in CommonMark, tables | the documentation: pages for the terminal, a web site, a search |
//! | `src/emulator` | HTTP requests | the service, written from its specification; shares only `kinds` with the client |
//! | `src/cli` | a command line | exit code: one file in `src/cli/commands` for each command |
//!
//! # Words
//!
//! A *resource* is the block in a file, an *object* the remote thing, an *attribute* a field of either. The files give
//! the *desired* values, the API the *live* ones, the ledger those that were *last applied*. For one address, a
//! `ResourceState` joins the three; a `Decision` says what happens to it, a *blocker* why the plan cannot be applied.
//! *Replace* deletes and creates under one address; *forget* removes from the ledger and keeps the object; *adopt* takes
//! a live object into the ledger, *import* also writes its configuration. An object that was replaced and not yet deleted
//! is *deposed*. An *intent* is recorded before its request is sent; one whose outcome is not known is *ambiguous* until
//! it is resolved. A value is *unknown* until after apply, a secret *deferred* until the first apply generates it, and a
//! value that is computed from a secret *sensitive*.
//!
//! # Recipes
//!
//! Each list is declared once; help, completion, schemas and tests derive from it. To add
//!
//! - a command: `src/cli/commands/NAME.rs` with its arguments, `src/cli/commands/mod.rs`, its variant and row in
//!   `src/cli/dispatch/command_line.rs`, a line in `tests/cli/surface.rs` and in `tests/security/leak/commands.rs`; a test
//!   renews the table of `README.md`;
//! - a page of the documentation: `src/guide/pages/how-to/NAME.md`, its row in `src/guide/written.rs`, and a link to it from
//!   another page;
//! - a setting: its row in `src/cli/process/settings/rows.rs`, and where `src/cli/process/settings.rs` merges it;
//! - a ledger store: `src/ledger/stores/NAME.rs`, `src/ledger/stores/mod.rs`, the form of its locations in
//!   `src/ledger/stores/location.rs`, and its arms in `src/ledger/stores/any_store.rs`;
//! - a report format: `src/report/review/formats/NAME.rs`, its row in `src/report/review/formats.rs`;
//! - a printed document: its type, and its variant and row in `src/cli/commands/schema.rs`; a test writes its schema;
//! - a check of the configuration: `src/config/check/NAME.rs`, `src/config/check/mod.rs`, its call in
//!   `src/config/check/config.rs`, its code in `src/config/codes.rs`;
//! - a blocker: its code in `src/model/diagnostic/blocker_code.rs`, its check in `src/plan/decide/checks/NAME.rs`;
//! - a kind: `src/kinds/NAME.rs`, its row in `src/kinds/mod.rs`; for the emulator its record in
//!   `src/emulator/world/records`, its table in `src/emulator/world/state`, its handlers and
//!   `src/emulator/world/router.rs`.

#![forbid(unsafe_code)]

// In flow order: a module imports only from those above it. Blank lines keep the formatter from sorting them.

pub mod model;

pub mod kinds;

pub mod config;

pub mod ledger;

pub mod cloud;

pub mod plan;

pub mod apply;

pub mod workspace;

pub mod report;

pub mod editor;

pub mod guide;

pub mod emulator;

pub mod cli;
