//! The stack of a command: its directory, its files, and what decides besides them.

use std::path::{Path, PathBuf};

use crate::cli::files::stack_files::{self, ConfinedFiles, SharedRoot, StackFiles, Trust};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::settings::{CloudEndpoint, Settings};
use crate::cli::secrets::sink_checks;
use crate::cli::stack::lock_file::read_pinned_names;
use crate::cli::stack::secret_values::SecretValues;
use crate::config::load::{self, LoadFailure, StackHeader};
use crate::config::request::{LoadRequest, SecretAccess};
use crate::config::stack::model::Stack;
use crate::kinds::REGISTRY;
use crate::model::address::Name;
use crate::model::diagnostic::Diagnostic;
use crate::model::source::{Source, Sources};

/// The environment in which a command begins that looks at all of them.
pub(in crate::cli) struct InitialEnvironment {
    /// They name it, unless the stack's default is meant.
    pub(in crate::cli) settings: Settings,
    /// It, if the stack has no default.
    pub(in crate::cli) picked: Option<Name>,
    /// What the stack's files say of its environments; `None` if the settings name one, or the files do not say it.
    pub(in crate::cli) header: Option<StackHeader>,
}

/// A stack that was resolved without errors.
pub(in crate::cli) struct LoadedStack {
    /// Its directory.
    pub(in crate::cli) directory: PathBuf,
    /// The stack.
    pub(in crate::cli) stack: Stack,
    /// Warnings.
    pub(in crate::cli) warnings: Vec<Diagnostic>,
    /// Configuration may be shared from anywhere.
    pub(in crate::cli) outside: bool,
    /// What was asked for: other stacks' ledgers are found by it.
    pub(in crate::cli) settings: Settings,
    /// What it was resolved from, where secrets are to come: it is resolved once more with them.
    pub(in crate::cli) anew: Option<Box<(Sources, LoadRequest)>>,
}

/// A stack that may only begin, and what it was resolved from.
pub(in crate::cli) struct StackSources {
    /// The stack as it is.
    pub(in crate::cli) project: LoadedStack,
    /// Its files; none when it only begins.
    pub(in crate::cli) files: Sources,
    /// What decides besides the files.
    pub(in crate::cli) request: LoadRequest,
}

impl LoadedStack {
    /// Reads and resolves the stack of `-C`.
    ///
    /// # Errors
    /// When there is none, or it has problems: all of them together.
    pub(in crate::cli) fn open(settings: &Settings) -> Result<Self, CliFailure> {
        Self::resolve(settings, stack_files::read_stack(&settings.dir)?, &evaluation_request(settings)?)
    }

    /// Chooses an environment for what is done in all of them: the named one, else the default, else the first.
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
        found.header = read_header(settings, &settings.dir)?;
        let open = found.header.as_ref().filter(|header| header.default.is_empty());
        found.picked = open.and_then(|header| header.environments.first().cloned());
        if found.picked.is_some() {
            found.settings.env.clone_from(&found.picked);
        }
        Ok(found)
    }

    /// Resolves the stack of `-C` from its files' texts, which need not be those on the disk.
    ///
    /// # Errors
    /// As `open`.
    pub(in crate::cli) fn from_files(settings: &Settings, files: StackFiles) -> Result<Self, CliFailure> {
        Self::resolve(settings, files, &evaluation_request(settings)?)
    }

    /// Reads and resolves the stack of `-C`, and an expression besides.
    ///
    /// # Errors
    /// When there is none, or it or the expression has problems: all of them together.
    pub(in crate::cli) fn open_with(
        settings: &Settings,
        expression: Option<&str>,
    ) -> Result<Self, CliFailure> {
        let request =
            LoadRequest { expression: expression.map(str::to_owned), ..evaluation_request(settings)? };
        Self::resolve(settings, stack_files::read_stack(&settings.dir)?, &request)
    }

    /// Reads and resolves the stack of `-C` with files of variables that stand nowhere, the stronger ones
    /// last; what is pinned does not count.
    ///
    /// # Errors
    /// As `open`.
    pub(in crate::cli) fn open_with_vars(
        settings: &Settings,
        var_files: Vec<(String, String)>,
    ) -> Result<Self, CliFailure> {
        let request =
            LoadRequest { var_files, pinned: None, pretend: true, ..evaluation_request(settings)? };
        Self::resolve(settings, stack_files::read_stack(&settings.dir)?, &request)
    }

    fn resolve(settings: &Settings, files: StackFiles, request: &LoadRequest) -> Result<Self, CliFailure> {
        let directory = settings.dir.clone();
        if !files.diagnostics.is_empty() {
            let rejected = LoadFailure { sources: files.sources, diagnostics: files.diagnostics };
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
            .help("Begin one with: stead init"));
        }
        let below = confined_files(&directory, stack_trust(settings), settings.allow_outside);
        let sources = files.sources.clone();
        let (stack, mut warnings) = load::load(REGISTRY, files.sources, request, &below)?;
        // With its secrets the stack is resolved once more: its sinks are the same.
        if request.at_hand.is_empty() {
            let diagnostics = sink_checks::across_environments(&stack, &sources, request, &below);
            if !diagnostics.is_empty() {
                return Err(Box::new(LoadFailure { sources: stack.sources, diagnostics }).into());
            }
            warnings.extend(sink_checks::not_ignored_by_git(&stack, &below));
        }
        let anew = (!stack.awaited.is_empty()).then(|| Box::new((sources, request.clone())));
        let (outside, settings) = (settings.allow_outside, settings.clone());
        Ok(Self { directory, stack, warnings, outside, settings, anew })
    }

    /// Resolves the stack once more, with secrets that are at hand now.
    ///
    /// # Errors
    /// When one does not pass its variable's check, or a file has changed meanwhile.
    pub(in crate::cli) fn with_secrets(&self, secrets: &SecretValues) -> Result<Self, CliFailure> {
        let (sources, request) = match &self.anew {
            Some(anew) => (anew.0.clone(), anew.1.clone()),
            None => return Err(CliFailure::new(Exit::Failed, "the stack awaits no secrets")),
        };
        let request = LoadRequest { at_hand: secrets.clone(), ..request };
        let files = StackFiles { sources, diagnostics: Vec::new() };
        let whole = Self::resolve(&self.settings, files, &request)?;
        if whole.stack.digest != self.stack.digest {
            return Err(CliFailure::new(Exit::OutOfDate, "the stack's files changed meanwhile")
                .help("Nothing was applied. Plan again."));
        }
        Ok(whole)
    }

    /// Reads and resolves the stack of `-C`, and keeps what it was resolved from.
    ///
    /// # Errors
    /// As `open`.
    pub(in crate::cli) fn open_begun(settings: &Settings) -> Result<StackSources, CliFailure> {
        let begun = Self::open_or_begin(settings, "none")?;
        if begun.files.iter().next().is_none() {
            return Self::open(settings).map(|project| StackSources { project, ..begun });
        }
        Ok(begun)
    }

    /// Reads and resolves the stack of `-C`, or begins one of a name where there is none.
    ///
    /// # Errors
    /// When it has problems.
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
            return Err(Box::new(LoadFailure { sources, diagnostics }).into());
        }
        let request = evaluation_request(settings)?;
        let below = confined_files(&directory, stack_trust(settings), settings.allow_outside);
        let mut read = sources.clone();
        if sources.iter().next().is_none() {
            read.add(Source::new("stead.yaml", format!("stead: 1\nstack: {name}\n")));
        }
        let begun = read.clone();
        let (stack, warnings) = load::load(REGISTRY, read, &request, &below)?;
        let anew = (!stack.awaited.is_empty()).then(|| Box::new((begun, request.clone())));
        let (outside, settings) = (settings.allow_outside, settings.clone());
        let project = Self { directory, stack, warnings, outside, settings, anew };
        Ok(StackSources { project, files: sources, request })
    }

    /// Returns the files below the stack's directory, for an apply of a stack that is trusted.
    pub(in crate::cli) fn files(&self) -> ConfinedFiles {
        confined_files(&self.directory, Trust::Full, self.outside)
    }
}

/// Returns what the files of a directory say of their stack; `None` if they cannot be read as one.
///
/// # Errors
/// When the files cannot be read.
pub(in crate::cli) fn read_header(
    settings: &Settings,
    directory: &Path,
) -> Result<Option<StackHeader>, CliFailure> {
    let sources = stack_files::read_stack(directory)?.sources;
    Ok(load::read_header(
        REGISTRY,
        &sources,
        &confined_files(directory, Trust::Full, settings.allow_outside),
    ))
}

/// Returns the files below a stack's directory.
pub(in crate::cli) fn confined_files(directory: &Path, trust: Trust, outside: bool) -> ConfinedFiles {
    ConfinedFiles { root: directory.to_owned(), trust, shared: SharedRoot::find_root(directory, outside) }
}

fn stack_trust(settings: &Settings) -> Trust {
    if settings.untrusted { Trust::None } else { Trust::Full }
}

fn evaluation_request(settings: &Settings) -> Result<LoadRequest, CliFailure> {
    let trust = stack_trust(settings);
    let var_files = settings.var_files.iter().map(|path| stack_files::read_var_file(path, trust));
    // Names pinned for the account; the embedded cloud's are not known before it runs.
    let pinned = match settings.cloud {
        CloudEndpoint::Local => read_pinned_names(&settings.dir.join(".stead/local/stead.lock"))?,
        CloudEndpoint::Remote(_) | CloudEndpoint::Unset => {
            read_pinned_names(&settings.dir.join("stead.lock"))?
        }
    };
    Ok(LoadRequest {
        environment: settings.env.clone(),
        vars: settings.vars.clone(),
        env_vars: settings.env_vars.clone(),
        var_files: var_files.collect::<anyhow::Result<_>>()?,
        pinned,
        secrets: match settings {
            Settings { untrusted: true, .. } => SecretAccess::Denied,
            Settings { needs_secrets: false, .. } => SecretAccess::Optional,
            _ => SecretAccess::Required,
        },
        ..LoadRequest::default()
    })
}
