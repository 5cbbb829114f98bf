//! `stead lsp`: the language server on standard input and output. Only this module reads the streams and the disk;
//! the server itself is pure. It sends no request to the service.
#![allow(clippy::disallowed_methods, reason = "this module is where an editor is listened to")]

use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Read, Stdin, Write};
use std::path::{Path, PathBuf};

use ignore::Walk;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::cli::command_context::CommandContext;
use crate::cli::files::stack_files::{self, ConfinedFiles, SharedRoot, Trust};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::service::catalog_cache;
use crate::cli::stack::lock_file::read_pinned_names;
use crate::config::input::discovery::is_stack_file;
use crate::config::input::files::Files;
use crate::config::input::request::LoadRequest;
use crate::config::syntax::decode;
use crate::editor::lsp::{LanguageServer, WorkspaceDisk};
use crate::kinds::REGISTRY;
use crate::model::live::catalog::Catalog;
use crate::model::source::Source;
use crate::plan::annotate::offline_policy;

/// Maximum size of a message in bytes: twice that of a file, because JSON escapes can double it.
const MAX_MESSAGE_BYTES: u64 = 2 * decode::MAX_BYTES;

/// Pause in typing (5 ms) after which files are checked, so that requests that follow a keystroke are answered first.
const INPUT_IDLE_TIMEOUT: Timespec = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };

/// Maximum number of repository files among which stacks are searched; later files are ignored.
const MAX_FILES: usize = 100_000;

/// Serves one editor until it disconnects. Returns `Exit::Failed` if the stream ends without the `exit` notification.
///
/// # Errors
/// When a variable file cannot be read, a stream fails, or a message is malformed or too long.
pub(in crate::cli) fn run(session: &CommandContext) -> Result<Exit, CliFailure> {
    let settings = &session.settings;
    let trust = if settings.untrusted { Trust::None } else { Trust::Full };
    let var_files = settings.var_files.iter().map(|path| stack_files::read_var_file(path, trust));
    let request = LoadRequest {
        environment: settings.env.clone(),
        vars: settings.vars.clone(),
        env_vars: settings.env_vars.clone(),
        var_files: var_files.collect::<anyhow::Result<_>>()?,
        pinned: None,
        expression: None,
        ..LoadRequest::default()
    };
    let disk = EditorFiles {
        trust,
        outside: settings.allow_outside,
        catalog: catalog_cache::tables_path(settings),
    };
    let mut server = LanguageServer::new(REGISTRY, request)
        .judged_by(|stack| offline_policy::offline_denials(stack, "stead apply"));
    let mut input = BufReader::new(io::stdin());
    let broken =
        |error: io::Error| CliFailure::new(Exit::Failed, format!("the editor's stream broke: {error}"));
    loop {
        while server.is_behind() && !has_pending_message(&input) {
            send_messages(&server.catch_up(&disk)).map_err(broken)?;
        }
        let Some(message) = read_message(&mut input).map_err(broken)? else { return Ok(Exit::Failed) };
        send_messages(&server.handle(&message, &disk)).map_err(broken)?;
        if let Some(in_order) = server.exit_status() {
            return Ok(if in_order { Exit::Done } else { Exit::Failed });
        }
    }
}

/// Returns whether another message is available, or arrives within the pause.
fn has_pending_message(input: &BufReader<Stdin>) -> bool {
    if !input.buffer().is_empty() {
        return true;
    }
    let ready = &mut [PollFd::new(input.get_ref(), PollFlags::IN)];
    poll(ready, Some(&INPUT_IDLE_TIMEOUT)).is_ok_and(|ready| ready > 0)
}

/// Reads one message; `None` at the end of the stream, also within a message.
fn read_message(input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let mut length: Option<u64> = None;
    loop {
        let mut line = String::new();
        if input.by_ref().take(4096).read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let Some((name, value)) = line.split_once(':') else { return Err(wrong("a header has no colon")) };
        if name.eq_ignore_ascii_case("Content-Length") {
            length = value.trim().parse().ok();
        }
    }
    let length = length.ok_or_else(|| wrong("a message has no Content-Length"))?;
    if length > MAX_MESSAGE_BYTES {
        return Err(wrong("a message is too long"));
    }
    let mut message = Vec::new();
    let read = input.take(length).read_to_end(&mut message)?;
    Ok((read as u64 == length).then_some(message))
}

/// Writes messages with their headers, and flushes once: an editor waits for complete messages.
fn send_messages(messages: &[String]) -> io::Result<()> {
    let mut output = io::stdout().lock();
    for message in messages {
        write!(output, "Content-Length: {}\r\n\r\n{message}", message.len())?;
    }
    output.flush()
}

/// Read access to the directories of the editor's files.
struct EditorFiles {
    trust: Trust,
    outside: bool,
    /// Cache file of the catalog tables that were read last; `None` without a directory for the user's state.
    catalog: Option<PathBuf>,
}

impl WorkspaceDisk for EditorFiles {
    fn stack_files(&self, directory: &Path, is_open: &dyn Fn(&str) -> bool) -> Vec<(String, String)> {
        let read = stack_files::read_stack_but(directory, is_open, &mut |_, _| {}).unwrap_or_default();
        if !read.diagnostics.is_empty() {
            return Vec::new();
        }
        let name =
            |path: &str| Path::new(path).file_name().and_then(|name| name.to_str()).map(str::to_owned);
        let file = |(_, source): (_, &Source)| Some((name(&source.path)?, source.text.to_string()));
        read.sources.iter().filter_map(file).collect()
    }

    fn files(&self, directory: &Path) -> Box<dyn Files> {
        let shared = SharedRoot::find_root(directory, self.outside);
        Box::new(ConfinedFiles { root: directory.to_owned(), trust: self.trust, shared })
    }

    fn neighbor_directories(&self, directory: &Path) -> Vec<PathBuf> {
        let root = SharedRoot::find_root(directory, false).root;
        let files = Walk::new(root).take(MAX_FILES).filter_map(Result::ok);
        let stacks = files.filter(|file| file.file_name().to_str().is_some_and(is_stack_file));
        let directories: BTreeSet<PathBuf> =
            stacks.filter_map(|file| file.path().parent().map(Path::to_owned)).collect();
        directories.into_iter().collect()
    }

    // The built-in cloud has a lock file of its own; the one of the stack takes precedence.
    fn locked_catalog(&self, directory: &Path) -> Option<Catalog> {
        let own = read_pinned_names(&directory.join("stead.lock")).ok().flatten();
        own.or_else(|| read_pinned_names(&directory.join(".stead/local/stead.lock")).ok().flatten())
    }

    // Pinned names first: an apply uses them even if the catalog has changed since.
    fn known_catalog(&self, directory: &Path) -> Option<Catalog> {
        let own = self.locked_catalog(directory);
        let offered = self.catalog.as_deref().and_then(catalog_cache::read_tables);
        let mut all = own.or_else(|| offered.clone())?;
        if let Some(offered) = offered {
            all.extend_with(offered);
        }
        Some(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_split_by_their_content_length() {
        let mut input = "Content-Length: 2\r\nX: y\r\n\r\n{}content-length: 3\r\n\r\n[é".as_bytes();
        assert_eq!(read_message(&mut input).unwrap(), Some(b"{}".to_vec()));
        assert_eq!(read_message(&mut input).unwrap(), Some("[é".as_bytes().to_vec()));
        assert_eq!(read_message(&mut input).unwrap(), None);
        assert!(read_message(&mut "X: y\r\n\r\n{}".as_bytes()).is_err());
        assert!(read_message(&mut "Content-Length: 999999999999\r\n\r\n".as_bytes()).is_err());
        assert_eq!(read_message(&mut "Content-Length: 9\r\n\r\n{}".as_bytes()).unwrap(), None);
    }
}
