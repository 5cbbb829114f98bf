//! Slips that people make: one message each, which names what to write instead; and its fix, where
//! there is one, gives a stack that is valid.
//!
//! `tests/corpus/slips/NN-name.yaml` (or `.kdl`) holds one slip. Its first lines, as comments, say what it
//! is and what must come of it: `gives:` the code and the place, `help:` the help text, and `fixed:` each
//! line that the fix changes, as it is then.
#![allow(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test reads its corpus and stops at the first surprise"
)]

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use stead::config::input::files::{DirectoryEntry, Files};
use stead::config::input::request::LoadRequest;
use stead::config::load::load;
use stead::kinds::REGISTRY;
use stead::model::diagnostic::{Diagnostic, Severity};
use stead::model::source::{Source, Sources};

/// Nothing stands beside these stacks.
struct Nothing;

impl Files for Nothing {
    fn read(&self, _: &Path) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn list(&self, _: &Path) -> io::Result<Vec<DirectoryEntry>> {
        Err(io::ErrorKind::NotFound.into())
    }
}

/// One file of the corpus.
struct Slip {
    name: String,
    text: String,
}

impl Slip {
    /// What the file says of a word, in the order of its lines.
    fn is_kdl(&self) -> bool {
        Path::new(&self.name).extension().is_some_and(|extension| extension == "kdl")
    }

    fn said(&self, word: &str) -> Vec<&str> {
        let mark = if self.is_kdl() { "// " } else { "# " };
        let lines = self.text.lines().map_while(|line| line.strip_prefix(mark));
        lines.filter_map(|line| line.strip_prefix(word)?.strip_prefix(": ")).collect()
    }

    fn path(&self) -> &str {
        if self.is_kdl() { "stead.kdl" } else { "stead.yaml" }
    }

    /// What comes of a slip, in the words of its file.
    fn outcome(&self) -> Vec<String> {
        let (problems, sources) = problems(self.path(), &self.text);
        let [problem] = problems.as_slice() else {
            return vec![format!("{} errors: {problems:#?}", problems.len())];
        };
        let place = problem.span().and_then(|span| sources.location_of(span));
        let place = place.map_or("-".to_owned(), |place| format!("{}:{}", place.line, place.column));
        let mut outcome = vec![format!("gives: {} {place}", problem.code)];
        outcome.extend(problem.help.iter().map(|help| format!("help: {help}")));
        let Some(fix) = &problem.fix else { return outcome };
        let (start, end) = (fix.span.start as usize, fix.span.end as usize);
        let fixed = [&self.text[..start], &fix.replacement, &self.text[end..]].concat();
        let (left, _) = self::problems(self.path(), &fixed);
        if !left.is_empty() {
            outcome.push(format!("and is not mended: {left:#?}"));
        }
        let old: BTreeSet<&str> = self.text.lines().collect();
        outcome
            .extend(fixed.lines().filter(|line| !old.contains(line)).map(|line| format!("fixed: {line}")));
        outcome
    }

    /// What must come of it.
    fn wanted(&self) -> Vec<String> {
        let all = ["gives", "help", "fixed"].into_iter();
        all.flat_map(|word| self.said(word).into_iter().map(move |said| format!("{word}: {said}")))
            .collect()
    }
}

/// The errors of a stack of one file.
fn problems(path: &str, text: &str) -> (Vec<Diagnostic>, Sources) {
    let mut sources = Sources::default();
    sources.add(Source::new(path, text));
    match load(REGISTRY, sources, &LoadRequest::default(), &Nothing) {
        Ok((stack, _)) => (Vec::new(), stack.sources),
        Err(rejected) => {
            let errors = rejected.diagnostics.into_iter();
            (errors.filter(|problem| problem.severity == Severity::Error).collect(), rejected.sources)
        }
    }
}

fn corpus() -> Vec<Slip> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/slips");
    let mut slips: Vec<Slip> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| Slip {
            name: path.file_name().unwrap().to_str().unwrap().to_owned(),
            text: fs::read_to_string(&path).unwrap(),
        })
        .collect();
    slips.sort_by(|a, b| a.name.cmp(&b.name));
    slips
}

#[test]
fn every_frequent_mistake_gets_one_message_with_its_correction() {
    let slips = corpus();
    assert!(slips.len() >= 50, "{} slips", slips.len());
    let mut wrong = Vec::new();
    for slip in &slips {
        let (wanted, outcome) = (slip.wanted(), slip.outcome());
        assert!(slip.said("help").len() == 1, "{}: the corpus names no help", slip.name);
        if wanted != outcome {
            wrong.push(format!("{}\n  wanted {wanted:#?}\n  got {outcome:#?}", slip.name));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), slips.len(), wrong.join("\n"));
}

#[test]
fn the_mistakes_cover_both_syntaxes() {
    let slips = corpus();
    let kdl = slips.iter().filter(|slip| slip.is_kdl()).count();
    assert!(kdl >= 15 && slips.len() - kdl >= 15, "{kdl} of {} in KDL", slips.len());
}
