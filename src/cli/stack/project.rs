//! The loaded stack of a command: its directory, its files, and the other inputs that resolved it. Loading reads
//! files only; a stack with errors is never returned.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::cli::args::global_flags::quote_shell_word;
use crate::cli::files::job_threads::JobThreads;
use crate::cli::files::recorded_files::{ReadRecorder, RecordedFiles};
use crate::cli::files::stack_files::{self, ConfinedFiles, SharedRoot, StackFiles, Trust};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::settings::Settings;
use crate::cli::service::connection::lock_file_path;
use crate::cli::stack::lock_file::read_pinned_names;
use crate::cli::stack::secret_values::SecretValues;
use crate::cli::stack::sink_checks;
use crate::config::input::files::Files;
use crate::config::input::request::{LoadRequest, SecretAccess};
use crate::config::load::{self, DirectoryContents, LoadFailure, StackHeader};
use crate::config::stack::model::Stack;
use crate::kinds::REGISTRY;
use crate::model::address::Name;
use crate::model::diagnostic::Diagnostic;
use crate::model::source::{Source, Sources};
use crate::workspace::changes::recorded_reads::RecordedReads;
use crate::workspace::unit::UnitName;

/// Environment that a command for all environments starts with.
pub(in crate::cli) struct InitialEnvironment {
    /// Settings that name the environment, unless it is the stack's default.
    pub(in crate::cli) settings: Settings,
    /// The environment that was selected; `None` if the settings name one, or the stack has a
    /// default or no environments.
    pub(in crate::cli) picked: Option<Name>,
    /// Header of the stack's files; `None` if the settings name an environment, or the files have no readable header or
    /// cannot declare environments.
    pub(in crate::cli) header: Option<StackHeader>,
}

/// A stack that was resolved without errors.
pub(in crate::cli) struct LoadedStack {
    pub(in crate::cli) directory: PathBuf,
    /// Resolved configuration of the stack.
    pub(in crate::cli) stack: Stack,
    /// Warnings of the resolution; empty without any.
    pub(in crate::cli) warnings: Vec<Diagnostic>,
    /// Whether shared configuration may be outside of the repository.
    pub(in crate::cli) outside: bool,
    /// Settings of the command; they also locate the ledgers of other stacks.
    pub(in crate::cli) settings: Settings,
    /// Inputs of the resolution if the stack has deferred secrets: it is resolved again with their values.
    /// `None` without such secrets.
    pub(in crate::cli) anew: Option<Box<(Sources, LoadRequest)>>,
    /// What the load read, to be compared with the commit that is checked out; `None` outside of a repository, and for
    /// a stack that was not read from its files alone.
    pub(in crate::cli) reads: Option<RecordedReads>,
}

/// A stack that may be new, with the inputs that resolved it.
pub(in crate::cli) struct StackSources {
    /// The stack as its files are now; without resources for a new one.
    pub(in crate::cli) project: LoadedStack,
    /// Files of the stack; empty for a new one.
    pub(in crate::cli) files: Sources,
    /// Inputs other than the files.
    pub(in crate::cli) request: LoadRequest,
}

impl StackSources {
    /// Returns the command that plans the stack: with the environment, if it was selected for the command that is `given`.
    pub(in crate::cli) fn plan_command(&self, given: &Settings) -> String {
        match (&self.project.settings.env, &given.env) {
            (Some(selected), None) => format!("plan -e {}", quote_shell_word(selected)),
            _ => "plan".to_owned(),
        }
    }
}

impl LoadedStack {
    /// Returns the name of the stack in its environment.
    pub(in crate::cli) fn unit_name(&self) -> UnitName {
        UnitName { stack: self.stack.name.clone(), environment: self.stack.environment.name.clone() }
    }

    /// Returns the directory of another stack that a path of this one's declarations names.
    pub(in crate::cli) fn other_directory(&self, declared: &str) -> PathBuf {
        SharedRoot::find_root(&self.directory, self.outside).root.join(declared)
    }

    /// Reads and resolves the stack of `-C`.
    ///
    /// # Errors
    /// When there is none, or it has errors: all of them together.
    pub(in crate::cli) fn open(settings: &Settings) -> Result<Self, CliFailure> {
        let Some(recorder) = ReadRecorder::for_working_tree(&settings.dir) else {
            let files = stack_files::read_stack(&settings.dir)?;
            return Self::resolve(settings, files, &evaluation_request(settings)?);
        };
        let loaded = Self::open_recorded(settings, &recorder)?;
        Ok(Self { reads: Some(recorder.take()), ..loaded })
    }

    /// Reads and resolves the stack of `-C`, and records what is read.
    ///
    /// # Errors
    /// Those of `open`.
    pub(in crate::cli) fn open_recorded(
        settings: &Settings,
        recorder: &Rc<ReadRecorder>,
    ) -> Result<Self, CliFailure> {
        let mut own = Vec::new();
        let files = stack_files::read_stack_but(&settings.dir, &|_| false, &mut |name, bytes| {
            own.push((name.to_owned(), recorder.content_id(bytes)));
        })?;
        recorder.record_stack(&settings.dir, own);
        let directory = stack_files::full_path(&settings.dir);
        // Also for the built-in cloud, whose pinned names are not in the repository: what changed does not depend on
        // where a stack is planned.
        recorder.record_file(&directory.join("stead.lock"));
        settings.var_files.iter().for_each(|path| recorder.record_file(path));
        let below = confined_files(&settings.dir, stack_trust(settings), settings.allow_outside);
        let recorded = RecordedFiles::new(below, Rc::clone(recorder));
        Self::resolve_through(
            settings,
            files,
            &evaluation_request(settings)?,
            (recorded.files(), &recorded),
        )
    }

    /// Selects an environment for a command that works on all of them: the named one, else the default, else the first.
    ///
    /// # Errors
    /// When the files cannot be read.
    pub(in crate::cli) fn in_some_environment(
        settings: &Settings,
    ) -> Result<InitialEnvironment, CliFailure> {
        let mut found = InitialEnvironment { settings: settings.clone(), picked: None, header: None };
        if settings.env.is_some() {
            return Ok(found);
        }
        // A large stack is parsed once: what cannot have environments needs no header.
        let sources = stack_files::read_stack(&settings.dir)?.sources;
        if !sources.iter().any(|(_, source)| can_declare_environments(&source.text)) {
            return Ok(found);
        }
        found.header = header_of(inspect_sources(settings, &settings.dir, &sources));
        let open = found.header.as_ref().filter(|header| header.default.is_empty());
        found.picked = open.and_then(|header| header.environments.first().cloned());
        if found.picked.is_some() {
            found.settings.env.clone_from(&found.picked);
        }
        Ok(found)
    }

    /// Reads a stack whose files a command edits, for all its environments: in the named one, else the default, else the one
    /// with the name in `preferred`, else the first.
    ///
    /// # Errors
    /// Those of `open_begun`.
    pub(in crate::cli) fn open_for_edits(
        settings: &Settings,
        preferred: Option<&Name>,
    ) -> Result<StackSources, CliFailure> {
        let mut begun = Self::in_some_environment(settings)?;
        let declared = begun.header.iter().flat_map(|header| &header.environments);
        if begun.picked.is_some()
            && let Some(preferred) = declared.into_iter().find(|name| Some(*name) == preferred)
        {
            begun.settings.env = Some(preferred.clone());
        }
        Self::open_begun(&begun.settings)
    }

    /// Resolves the stack of `-C` from the contents of its files, which can differ from those on disk.
    ///
    /// # Errors
    /// Those of `open`.
    pub(in crate::cli) fn from_files(settings: &Settings, files: StackFiles) -> Result<Self, CliFailure> {
        Self::resolve(settings, files, &evaluation_request(settings)?)
    }

    /// Reads and resolves the stack of `-C`, and evaluates an expression in it; `None` evaluates none.
    ///
    /// # Errors
    /// When there is none, or it or the expression has errors: all of them together.
    pub(in crate::cli) fn open_with(
        settings: &Settings,
        expression: Option<&str>,
    ) -> Result<Self, CliFailure> {
        let request =
            LoadRequest { expression: expression.map(str::to_owned), ..evaluation_request(settings)? };
        Self::resolve(settings, stack_files::read_stack(&settings.dir)?, &request)
    }

    /// Reads and resolves the stack of `-C` with variable files that exist only in memory, as (name, content) in
    /// ascending precedence; pinned names are not used.
    ///
    /// # Errors
    /// Those of `open`.
    pub(in crate::cli) fn open_with_vars(
        settings: &Settings,
        var_files: Vec<(String, String)>,
    ) -> Result<Self, CliFailure> {
        let request = LoadRequest {
            var_files,
            pinned: None,
            accepts_placeholders: true,
            ..evaluation_request(settings)?
        };
        Self::resolve(settings, stack_files::read_stack(&settings.dir)?, &request)
    }

    fn resolve(settings: &Settings, files: StackFiles, request: &LoadRequest) -> Result<Self, CliFailure> {
        let below = confined_files(&settings.dir, stack_trust(settings), settings.allow_outside);
        Self::resolve_through(settings, files, request, (&below, &below))
    }

    /// Resolves a stack; the load reads through `reader`, which accesses the files of `below`.
    fn resolve_through(
        settings: &Settings,
        files: StackFiles,
        request: &LoadRequest,
        (below, reader): (&ConfinedFiles, &dyn Files),
    ) -> Result<Self, CliFailure> {
        let directory = settings.dir.clone();
        if !files.diagnostics.is_empty() {
            let rejected = LoadFailure::unread(files.sources, files.diagnostics);
            return Err(Box::new(rejected).into());
        }
        if files.sources.iter().next().is_none() {
            return Err(CliFailure::new(
                Exit::Failed,
                format!(
                    "there is no stack in {}: no stead.yaml, stead.kdl, *.stead.yaml or *.stead.kdl",
                    stack_files::display_path(&directory)
                ),
            )
            .help("Create one with: stead init"));
        }
        let sources = files.sources.clone();
        let (stack, mut warnings) = load::load(REGISTRY, files.sources, request, reader)?;
        // The first resolution checks the sinks; the second one, with the secrets, has the same sinks.
        if request.available_secrets.is_empty() {
            let diagnostics = sink_checks::across_environments(&stack, &sources, request, below);
            if !diagnostics.is_empty() {
                return Err(Box::new(LoadFailure::new(stack.sources, diagnostics)).into());
            }
            warnings.extend(sink_checks::not_ignored_by_git(&stack, below));
        }
        let anew = (!stack.deferred_secrets.is_empty()).then(|| Box::new((sources, request.clone())));
        let (outside, settings) = (settings.allow_outside, settings.clone());
        Ok(Self { directory, stack, warnings, outside, settings, anew, reads: None })
    }

    /// Resolves the stack again, with the secrets that are available now.
    ///
    /// # Errors
    /// When the stack has no deferred secrets, a value fails its variable's check, or a file has changed meanwhile.
    pub(in crate::cli) fn with_secrets(&self, secrets: &SecretValues) -> Result<Self, CliFailure> {
        let (sources, request) = match &self.anew {
            Some(anew) => (anew.0.clone(), anew.1.clone()),
            None => return Err(CliFailure::new(Exit::Failed, "the stack awaits no secrets")),
        };
        let request = LoadRequest { available_secrets: secrets.clone(), ..request };
        let files = StackFiles { sources, diagnostics: Vec::new() };
        let whole = Self::resolve(&self.settings, files, &request)?;
        if whole.stack.digest != self.stack.digest {
            return Err(CliFailure::new(Exit::OutOfDate, "the stack's files changed meanwhile")
                .help("Nothing was applied. Plan again."));
        }
        Ok(whole)
    }

    /// Reads and resolves the stack of `-C`, and keeps the inputs, for a command that edits its files.
    ///
    /// # Errors
    /// Those of `open`.
    pub(in crate::cli) fn open_begun(settings: &Settings) -> Result<StackSources, CliFailure> {
        let begun = Self::open_or_begin(settings, "none")?;
        if begun.files.iter().next().is_none() {
            return Self::open(settings).map(|project| StackSources { project, ..begun });
        }
        Ok(begun)
    }

    /// Reads and resolves the stack of `-C`, or creates an empty one with this name, in memory, if there is none.
    ///
    /// # Errors
    /// When it has errors.
    pub(in crate::cli) fn open_or_begin(
        settings: &Settings,
        name: &str,
    ) -> Result<StackSources, CliFailure> {
        let directory = settings.dir.clone();
        let (sources, diagnostics) = if stack_files::path_exists(&directory) {
            let files = stack_files::read_stack(&directory)?;
            (files.sources, files.diagnostics)
        } else {
            (Sources::default(), Vec::new())
        };
        if !diagnostics.is_empty() {
            return Err(Box::new(LoadFailure::unread(sources, diagnostics)).into());
        }
        let request = evaluation_request(settings)?;
        let below = confined_files(&directory, stack_trust(settings), settings.allow_outside);
        let mut read = sources.clone();
        if sources.iter().next().is_none() {
            read.add(Source::new("stead.yaml", format!("stead: 1\nstack: {name}\n")));
        }
        let begun = read.clone();
        let (stack, warnings) = load::load(REGISTRY, read, &request, &below)?;
        let anew = (!stack.deferred_secrets.is_empty()).then(|| Box::new((begun, request.clone())));
        let (outside, settings) = (settings.allow_outside, settings.clone());
        let project = Self { directory, stack, warnings, outside, settings, anew, reads: None };
        Ok(StackSources { project, files: sources, request })
    }

    /// Returns a stack in memory that has no resources, for the ledger of a stack whose files are gone.
    ///
    /// # Errors
    /// When it has errors.
    pub(in crate::cli) fn without_resources(
        settings: &Settings,
        name: &str,
        environment: &str,
    ) -> Result<Self, CliFailure> {
        // Both names are parts of the location of a ledger, so neither has a character that YAML reads.
        let text = format!("stead: 1\nstack: \"{name}\"\nenvironments: {{ \"{environment}\": {{}} }}\n");
        let mut sources = Sources::default();
        sources.add(Source::new("stead.yaml", text));
        let request = LoadRequest { environment: Some(environment.into()), ..LoadRequest::default() };
        let below = confined_files(&settings.dir, stack_trust(settings), settings.allow_outside);
        let (stack, warnings) = load::load(REGISTRY, sources, &request, &below)?;
        let (directory, outside) = (settings.dir.clone(), settings.allow_outside);
        // That the directory has no stack is what was read.
        let reads = ReadRecorder::for_working_tree(&directory).map(|recorder| {
            recorder.record_stack(&directory, Vec::new());
            recorder.take()
        });
        let settings = settings.clone();
        Ok(Self { directory, stack, warnings, outside, settings, anew: None, reads })
    }

    /// Returns the access to files below the stack's directory, for a trusted stack.
    pub(in crate::cli) fn files(&self) -> ConfinedFiles {
        confined_files(&self.directory, Trust::Full, self.outside)
    }
}

/// Returns whether a file can declare environments, itself or by a file that it includes: in both languages, a key stands
/// there as it is, unless it is written with escapes.
fn can_declare_environments(text: &str) -> bool {
    ["environments", "include", "\\"].iter().any(|part| text.contains(part))
}

/// Returns the header of the stack in a directory; `None` if the files are not a readable stack, or there are none.
///
/// # Errors
/// When the files cannot be read.
pub(in crate::cli) fn read_header(
    settings: &Settings,
    directory: &Path,
) -> Result<Option<StackHeader>, CliFailure> {
    inspect_directory(settings, directory).map(header_of)
}

fn header_of(contents: DirectoryContents) -> Option<StackHeader> {
    match contents {
        DirectoryContents::Stack(header) => Some(*header),
        DirectoryContents::NoStack | DirectoryContents::Invalid => None,
    }
}

/// Returns what the stack files of a directory are.
///
/// # Errors
/// When the files cannot be read.
pub(in crate::cli) fn inspect_directory(
    settings: &Settings,
    directory: &Path,
) -> Result<DirectoryContents, CliFailure> {
    Ok(inspect_sources(settings, directory, &stack_files::read_stack(directory)?.sources))
}

/// Returns what the stack files of a directory are that were read already.
fn inspect_sources(settings: &Settings, directory: &Path, sources: &Sources) -> DirectoryContents {
    let below = confined_files(directory, stack_trust(settings), settings.allow_outside);
    load::inspect_directory(REGISTRY, sources, &below)
}

/// Returns the access to files below a stack's directory; `outside` permits shared files outside of the repository.
pub(in crate::cli) fn confined_files(directory: &Path, trust: Trust, outside: bool) -> ConfinedFiles {
    ConfinedFiles { root: directory.to_owned(), trust, shared: SharedRoot::find_root(directory, outside) }
}

fn stack_trust(settings: &Settings) -> Trust {
    if settings.untrusted { Trust::None } else { Trust::Full }
}

/// Returns the inputs of a resolution other than the stack's files.
fn evaluation_request(settings: &Settings) -> Result<LoadRequest, CliFailure> {
    let trust = stack_trust(settings);
    let var_files = settings.var_files.iter().map(|path| stack_files::read_var_file(path, trust));
    // Names pinned for the account; those of the built-in cloud are unknown before it runs.
    let pinned = read_pinned_names(&lock_file_path(settings, &settings.dir))?;
    Ok(LoadRequest {
        environment: settings.env.clone(),
        vars: settings.vars.clone(),
        env_vars: settings.env_vars.clone(),
        var_files: var_files.collect::<anyhow::Result<_>>()?,
        policies: shared_policies(settings)?,
        pinned,
        secrets: match settings {
            Settings { untrusted: true, .. } => SecretAccess::Denied,
            Settings { needs_secrets: false, .. } => SecretAccess::Optional,
            _ => SecretAccess::Required,
        },
        jobs: &JobThreads,
        ..LoadRequest::default()
    })
}

/// Returns the files with the policies of the user's settings. A directory that cannot be read is an error: its policies
/// would silently not hold.
fn shared_policies(settings: &Settings) -> Result<Vec<Source>, CliFailure> {
    let mut found = Vec::new();
    for directory in &settings.policy.directories {
        let shown = stack_files::display_path(directory);
        let files = stack_files::read_stack(directory).map_err(|error| {
            let what = if !stack_files::path_exists(directory) {
                format!("`policies` of your settings names {shown}, which does not exist")
            } else if !stack_files::path_exists(&directory.join(".")) {
                format!("`policies` of your settings names {shown}, which is no directory")
            } else {
                format!("`policies` of your settings names {shown}: {error:#}")
            };
            CliFailure::new(Exit::Usage, what)
                .help("It is the directory of files named *.stead.yaml or *.stead.kdl, relative to that of your settings.toml.")
                .help("Correct the setting, or remove it: until then, no stack can be planned without its policies.")
        })?;
        if !files.diagnostics.is_empty() {
            let rejected = LoadFailure::unread(files.sources, files.diagnostics);
            return Err(Box::new(rejected).into());
        }
        if files.sources.iter().next().is_none() {
            let what = format!("`policies` of your settings names {shown}, which has no policies");
            return Err(CliFailure::new(Exit::Usage, what).help(
                "Its files are named *.stead.yaml or *.stead.kdl. Correct the setting, or remove it.",
            ));
        }
        for (_, source) in files.sources.iter() {
            let path = directory.join(&*source.path);
            found.push(Source::new(stack_files::display_path(&path), std::sync::Arc::clone(&source.text)));
        }
    }
    Ok(found)
}
