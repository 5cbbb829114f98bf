//! `stead ci`: writes pipelines and Git hooks, and posts comments and issues on the forge. The comment of a plan is
//! what a reviewer approves: `reviewed` accepts it only for the merged commit and from a trusted account, so that
//! no other account can name a plan to apply.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;

use crate::cli::args::workspace::parse_pattern;
use crate::cli::artifacts::ci_templates::{
    self, CiSystem, PipelineParameters, WorkspacePipelineParameters,
};
use crate::cli::artifacts::report_files;
use crate::cli::command_context::CommandContext;
use crate::cli::files::git_origin;
use crate::cli::files::stack_files::{self, SharedRoot};
use crate::cli::files::write_files;
use crate::cli::forge::api::{CommentContent, CommentThread};
use crate::cli::forge::ci_job::{CiJob, CiJobError};
use crate::cli::forge::comments::{CommentResult, CommentWriter};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::settings::Settings;
use crate::cli::process::terminal::Terminal;
use crate::cli::stack::project::{self, LoadedStack};
use crate::cli::workspace::units::{SelectionRequest, Workspace};
use crate::config::load::{self, StackHeader};
use crate::kinds::REGISTRY;
use crate::model::address::Name;
use crate::model::source::Sources;
use crate::report::text::escape;
use crate::report::units::title::UnitsTitle;
use crate::report::{json, review};
use crate::workspace::selection::UnitPattern;

/// Command-line arguments of `stead ci`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead ci init github\n  stead plan -e prod --report md=plan.md; stead ci comment plan.md\n  stead apply -e prod --expect \"$(stead ci reviewed -e prod)\""
)]
pub struct CiArgs {
    /// Subcommand to run
    #[command(subcommand)]
    pub action: CiAction,
}

/// Subcommands of `stead ci`.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum CiAction {
    /// Write a pipeline for the stack: checks and plans in review, applies after the merge, a daily drift check
    Init(CiInitArgs),
    /// Post a Markdown report to the pull or merge request: one comment per stack and environment, updated in place
    Comment(CiCommentArgs),
    /// Print the fingerprint of the plan that was reviewed in the pull or merge request of this commit
    Reviewed(CiReviewedArgs),
    /// Write a Git hook that validates the stack before every commit
    Hook(CiHookArgs),
}

/// Command-line arguments of `stead ci init`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead ci init github --install 'curl -fsSL https://example.com/stead.tar.gz | tar xz -C /usr/local/bin'\n  stead -C infra/shop ci init gitlab --image registry.example.com/stead:1\n  stead ci init github --all"
)]
pub struct CiInitArgs {
    /// CI system of the pipeline
    pub system: CiSystem,
    /// Command that puts stead on a runner's PATH; without it, the pipeline fails with a message
    #[arg(long, value_name = "COMMAND")]
    pub install: Option<String>,
    /// Container image of the jobs
    #[arg(long, value_name = "IMAGE")]
    pub image: Option<String>,
    /// Branch whose merges are applied
    #[arg(long, value_name = "BRANCH", default_value = "main", value_parser = parse_branch)]
    pub branch: String,
    /// Write one pipeline for all stacks of the repository: it plans and applies them together
    #[arg(long)]
    pub all: bool,
    /// Overwrite an existing file
    #[arg(long)]
    pub force: bool,
}

/// Command-line arguments of `stead ci comment`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Example:\n  stead plan -e prod --report md=plan.md && stead ci comment plan.md || stead ci comment -e prod --failed\n\nIn a job of GitHub Actions it needs GITHUB_TOKEN and `permissions: { pull-requests: write }`; in GitLab CI a GITLAB_TOKEN with the scope `api`."
)]
pub struct CiCommentArgs {
    /// The report, as written by `--report md=FILE`
    #[arg(required_unless_present = "failed")]
    pub file: Option<PathBuf>,
    /// Report that the plan failed, replacing the plan of an earlier commit
    #[arg(long, conflicts_with = "file")]
    pub failed: bool,
    /// Pull or merge request to comment on.
    #[command(flatten)]
    pub number: PullRequestArgs,
}

/// Command-line arguments of `stead ci reviewed`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  fingerprint=$(stead ci reviewed -e prod --save reviewed.md)\n  stead apply -e prod --expect \"$fingerprint\" --against reviewed.md\n  stead apply --all $(stead ci reviewed --all)\n  stead apply --all $(stead ci reviewed --all -e prod --stacks 'shop/*')"
)]
pub struct CiReviewedArgs {
    /// Also write the comment to this file: `apply --expect … --against FILE` then names what differs
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// The request that was merged.
    #[command(flatten)]
    pub request: PullRequestArgs,
}

/// The choice of a pull or merge request, and of a comment in it.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct PullRequestArgs {
    /// Number of the pull or merge request [default: the job's, or the one that its commit came from]
    #[arg(long, value_name = "N")]
    pub number: Option<u64>,
    /// The number of the account whose comments count [default: the token's; `github-actions[bot]` for a token
    /// that may not ask]
    #[arg(long, value_name = "ID")]
    pub author: Option<u64>,
    /// The comment of `plan --all`; `reviewed` prints the flags of `apply --all`: `--stacks UNIT … --expect FINGERPRINT`
    #[arg(long)]
    pub all: bool,
    /// With --all, the comment of a plan with the same --stacks and -e; repeatable
    #[arg(long = "stacks", value_name = "GLOB", requires = "all", value_parser = parse_pattern)]
    pub patterns: Vec<UnitPattern>,
}

/// Command-line arguments of `stead ci hook`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Example:\n  stead -C infra/shop ci hook")]
pub struct CiHookArgs {
    /// Overwrite an existing hook
    #[arg(long)]
    pub force: bool,
}

/// Runs a subcommand of `stead ci`.
///
/// # Errors
/// When a file cannot be read or written, this is not a job of a forge, or the forge refuses a request.
pub(in crate::cli) async fn run(session: &CommandContext, args: &CiArgs) -> Result<Exit, CliFailure> {
    match &args.action {
        CiAction::Init(args) => write_pipeline(session, args),
        CiAction::Comment(args) => write_comment(session, args).await,
        CiAction::Reviewed(args) => print_reviewed_fingerprint(session, args).await,
        CiAction::Hook(args) => write_hook(session, args),
    }
}

/// Writes the drift issue of a stack if `open` is set, or closes the existing one; `report` is Markdown.
///
/// # Errors
/// When this is not a job of a forge, or the forge refuses a request.
pub(in crate::cli) async fn write_issue(
    title: &str,
    report: &str,
    open: bool,
) -> Result<CommentResult, CliFailure> {
    let body = format!("<!-- stead-drift:{} -->\n{report}", review::comment_marker(title));
    let title = format!("stead drift: {title}");
    let desk = comment_writer(None)?;
    desk.write_note(CommentThread::Issues, CommentContent { title: &title, body: &body, open }).await
}

/// Returns the writer of comments for the CI job of this process; `author` is the account whose comments count,
/// `None` for the token's.
fn comment_writer(author: Option<u64>) -> Result<CommentWriter, CliFailure> {
    let no_job = |why: CiJobError| CliFailure::new(Exit::Usage, why.to_string()).help(why.help());
    CommentWriter::new(CiJob::from_env(&Terminal::from_process().variables).map_err(no_job)?, author)
}

async fn write_comment(session: &CommandContext, args: &CiCommentArgs) -> Result<Exit, CliFailure> {
    let text = match &args.file {
        Some(path) => read_report(path)?,
        None => review::plan_failed(&commented_title(&session.settings, &args.number)?),
    };
    let desk = comment_writer(args.number.author)?;
    let number = request_number(&desk, &args.number).await?;
    let body = review::with_head(&text, desk.head_commit(number).await?.as_deref());
    let written = desk
        .write_note(CommentThread::Review(number), CommentContent { title: "", body: &body, open: true })
        .await?;
    print_written(session, "comment", &written);
    Ok(Exit::Done)
}

/// Reads the report file for a comment; a file without the marker of a stack's report is an error.
fn read_report(path: &Path) -> Result<String, CliFailure> {
    let text = String::from_utf8(stack_files::read_output(path)?).unwrap_or_default();
    if review::marker_of(&text).is_none() {
        let name = stack_files::display_path(path);
        return Err(CliFailure::new(Exit::Usage, format!("{name} is not a Markdown report of stead"))
            .help("stead plan --report md=FILE writes one."));
    }
    Ok(text)
}

/// Returns the title of the stack's report: `STACK/ENVIRONMENT`, or the stack alone if it has no environments.
///
/// # Errors
/// When the stack's header cannot be read, or no environment is chosen and there are several.
fn report_title(settings: &Settings) -> Result<String, CliFailure> {
    let (name, environments) = stack_and_environments(settings)?;
    let environment = match (&settings.env, environments.as_slice()) {
        (Some(environment), _) => environment.clone(),
        (None, [only]) => only.clone(),
        (None, [first, ..]) if !first.is_empty() => first.clone(),
        _ => return Err(CliFailure::new(Exit::Usage, "no environment is chosen").help("Name one with -e.")),
    };
    Ok(if environment.is_empty() { name.to_string() } else { format!("{name}/{environment}") })
}

/// Returns the title of the comment that a command names: that of all stacks, or of the stack.
fn commented_title(settings: &Settings, args: &PullRequestArgs) -> Result<String, CliFailure> {
    if !args.all {
        return report_title(settings);
    }
    let patterns: Vec<&str> = args.patterns.iter().map(UnitPattern::text).collect();
    Ok(UnitsTitle::new(settings.env.as_deref(), &patterns).title)
}

/// Prints the fingerprint of the plan that was reviewed in the request that this commit was merged by.
async fn print_reviewed_fingerprint(
    session: &CommandContext,
    args: &CiReviewedArgs,
) -> Result<Exit, CliFailure> {
    let CiReviewedArgs { save, request: args } = args;
    let title = commented_title(&session.settings, args)?;
    let desk = comment_writer(args.author)?;
    let number = request_number(&desk, args).await?;
    let request = desk.read_request(number).await?;
    if !request.is_merged {
        return Err(CliFailure::new(Exit::Failed, format!("request {number} is not merged")).help(
            "A request that is not merged can still change: its plan is not the one that was approved.",
        ));
    }
    // Only a comment by the trusted account is found: anyone can write one with the same marker.
    let marker = format!("<!-- stead:{} -->", review::comment_marker(&title));
    let found = desk.find_note(CommentThread::Review(number), &marker).await?;
    let planned = found.as_ref().and_then(|note| review::head_of(&note.body));
    let fingerprint = found.as_ref().and_then(|note| review::fingerprint_of(&note.body));
    let Some(fingerprint) = fingerprint else {
        return Err(CliFailure::new(
            Exit::Failed,
            format!("request {number} has no comment with a plan of {title} by this token's account"),
        )
        .help("stead ci comment writes it, with the token of the same account; --author ID names another account."));
    };
    // The plan of an earlier commit was reviewed, but is not what was merged.
    if planned.is_none() || planned != request.head.as_deref() {
        return Err(CliFailure::new(
            Exit::Failed,
            format!("the plan of {title} in request {number} is not of the commit that was merged"),
        )
        .help("Run the pipeline of its last commit, so that it writes its plan; or plan again and review that."));
    }
    if let (Some(path), Some(note)) = (save, &found) {
        write_files::write_public(path, note.body.as_bytes())?;
    }
    let units = found.as_ref().map(|note| review::units_of(&note.body)).unwrap_or_default();
    if session.ui.json {
        let mut document = json!({
            "schema_version": json::SCHEMA_VERSION, "number": number, "fingerprint": fingerprint,
        });
        if args.all {
            document["units"] = units.into();
        }
        session.ui.write_result(&json::to_pretty(&document));
    } else if args.all {
        // A name has no character that a shell would change, so the line needs no quotes.
        let stacks = units.iter().map(|unit| format!("--stacks {unit}"));
        let flags: Vec<String> = stacks.chain([format!("--expect {fingerprint}\n")]).collect();
        session.ui.write_result(&flags.join(" "));
    } else {
        session.ui.write_result(&format!("{fingerprint}\n"));
    }
    Ok(Exit::Done)
}

/// Returns the number that the user gave, else the one that the forge knows for the commit of the job.
async fn request_number(desk: &CommentWriter, args: &PullRequestArgs) -> Result<u64, CliFailure> {
    match args.number {
        Some(number) => Ok(number),
        None => desk.review_number().await,
    }
}

fn print_written(session: &CommandContext, what: &str, written: &CommentResult) {
    let how = written.how.outcome_keyword();
    if session.ui.json {
        session.ui.write_result(&json::to_pretty(&json!({
            "schema_version": json::SCHEMA_VERSION, "outcome": how, "url": written.url,
        })));
        return;
    }
    let url =
        written.url.as_deref().map(|url| format!(": {}", escape::escape_line(url))).unwrap_or_default();
    session.ui.write_result(&format!("{what} {how}{url}\n"));
}

fn write_pipeline(session: &CommandContext, args: &CiInitArgs) -> Result<Exit, CliFailure> {
    let (root, (file, text)) =
        if args.all { workspace_pipeline(session, args)? } else { stack_pipeline(session, args)? };
    write_new_file(session, &root.join(&file), &text, (args.force, false))?;
    if args.install.is_none() && args.image.is_none() {
        session.ui.hint(
            "note: the pipeline looks for stead on the runner's PATH; --install or --image puts it there",
        );
    }
    Ok(Exit::Done)
}

/// Returns the repository's root, and the path and the text of the pipeline for all of its stacks.
fn workspace_pipeline(
    session: &CommandContext,
    args: &CiInitArgs,
) -> Result<(PathBuf, (String, String)), CliFailure> {
    let workspace =
        Workspace::open(&session.settings, &session.unit_settings, &SelectionRequest::default())?;
    let (mut secrets, mut is_confirmed) = (BTreeSet::new(), false);
    for (_, one) in workspace.selected_units() {
        secrets.extend(looked_at(&one.settings).0);
        is_confirmed |= !read_stack_header(&one.settings)?.confirmed.is_empty();
    }
    let facts = WorkspacePipelineParameters {
        secrets: secrets.into_iter().collect(),
        is_confirmed,
        branch: args.branch.clone(),
        install: args.install.clone(),
        image: args.image.clone(),
    };
    if let Some(why) = ci_templates::workspace_pipeline_refusal(&facts) {
        return Err(no_pipeline(&why));
    }
    let root = stack_files::real_path(&workspace.root).unwrap_or(workspace.root);
    Ok((root, ci_templates::render_workspace_pipeline(args.system, &facts)))
}

fn no_pipeline(why: &str) -> CliFailure {
    CliFailure::new(Exit::Usage, format!("no pipeline is written: {why}"))
        .help("Give it a name of letters, digits, `-`, `_` and `.`.")
}

/// Returns the repository's root, and the path and the text of the pipeline for one stack.
fn stack_pipeline(
    session: &CommandContext,
    args: &CiInitArgs,
) -> Result<(PathBuf, (String, String)), CliFailure> {
    let (stack, environments) = stack_and_environments(&session.settings)?;
    let confirmed = read_stack_header(&session.settings)?.confirmed.into_iter().collect();
    let shared = SharedRoot::find_root(&session.settings.dir, false);
    let (secrets, files) = looked_at(&session.settings);
    let own = join_segments(&shared.place);
    let facts = PipelineParameters {
        stack,
        environments,
        confirmed,
        secrets,
        folders: additional_directories(&own, &files),
        directory: own,
        branch: args.branch.clone(),
        install: args.install.clone(),
        image: args.image.clone(),
    };
    match ci_templates::pipeline_refusal(&facts) {
        Some(why) => Err(no_pipeline(&why)),
        None => Ok((shared.root, ci_templates::render_pipeline(args.system, &facts))),
    }
}

fn write_hook(session: &CommandContext, args: &CiHookArgs) -> Result<Exit, CliFailure> {
    // The header is read first: a hook for a directory without a stack would refuse every commit.
    stack_and_environments(&session.settings)?;
    let git = git_origin::hooks_directory(&session.settings.dir).ok_or_else(|| {
        CliFailure::new(Exit::Failed, "git uses no hooks in the stack's directory")
            .help("There is no repository (git init creates one), or a program manages its hooks (core.hooksPath): have it run `stead fmt --check` and `stead validate`.")
    })?;
    let text =
        ci_templates::git_hook(&join_segments(&SharedRoot::find_root(&session.settings.dir, false).place));
    write_new_file(session, &git.join("pre-commit"), &text, (args.force, true))?;
    Ok(Exit::Done)
}

/// Writes a file of the repository and prints its path; an existing file needs `force`. `program`
/// sets its execute permission.
fn write_new_file(
    session: &CommandContext,
    path: &Path,
    text: &str,
    (force, program): (bool, bool),
) -> Result<(), CliFailure> {
    let shown = display_relative_path(path);
    if stack_files::path_exists(path) && !force {
        return Err(CliFailure::existing_file(&shown).help("Overwrite it with --force."));
    }
    if program {
        write_files::write_program(path, text.as_bytes())?;
    } else {
        write_files::write_public(path, text.as_bytes())?;
    }
    let said = if session.ui.json {
        json::formatted_document(&[&shown], true)
    } else {
        format!("wrote {shown}\n")
    };
    session.ui.write_result(&said);
    Ok(())
}

/// Returns a path relative to the working directory, for messages; a path outside of it stays absolute.
fn display_relative_path(path: &Path) -> String {
    let here = std::path::absolute(".").and_then(|here| here.canonicalize());
    let below = here.ok().and_then(|here| path.strip_prefix(here).ok().map(Path::to_owned));
    stack_files::display_path(below.as_deref().unwrap_or(path))
}

/// Returns the stack's name and its environments, the default one first; without environments, only the default name.
fn stack_and_environments(settings: &Settings) -> Result<(Name, Vec<Name>), CliFailure> {
    let peek = read_stack_header(settings)?;
    let mut environments: Vec<Name> = peek.environments.into_iter().collect();
    environments.sort_by_key(|name| *name != peek.default);
    if environments.is_empty() {
        environments.push(peek.default);
    }
    Ok((peek.name, environments))
}

/// Reads the stack's header, even if the rest of the stack is invalid.
///
/// # Errors
/// When there is no stack file, or its name cannot be read.
fn read_stack_header(settings: &Settings) -> Result<StackHeader, CliFailure> {
    let files = stack_files::read_stack(&settings.dir)?;
    let below = project::confined_files(&settings.dir, stack_files::Trust::Full, settings.allow_outside);
    let none = || {
        let place = stack_files::display_path(&settings.dir);
        CliFailure::new(Exit::Failed, format!("there is no stack in {place} whose name can be read"))
            .help("stead validate shows its errors; stead init creates one.")
    };
    load::read_header(REGISTRY, &files.sources, &below).ok_or_else(none)
}

/// Returns the secret variables that must be given from outside, and the stack's files, even of an invalid stack.
/// Both are empty if the files cannot be read.
fn looked_at(settings: &Settings) -> (Vec<Name>, Vec<String>) {
    // Without the variables of this shell, each secret that a CI job has to give is reported as missing.
    let bare = Settings { env_vars: BTreeMap::new(), needs_secrets: true, ..settings.clone() };
    let paths = |sources: &Sources| sources.iter().map(|(_, source)| source.path.clone()).collect();
    match LoadedStack::open(&bare) {
        Ok(project) => (Vec::new(), paths(&project.stack.sources)),
        Err(CliFailure { rejected: Some(rejected), .. }) => {
            let asked = rejected.diagnostics.iter().filter_map(|problem| problem.asks.clone());
            (asked.collect(), paths(&rejected.sources))
        }
        Err(_) => Default::default(),
    }
}

/// Returns the directories of the stack's files outside of its own, relative to the repository's root, sorted.
fn additional_directories(own: &str, files: &[String]) -> Vec<String> {
    let root = report_files::repository_root(None);
    let folder = |file: &String| Some(root.repository_path(file).rsplit_once('/')?.0.to_owned());
    let is_own =
        |folder: &String| folder == own || own.is_empty() || folder.starts_with(&format!("{own}/"));
    let found: BTreeSet<String> =
        files.iter().filter_map(folder).filter(|folder| !is_own(folder)).collect();
    found.into_iter().collect()
}

/// Returns directory names, from the repository's root, as a path with slashes; empty for the root.
fn join_segments(way: &[Name]) -> String {
    way.join("/")
}

/// Parses a branch name. Pipelines use it in patterns and conditions, so characters that are special there are refused.
fn parse_branch(text: &str) -> Result<String, String> {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./".contains(&b);
    if !text.is_empty() && text.bytes().all(is_plain) {
        return Ok(text.to_owned());
    }
    Err("a branch's name is made of letters, digits and - _ . / here; write another one into the file by hand".to_owned())
}
