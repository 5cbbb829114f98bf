//! The pages of the documentation are true: every command block of `src/guide/pages` runs against the built-in cloud
//! and prints what the page shows, and every configuration is validated. `page` reads the blocks, `story` runs them,
//! `compare` decides whether two outputs are the same.
//!
//! ```text
//! cargo test --test guide                                       # all pages
//! STEAD_PAGE=how-to/drift cargo test --test guide -- --nocapture    # the pages whose path contains the text
//! STEAD_BLESS_GUIDE=1 cargo test --test guide                   # writes the printed output into the pages
//! ```
#![allow(
    missing_docs,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise"
)]

mod compare;
mod page;
mod story;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use page::Page;
use story::Story;

/// Pages that run side by side: they wait for the emulator's clock more than they compute.
const THREADS: usize = 4;

/// Returns the pages below `src/guide/pages`, sorted by path; with `STEAD_PAGE`, those whose path contains it.
fn pages() -> Vec<(String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/guide/pages");
    let wanted = std::env::var("STEAD_PAGE").unwrap_or_default();
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                let name = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
                found.push((name, path));
            }
        }
    }
    found.retain(|(name, _)| name.contains(&wanted));
    found.sort();
    found
}

/// Runs pages side by side; returns what was run, and the failures, each with its page and line.
fn run_pages() -> (usize, usize, Vec<String>) {
    let pages = pages();
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let (commands, configurations) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some((name, path)) = pages.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let page = Page::parse(name, &fs::read_to_string(path).unwrap());
                    let report = Story::run(&page, path);
                    commands.fetch_add(report.commands, Ordering::Relaxed);
                    configurations.fetch_add(report.configurations, Ordering::Relaxed);
                    failures.lock().unwrap().extend(report.failures);
                }
            });
        }
    });
    (commands.into_inner(), configurations.into_inner(), failures.into_inner().unwrap())
}

#[test]
fn the_commands_of_every_page_print_what_the_page_shows() {
    let (commands, configurations, failures) = run_pages();
    eprintln!("{commands} commands and {configurations} configurations of the pages were tried");
    assert!(failures.is_empty(), "{} failures:\n\n{}", failures.len(), failures.join("\n\n"));
    assert!(std::env::var_os("STEAD_PAGE").is_some() || commands > 100, "{commands} commands");
}
