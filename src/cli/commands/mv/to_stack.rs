//! `stead mv ADDRESS --to-stack DIR`: takes a block with its comments out of the stack's files, puts it into those of
//! another stack, and adds a `moved` entry to both. The next apply of either stack moves the objects between the two
//! ledgers. Nothing is written unless both edited stacks resolve, and no other resource of either changes.

use std::collections::BTreeSet;
use std::path::Path;

use super::address::{VALUE_SECTIONS, find_block, list_entry_attribute, reject_taken_address};
use super::instance;
use crate::cli::command_context::CommandContext;
use crate::cli::commands::mv::arguments::MvArgs;
use crate::cli::commands::rm;
use crate::cli::files::stack_files;
use crate::cli::ledger::transfer_peers::environments_without_peer;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::settings::Settings;
use crate::cli::stack::project::{LoadedStack, StackSources};
use crate::cli::stack::source_edits::SourceEdits;
use crate::config::edit::{ConfigLiteral, Edit, EditPath, bracketed_entry};
use crate::config::stack::declarations::TransferDirection;
use crate::config::stack::model::Resource;
use crate::config::stack::module_path::module_of;
use crate::editor::graph::DependencyGraph;
use crate::kinds::REGISTRY;
use crate::model::address::{Address, Name};
use crate::model::diagnostic::Severity;
use crate::model::schema::KindScope;
use crate::model::source::{Source, SourceId};
use crate::report::text::phrases::join_words;

/// Maximum number of references that a message lists.
const MAX_LISTED_LOCATIONS: usize = 20;

/// The value of the entry whose line is replaced by the moved block.
const PLACEHOLDER: &str = "the-moved-block-comes-here";

/// Moves a block to another stack's files; returns `Exit::Failed` if the user declines.
///
/// # Errors
/// When the block cannot be moved as a whole, a reference would cross the stacks, or the files cannot be edited.
pub(super) async fn run(
    session: &CommandContext,
    begun: &StackSources,
    args: &MvArgs,
    directory: &Path,
) -> Result<Exit, CliFailure> {
    let address = &args.from;
    reject_pending_move(begun, address, ".")?;
    let file = find_movable_block(begun, address)?;
    let settings = &session.settings;
    let there = settings.dir.join(directory);
    let own = stack_files::real_path(&settings.dir);
    if own == stack_files::real_path(&there) {
        let text = "--to-stack names the directory of the stack itself";
        return Err(CliFailure::new(Exit::Usage, text).help("Name the directory of another stack."));
    }
    let other = LoadedStack::open_for_edits(
        &Settings { dir: there.clone(), env: None, ..settings.clone() },
        Some(&begun.project.stack.environment.name),
    )?;
    reject_missing_environments(begun, &other, address, directory)?;
    reject_pending_move(&other, address, &directory.to_string_lossy())?;
    reject_taken_address(&other, address)?;
    reject_references(begun, address)?;
    reject_other_project(begun, &other, address, directory)?;
    let shown = |path: &Path| path.to_string_lossy().into_owned();
    let back = way_back(&settings.dir, &there).ok_or_else(|| {
        CliFailure::new(
            Exit::Usage,
            format!("there is no relative path between the stack and {}", shown(&there)),
        )
    })?;

    let mut edits = SourceEdits::new(begun);
    let before = source_text(begun, file);
    edits.edit_file(file, &[Edit::Remove(EditPath::from_text(address.as_str()))])?;
    let after = edits.text_of(file).unwrap_or_default();
    let is_yaml = edits.path_of(file).is_some_and(|path| !is_kdl(&path));
    let path = EditPath::from_text(address.as_str());
    let block = match bracketed_entry(&before, &path).filter(|_| is_yaml) {
        Some(entry) => MovedBlockText::from_brackets(&entry),
        None => MovedBlockText::cut(&before, &after),
    };
    edits.edit_file(file, &[moved_entry(address, "stack", &shown(directory))])?;

    let mut edits_there = SourceEdits::new(&other);
    let target = file_of_same_syntax(begun, file, &other)?;
    insert_block(&mut edits_there, target, address, &block)?;
    edits_there.edit_file(target, &[moved_entry(address, "from_stack", &back)])?;
    check_result(begun, &edits, address, false)?;
    check_result(&other, &edits_there, address, true)
        .map_err(|failure| explain_references(begun, address, &failure))?;

    let diffs: Vec<_> = edits.diffs().into_iter().chain(edits_there.diffs()).collect();
    if !SourceEdits::confirm(&session.ui, &diffs, args.yes).await? {
        return Ok(Exit::Failed);
    }
    // The other stack first: with the block in both, neither can be planned, and nothing is deleted or created.
    edits_there.write(&there)?;
    edits.write(&settings.dir)?;
    session.next(&begun.plan_command(settings), "shows the move; apply it in either stack");
    Ok(Exit::Done)
}

/// Refuses a move between the projects of two stacks: the service moves no object to another project, so that the first plan
/// after the move would replace it.
fn reject_other_project(
    begun: &StackSources,
    other: &StackSources,
    address: &Address,
    directory: &Path,
) -> Result<(), CliFailure> {
    let (own, there) = (&begun.project.stack, &other.project.stack);
    let (Some(from), Some(to)) = (&own.project, &there.project) else { return Ok(()) };
    let moved = own.resources.iter().filter(|(one, _)| one.is_within(address));
    let is_in_project = |(_, resource): (&Address, &Resource)| {
        resource.kind.scope == KindScope::Project && resource.project.is_none()
    };
    if !moved.into_iter().any(is_in_project) {
        return Ok(());
    }
    let shown = directory.to_string_lossy();
    let what = format!(
        "{address} is in {from} of this stack, and would be in {to} of the stack in {shown}: no object moves to another project"
    );
    Err(CliFailure::new(Exit::Failed, what)
        .help("Nothing was written. Choose a stack without a project, and move the project there, too, before you apply."))
}

/// Refuses a move between stacks of which one has an environment that the other one lacks: each environment has an object,
/// whose ledger must be there on both sides.
fn reject_missing_environments(
    begun: &StackSources,
    other: &StackSources,
    address: &Address,
    directory: &Path,
) -> Result<(), CliFailure> {
    let declared =
        |begun: &StackSources| begun.project.stack.environments.iter().cloned().collect::<BTreeSet<Name>>();
    let (own, others) = (declared(begun), declared(other));
    let (there, here) =
        (environments_without_peer(&own, &others), environments_without_peer(&others, &own));
    if there.is_empty() && here.is_empty() {
        return Ok(());
    }
    let named = |names: &[Name]| {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        join_words(names.iter(), MAX_LISTED_LOCATIONS)
    };
    let entries =
        |names: &[Name]| names.iter().map(|name| format!("{name}: {{}}")).collect::<Vec<_>>().join(", ");
    let shown = directory.display();
    let what = format!("{address} cannot move: the two stacks have different environments");
    let mut failure = CliFailure::new(Exit::Failed, what);
    if !there.is_empty() {
        failure = failure.help(format!(
            "The stack in {shown} lacks {}. Add to `environments` there: {}",
            named(&there),
            entries(&there)
        ));
    }
    if !here.is_empty() {
        failure = failure.help(format!(
            "This stack lacks {}, which the stack in {shown} has. Add to `environments` here: {}",
            named(&here),
            entries(&here)
        ));
    }
    Err(failure.help("Nothing was written."))
}

/// Refuses an address that an entry of a stack moves already: the ledger has its object elsewhere until that move is
/// applied, and two entries would send it to two stacks. `directory` is the path to the stack.
fn reject_pending_move(begun: &StackSources, address: &Address, directory: &str) -> Result<(), CliFailure> {
    let mut moves = begun.project.stack.declarations.transfers.iter();
    let overlaps = |own: &Address| own.is_within(address) || address.is_within(own);
    let Some(pending) = moves.find(|one| overlaps(one.own_address())) else { return Ok(()) };
    let (other, at) = (&pending.shown, begun.project.stack.sources.location_of(pending.span));
    let at = at.map(|at| format!(" ({}:{})", at.file, at.line)).unwrap_or_default();
    let way = match pending.direction {
        TransferDirection::Incoming => "from",
        TransferDirection::Outgoing => "to",
    };
    let text =
        format!("{address} has a pending move: a `moved` entry moves it {way} the stack in `{other}`{at}");
    let stack = if directory == "." { String::new() } else { format!(" -C {directory}") };
    Err(CliFailure::new(Exit::Failed, text)
        .help(format!("Apply the pending move first, in each environment: stead{stack} apply"))
        .help(format!(
            "When it is applied, remove its entry from both stacks, here with `stead{stack} fmt --prune`, and move the resource from the stack that has it then."
        )))
}

/// Returns the file of a block that can be moved as a whole: a resource, or a block with `for_each`, in one of the
/// stack's own files.
fn find_movable_block(begun: &StackSources, address: &Address) -> Result<SourceId, CliFailure> {
    let refused = |what: &str, help: &str| {
        Err(CliFailure::new(Exit::Usage, format!("{address} {what}")).help(help.to_owned()))
    };
    let by_hand = "Move it by hand: cut its text out, and write a `moved` entry with `stack` here and one with `from_stack` there.";
    let is_value = VALUE_SECTIONS.contains(&address.root());
    if !is_value && !module_of(&REGISTRY, address.as_str()).0.is_empty() {
        return refused("is a module, or in one", by_hand);
    }
    let stack = &begun.project.stack;
    if stack.resources.get(address).is_some_and(|resource| resource.parent.is_some()) {
        return refused(
            "is a child, which moves with its parent",
            "Move its parent: it takes everything in it along.",
        );
    }
    if instance::find_instance(begun, address)?.is_some() || list_entry_attribute(stack, address).is_some()
    {
        return refused("is one of several in its block", by_hand);
    }
    Ok(find_block(begun, address)?.file)
}

/// Refuses a block that others refer to: a reference cannot cross stacks.
fn reject_references(begun: &StackSources, address: &Address) -> Result<(), CliFailure> {
    let places = rm::references_to(&begun.project.stack, address);
    if places.is_empty() {
        return Ok(());
    }
    let failure = CliFailure::new(
        Exit::Failed,
        format!("{address} cannot move: references to it would cross the two stacks"),
    );
    let told = places.iter().take(MAX_LISTED_LOCATIONS).cloned().fold(failure, CliFailure::help);
    Err(told.help(
        "Nothing was written. Move it by hand: in one edit, move the block and the outputs of it to the other stack, write \
         a `moved` entry in each of the two, and read the outputs here: `stacks: { web: ../web }`, then `$stacks.web.NAME`.",
    ))
}

/// Returns the failure of the other stack with the references of the block itself, which probably cause it.
fn explain_references(begun: &StackSources, address: &Address, failure: &CliFailure) -> CliFailure {
    let graph = DependencyGraph::from_stack(&begun.project.stack);
    let mut places = BTreeSet::new();
    for edge in &graph.edges {
        let (from, to) = (&graph.nodes[edge.from].address, &graph.nodes[edge.to].address);
        if !from.is_within(address) || to.is_within(address) {
            continue;
        }
        for tie in &edge.ties {
            let at = tie.source.as_ref().map(|at| format!(" at {}:{}:{}", at.file, at.line, at.column));
            places.insert(format!("{from} refers to {to} ({}){}", tie.by, at.unwrap_or_default()));
        }
    }
    let causes = failure.rejected.iter().flat_map(|rejected| &rejected.diagnostics);
    let causes = causes.filter(|cause| cause.severity == Severity::Error);
    let causes: Vec<String> =
        causes.map(|cause| cause.detail.clone().unwrap_or_else(|| cause.summary.clone())).collect();
    let what = format!("{address} cannot move: in the other stack its block would have errors");
    let failure = causes
        .into_iter()
        .take(MAX_LISTED_LOCATIONS)
        .fold(CliFailure::new(Exit::Failed, what), CliFailure::help);
    let told = places.into_iter().take(MAX_LISTED_LOCATIONS).fold(failure, CliFailure::help);
    told.help(
        "Nothing was written. What it refers to stays: write an output of it in this stack, and declare this \
         stack there (`stacks: { shop: ../shop }`, then `$stacks.shop.NAME`).",
    )
}

fn moved_entry(address: &Address, key: &'static str, directory: &str) -> Edit {
    let address = address.as_str();
    let entry = [
        ("from", ConfigLiteral::text(address)),
        ("to", ConfigLiteral::text(address)),
        (key, ConfigLiteral::text(directory)),
    ];
    Edit::Append(EditPath::from_text("moved"), ConfigLiteral::map(entry))
}

/// Returns the path from the other stack's directory back to this one.
fn way_back(own: &Path, there: &Path) -> Option<String> {
    let (own, there) = (stack_files::real_path(own)?, stack_files::real_path(there)?);
    let shared = own.components().zip(there.components()).take_while(|(a, b)| a == b).count();
    let up = there.components().skip(shared).map(|_| Some(".."));
    let down = own.components().skip(shared).map(|part| part.as_os_str().to_str());
    Some(up.chain(down).collect::<Option<Vec<_>>>()?.join("/"))
}

fn source_text(begun: &StackSources, file: SourceId) -> String {
    begun.files.get(file).map(|source| source.text.to_string()).unwrap_or_default()
}

/// The text of a block with the comments that belong to it, and its depth.
struct MovedBlockText {
    lines: Vec<String>,
    /// Whether the block was in brackets, between others on its line.
    is_bracketed: bool,
}

impl MovedBlockText {
    /// Returns the text of a block that has this entry in brackets.
    fn from_brackets(entry: &str) -> Self {
        Self { lines: entry.lines().map(str::to_owned).collect(), is_bracketed: true }
    }

    /// Returns the lines that a file lost, without blank lines at the ends.
    fn cut(before: &str, after: &str) -> Self {
        let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
        let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
        let most = old.len().min(new.len()) - head;
        let tail = old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
        let mut lines: Vec<String> =
            old[head..old.len() - tail].iter().map(|line| (*line).to_owned()).collect();
        while lines.last().is_some_and(|line| line.trim().is_empty()) {
            lines.pop();
        }
        let blank = lines.iter().take_while(|line| line.trim().is_empty()).count();
        lines.drain(..blank);
        Self { lines, is_bracketed: false }
    }

    /// Returns the entry at an indentation. Its file lost the line of the keyword with its last entry: the comments before
    /// and on that line stay with the entry.
    fn as_entry(&self, keyword: &str, indent: usize) -> String {
        let is_head = |line: &&String| {
            line.strip_prefix(keyword).and_then(|rest| rest.strip_prefix(':')).is_some_and(|rest| {
                let rest = rest.trim();
                rest.is_empty() || rest.starts_with('#')
            })
        };
        let Some(at) = self.lines.iter().position(|line| is_head(&line)) else {
            return Self::indented(&self.lines, indent);
        };
        let (before, entry) = (&self.lines[..at], &self.lines[at + 1..]);
        let on_line = self.lines[at].split_once('#').map(|(_, comment)| format!("#{comment}"));
        let comments: Vec<String> = before.iter().cloned().chain(on_line).collect();
        let texts = [comments.as_slice(), entry].into_iter().filter(|lines| !lines.is_empty());
        texts.map(|lines| Self::indented(lines, indent)).collect::<Vec<_>>().join("\n")
    }

    /// Returns the lines at another indentation.
    fn indented(lines: &[String], indent: usize) -> String {
        let width = |line: &&String| line.len() - line.trim_start().len();
        let own = lines.iter().filter(|line| !line.trim().is_empty()).map(|line| width(&line)).min();
        let own = own.unwrap_or_default();
        let moved = lines.iter().map(|line| match line.get(own..) {
            Some(rest) if !line.trim().is_empty() => format!("{}{rest}", " ".repeat(indent)),
            _ => String::new(),
        });
        moved.collect::<Vec<_>>().join("\n")
    }
}

/// Returns the file of the other stack that gets the block: its main file, or the first one, in the same syntax.
fn file_of_same_syntax(
    begun: &StackSources,
    file: SourceId,
    other: &StackSources,
) -> Result<SourceId, CliFailure> {
    let syntax = |source: &Source| is_kdl(&source.path);
    let wanted = begun.files.get(file).map(syntax);
    let mut files: Vec<(SourceId, &Source)> =
        other.files.iter().filter(|(_, source)| Some(syntax(source)) == wanted).collect();
    files.sort_by_key(|(_, source)| !source.path.starts_with("stead."));
    files.first().map(|(id, _)| *id).ok_or_else(|| {
        let text = "the two stacks are written in different syntaxes";
        CliFailure::new(Exit::Failed, text).help("Convert one of them first: stead convert")
    })
}

fn is_kdl(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "kdl")
}

/// Inserts the block into a file of the other stack.
fn insert_block(
    edits: &mut SourceEdits<'_>,
    file: SourceId,
    address: &Address,
    block: &MovedBlockText,
) -> Result<(), CliFailure> {
    let text = edits.text_of(file).unwrap_or_default();
    if edits.path_of(file).is_some_and(|path| is_kdl(&path)) {
        // A node can stand anywhere at the top of a file.
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        edits.replace_text(file, format!("{text}{end}\n{}\n", block.lines.join("\n")));
        return Ok(());
    }
    // The editor of files finds the place and the indentation.
    let path = EditPath::from_text(address.as_str());
    edits.edit_file(file, &[Edit::Set(path.clone(), ConfigLiteral::text(PLACEHOLDER))])?;
    let text = edits.text_of(file).unwrap_or_default();
    if let Some(place) = bracketed_entry(&text, &path) {
        if !block.is_bracketed {
            return Err(brackets_failure(address));
        }
        edits.replace_text(file, text.replacen(&place, &block.lines.join("\n"), 1));
        return Ok(());
    }
    let line = text.lines().find(|line| line.contains(PLACEHOLDER)).unwrap_or_default();
    let indent = line.len() - line.trim_start().len();
    let lines = block.as_entry(address.root(), indent);
    edits.replace_text(file, text.replacen(line, &lines, 1));
    Ok(())
}

/// Returns the failure of a block with lines of its own that would come between brackets.
fn brackets_failure(address: &Address) -> CliFailure {
    let kind = address.root();
    let what =
        format!("the other stack has its `{kind}` in brackets, and the block of {address} is in lines");
    CliFailure::new(Exit::Failed, what).help(format!(
        "Nothing was written. Write the `{kind}` of one of them as the other is written, and try again."
    ))
}

/// Checks that exactly the moved resources are gone from, or new in, an edited stack.
fn check_result(
    begun: &StackSources,
    edits: &SourceEdits<'_>,
    address: &Address,
    arrives: bool,
) -> Result<(), CliFailure> {
    let after = edits.read()?;
    let before = &begun.project.stack;
    let left: BTreeSet<&Address> = before.resources.keys().filter(|one| !one.is_within(address)).collect();
    let others: BTreeSet<&Address> = after.resources.keys().filter(|one| !one.is_within(address)).collect();
    let is_there = after.resources.keys().any(|one| one.is_within(address));
    if left == others && is_there == arrives {
        return Ok(());
    }
    let text = format!("other resources than {address} would change");
    Err(CliFailure::new(Exit::Failed, text).help("Nothing was written. Move the block by hand."))
}
