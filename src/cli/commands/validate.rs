//! `stead validate`: everything that can be checked without a network, and what is safe to mend.

use std::path::PathBuf;

use crate::cli::args::Validate;
use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::files::{self, StackFiles};
use crate::cli::project::Project;
use crate::cli::rewriting::{self, Rewrite};
use crate::cli::session::Session;
use crate::config::load::Rejected;
use crate::model::diagnostic::{Diagnostic, Fix, Severity};
use crate::model::source::{Source, Sources};
use crate::plan::offline;
use crate::report::{json, words};

/// Most rounds of fixes: mending one problem may show the next.
const MOST_ROUNDS: usize = 100;

/// Checks the stack.
///
/// # Errors
/// When it has problems, or cannot be read.
pub(in crate::cli) async fn run(session: &Session, args: &Validate) -> Result<Exit, Failure> {
    if args.fix {
        fix(session, args).await?;
    }
    let opened = session.open().and_then(|project| judged(session, project));
    if session.ui.json {
        let (diagnostics, sources) = match &opened {
            Ok(project) => (&project.warnings, &project.stack.sources),
            Err(Failure { rejected: Some(rejected), .. }) => (&rejected.diagnostics, &rejected.sources),
            Err(_) => return opened.map(|_| Exit::Done),
        };
        session.ui.out(&json::diagnostics(diagnostics, sources));
        let failed = diagnostics.iter().any(|problem| problem.severity == Severity::Error);
        return Ok(if failed { Exit::Failed } else { Exit::Done });
    }
    let project = match opened {
        Err(Failure { rejected: Some(rejected), .. }) if !args.fix => {
            return Ok(problems_told(session, *rejected));
        }
        opened => opened?,
    };
    let stack = &project.stack;
    session.ui.out(&format!(
        "{}/{} is valid: {} resources\n",
        stack.name,
        stack.environment.name,
        stack.resources.len()
    ));
    session.next("plan", "shows what would change");
    Ok(Exit::Done)
}

/// Asks the policies that need nothing of the live world.
fn judged(session: &Session, project: Project) -> Result<Project, Failure> {
    let denials = offline::denials(&project.stack);
    if denials.is_empty() {
        return Ok(project);
    }
    // Warnings were told when the stack was read, but for the one document of JSON.
    let warnings = project.warnings.into_iter().filter(|_| session.ui.json);
    let diagnostics = warnings.chain(denials).collect();
    Err(Box::new(Rejected { sources: project.stack.sources, diagnostics }).into())
}

/// Tells the problems, then how many there are, then what can be done about them.
fn problems_told(session: &Session, rejected: Rejected) -> Exit {
    let count =
        |severity| rejected.diagnostics.iter().filter(|problem| problem.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let mends = rejected.diagnostics.iter().any(|problem| problem.fix.is_some());
    let exit = session.complain(&Failure::from(Box::new(rejected)));
    let mut summary = words::counted(errors, "error");
    if warnings > 0 {
        summary = format!("{summary}, {}", words::counted(warnings, "warning"));
    }
    session.ui.say(&summary);
    if mends {
        session.next("validate --fix", "mends what is safe to mend");
    }
    exit
}

/// Mends what has a safe edit, round after round, and writes it once it was agreed to.
async fn fix(session: &Session, args: &Validate) -> Result<(), Failure> {
    let before = files::read_stack(&session.settings.dir)?;
    if !before.diagnostics.is_empty() {
        return Ok(());
    }
    let mut texts: Vec<Source> = before.sources.iter().map(|(_, source)| source.clone()).collect();
    let mut known = usize::MAX;
    for _ in 0..MOST_ROUNDS {
        let problems = problems(session, &texts)?;
        let errors = problems.iter().filter(|problem| problem.severity == Severity::Error).count();
        let fixes: Vec<&Fix> = problems.iter().filter_map(|problem| problem.fix.as_ref()).collect();
        let Some(new) = mended(&texts, &fixes, known <= errors) else { break };
        known = errors;
        texts = new;
    }
    let mut rewrites = Vec::new();
    for ((_, source), new) in before.sources.iter().zip(texts) {
        if source.text != new.text {
            let path = PathBuf::from(&source.path);
            rewrites.push(Rewrite { path, before: source.clone(), after: new.text.to_string() });
        }
    }
    if rewrites.is_empty() {
        session.ui.say("There is nothing that is safe to mend.");
        return Ok(());
    }
    rewriting::write(session, &rewrites, args.yes).await.map(drop)
}

/// Returns the problems of a stack with these texts.
fn problems(session: &Session, texts: &[Source]) -> Result<Vec<Diagnostic>, Failure> {
    let mut sources = Sources::default();
    for source in texts {
        sources.add(source.clone());
    }
    match Project::of(&session.settings, StackFiles { sources, diagnostics: Vec::new() }) {
        Ok(project) => Ok(project.warnings),
        Err(Failure { rejected: Some(rejected), .. }) => Ok(rejected.diagnostics),
        Err(failure) => Err(failure),
    }
}

/// Returns the texts with the fixes made that do not overlap; only the first, with `one`. `None` when
/// there is none.
fn mended(texts: &[Source], fixes: &[&Fix], one: bool) -> Option<Vec<Source>> {
    let mut fixes: Vec<&Fix> = fixes.to_vec();
    fixes.sort_by_key(|fix| fix.span);
    fixes.dedup();
    let mut new: Vec<String> = vec![String::new(); texts.len()];
    let mut at = vec![0_usize; texts.len()];
    let mut made = 0;
    for fix in fixes {
        let file = fix.span.source.0 as usize;
        let (start, end) = (fix.span.start as usize, fix.span.end as usize);
        let Some(text) = texts.get(file).map(|source| &*source.text) else { continue };
        let fits = start >= at[file] && text.get(start..end).is_some_and(|old| old != fix.replacement);
        if !fits || (one && made > 0) {
            continue;
        }
        new[file].push_str(text.get(at[file]..start)?);
        new[file].push_str(&fix.replacement);
        at[file] = end;
        made += 1;
    }
    for (file, source) in texts.iter().enumerate() {
        new[file].push_str(source.text.get(at[file]..)?);
    }
    let sources = texts.iter().zip(new).map(|(source, text)| Source::new(source.path.as_str(), text));
    (made > 0).then(|| sources.collect())
}
