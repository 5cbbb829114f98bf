//! Configuration: the bytes of a file, through the stack and its first plan to every output about them.

use std::io;
use std::path::Path;

use jiff::Timestamp;
use stead::config::input::files::Files;
use stead::config::input::request::LoadRequest;
use stead::config::load::load;
use stead::config::stack::model::Stack;
use stead::config::stack::module_path::kind_at;
use stead::config::syntax::decode::decode_utf8;
use stead::kinds::REGISTRY;
use stead::ledger::state::entry::{Entry, LedgerIdentity, OwnedObject};
use stead::ledger::state::ledger::Ledger;
use stead::model::diagnostic::{Diagnostic, Severity};
use stead::model::live::catalog::Catalog;
use stead::model::live::snapshot::Snapshot;
use stead::model::source::{Source, SourceId, Sources};
use stead::model::values::value::Attributes;
use stead::plan::inputs::{PlanInputs, PlanningOptions};
use stead::plan::pipeline::make_plan;
use stead::report::text::style::TextStyle;
use stead::report::{diagnostics, json, terminal};
use uuid::Uuid;

use super::output::{assert_harmless, assert_json};

pub fn yaml(bytes: &[u8]) {
    config("stead.yaml", bytes, &Place(MODULE.as_bytes()));
}

pub fn kdl(bytes: &[u8]) {
    config("stead.kdl", bytes, &Place(MODULE.as_bytes()));
}

/// Loads the bytes as a module that a stack uses twice, and as a file that it includes.
pub fn module(bytes: &[u8]) {
    let stack = "stead: 1\nstack: s\ninclude: [inc.stead.yaml]\nvpc: { main: { cidr: 10.9.0.0/16 } }\n\
        use: { one: { source: ./m, with: { size: a, vpc: $vpc.main } }, many: { for_each: [k, l], source: ./m, with: { size: b } } }\n\
        outputs: { o: $use.one.vpc, p: \"${use.many.k.vpc}\" }\n";
    config("stead.yaml", stack.as_bytes(), &Place(bytes));
}

/// A valid module.
const MODULE: &str = "vars: { size: { default: a }, vpc: { default: b } }\nvpc: { own: { cidr: 10.1.0.0/16 } }\n\
    outputs: { vpc: $vpc.own, size: $vars.size }\n";

/// The files beside a configuration, and a module whose content are the bytes.
struct Place<'b>(&'b [u8]);

impl Files for Place<'_> {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        read(path)
    }

    fn read_shared(&self, path: &Path) -> io::Result<Vec<u8>> {
        match path.to_str() {
            Some("m/stead.yaml" | "inc.stead.yaml") => Ok(self.0.to_vec()),
            _ => Err(io::Error::from(io::ErrorKind::NotFound)),
        }
    }

    fn names_shared(&self, path: &Path) -> io::Result<Vec<String>> {
        match path.to_str() {
            Some("m") => Ok(vec!["stead.yaml".to_owned()]),
            Some("") => Ok(vec!["stead.yaml".to_owned(), "stead.kdl".to_owned()]),
            _ => Err(io::Error::from(io::ErrorKind::NotFound)),
        }
    }
}

fn config(path: &str, bytes: &[u8], files: &dyn Files) {
    let mut sources = Sources::default();
    match decode_utf8(SourceId(0), bytes.to_vec()) {
        Err(unreadable) => {
            sources.add(Source::new(path, unreadable.shown));
            show(&[unreadable.diagnostic], &sources);
        }
        Ok(text) => {
            sources.add(Source::new(path, text));
            match load(REGISTRY, sources, &LoadRequest::default(), files) {
                Err(rejected) => {
                    let problems = &rejected.diagnostics;
                    assert!(problems.iter().any(|problem| problem.severity == Severity::Error));
                    show(problems, &rejected.sources);
                }
                Ok((stack, warnings)) => {
                    assert!(warnings.iter().all(|problem| problem.severity == Severity::Warning));
                    show(&warnings, &stack.sources);
                    plan(&stack);
                }
            }
        }
    }
}

/// Returns the files that the stack may read.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    match path.to_str() {
        Some("key.pub") => Ok(b"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB deploy@example\n".to_vec()),
        Some("bytes") => Ok(vec![0xff, 0x00]),
        _ => Err(io::Error::from(io::ErrorKind::NotFound)),
    }
}

/// Checks that every diagnostic points into its source, and that every rendering of it is harmless.
fn show(problems: &[Diagnostic], sources: &Sources) {
    for problem in problems {
        let labels = problem.labels.iter().map(|label| label.span);
        for span in labels.chain(problem.fix.iter().map(|fix| fix.span)) {
            let source = sources.get(span.source).expect("a span is of one of the sources");
            let text = source.text.get(span.start as usize..span.end as usize);
            assert!(text.is_some(), "{span:?} is not in {:?}: {problem:?}", source.text);
        }
    }
    assert_harmless(&diagnostics::diagnostics_page(problems, sources, TextStyle::plain(80)));
    assert_harmless(&diagnostics::diagnostic_lines(problems, sources, TextStyle::plain(80)));
    assert_json(&json::diagnostics_document(problems, sources), false);
}

/// Adds to the ledger what the stack's `moved` and `removed` entries refer to, so that they have an effect.
fn remember(ledger: &mut Ledger, stack: &Stack) {
    let declarations = &stack.declarations;
    let moved = declarations.moved.iter().filter_map(|moved| Some((&moved.from, moved.kind?)));
    let removed = declarations.removed.iter();
    let removed = removed.filter_map(|removed| Some((&removed.from, kind_at(&REGISTRY, &removed.from)?)));
    for (number, (address, kind)) in moved.chain(removed).enumerate() {
        let entry = Entry {
            kind: kind.name.into(),
            current: Some(OwnedObject {
                id: format!("id-{number}").into(),
                parent: None,
                project: None,
                created_at: None,
                provisional: false,
            }),
            deposed: Vec::new(),
            parent: None,
            applied: Attributes::new(),
            depends_on: Vec::new(),
            protect: false,
            keep_on_remove: false,
            delete_on_remove: false,
            unfinished: false,
            secret_lost: false,
            secret_origin: None,
            final_snapshot: false,
            verified: None,
        };
        ledger.entries.insert(address.clone(), entry);
    }
}

/// Makes the first plan of a stack without live objects, and checks that it is complete and harmless to print.
fn plan(stack: &Stack) {
    let mut ledger = Ledger::new(LedgerIdentity::new_placeholder(&stack.name, &stack.environment.name));
    remember(&mut ledger, stack);
    let plan = make_plan(&PlanInputs {
        registry: REGISTRY,
        stack,
        ledger: &ledger,
        snapshot: &Snapshot::default(),
        catalog: &Catalog::default(),
        pinned: None,
        options: &PlanningOptions::default(),
        now: Timestamp::UNIX_EPOCH,
        nonce: Uuid::nil(),
    });
    let facts = terminal::PlanContext::default();
    assert_harmless(&terminal::plan_page(&plan, &facts, true, TextStyle::plain(80)));
    assert_json(&json::render_plan_document(&plan, REGISTRY, json::PlanDocumentOptions::default()), false);
}
