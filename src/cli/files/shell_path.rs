//! Paths in printed commands. In: a path. Out: one word of a POSIX shell, so that a command can be copied whatever the path has.

use std::path::Path;

use super::stack_files::display_path;
use crate::cli::args::global_flags::quote_shell_word;

/// Returns a path as a user would type it in a shell, without a leading `./`.
pub(in crate::cli) fn quote_path(path: &Path) -> String {
    quote_shell_word(&display_path(path))
}
