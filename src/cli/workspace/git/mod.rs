//! Which stacks a change touches. `git_repository` reads Git's objects, without running a program; the other files use it
//! to compare what the stacks read now with the tree of a base commit.

pub(super) mod base_choice;
pub(super) mod base_name;
pub(super) mod base_stacks;
pub(in crate::cli) mod changed_stacks;
pub(super) mod git_base;
pub(super) mod git_error;
pub(super) mod git_repository;
pub(super) mod git_revision;
pub(in crate::cli) mod working_tree;
pub(in crate::cli) mod workspace_changes;

#[cfg(test)]
mod tests;
