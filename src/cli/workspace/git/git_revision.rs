//! Names of commits: a branch, a tag, a hash or its beginning, and the steps to an ancestor that follow it (`~2`, `^2`).
//! In: a name; out: the commit. The other forms of Git's syntax are refused, not guessed.

use std::cmp::Ordering;

use gix_hash::ObjectId;
use gix_object::Kind;

use super::base_name::BaseName;
use super::git_error::GitError;
use super::git_repository::GitRepository;
use crate::workspace::changes::merge_base::CommitGraph as _;

/// Smallest similarity of a name that is suggested.
const MIN_SIMILARITY: f64 = 0.6;

/// A step from a commit to one of its ancestors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// To the parent with this number, from 1.
    Parent(usize),
    /// This many times to the first parent.
    Ancestor(usize),
}

/// Returns the commit that a name leads to; `None` if the name, or a step from it, leads to none.
///
/// # Errors
/// When the name is not one, or leads to something else than a commit.
pub(super) fn resolve_commit(
    repository: &GitRepository,
    base: &BaseName,
) -> Result<Option<ObjectId>, GitError> {
    let (name, steps) =
        parse_revision(&base.name).ok_or_else(|| GitError::UnsupportedBase(base.clone()))?;
    let Some(object) = find_object(repository, base, name)? else { return Ok(None) };
    let Some((kind, mut commit)) = repository.peel_tags(object)? else { return Ok(None) };
    if kind != Kind::Commit {
        let what = if kind == Kind::Tree { "tree" } else { "blob" };
        return Err(GitError::NoCommit(base.clone(), what));
    }
    for step in steps {
        let (count, number) = match step {
            // `^0` is the commit itself.
            Step::Parent(0) => (0, 0),
            Step::Parent(number) => (1, number - 1),
            Step::Ancestor(count) => (count, 0),
        };
        for _ in 0..count {
            let Some(node) = repository.commit(&commit)? else { return Ok(None) };
            let Some(parent) = node.parents.get(number) else { return Ok(None) };
            commit = *parent;
        }
    }
    // A shallow clone has the hash of a parent, and not the parent.
    Ok(repository.commit(&commit)?.map(|_| commit))
}

/// Returns the branch or tag whose name is most similar; `None` if none is.
pub(super) fn find_similar(repository: &GitRepository, name: &str) -> Option<String> {
    let names = repository.refs().short_names();
    let own = names.into_iter().flat_map(|name| match name.strip_prefix("origin/") {
        Some(short) => vec![(short.to_owned(), name.clone())],
        None => vec![(name.clone(), name)],
    });
    let name = name.strip_prefix("origin/").unwrap_or(name);
    let rated = own.map(|(short, full)| (strsim::jaro_winkler(name, &short), full));
    let best = rated.filter(|(similarity, _)| *similarity >= MIN_SIMILARITY);
    // A branch of the clone before the server's of the same name.
    let rank = |(similarity, full): &(f64, String)| (*similarity, !full.starts_with("origin/"));
    best.max_by(|a, b| rank(a).partial_cmp(&rank(b)).unwrap_or(Ordering::Equal)).map(|(_, full)| full)
}

fn find_object(
    repository: &GitRepository,
    base: &BaseName,
    name: &str,
) -> Result<Option<ObjectId>, GitError> {
    if let Some(id) = repository.parse_id(name) {
        return Ok(repository.kind(&id)?.map(|_| id));
    }
    if let Some(hash) = repository.refs().resolve_short(name) {
        return Ok(repository.parse_id(&hash));
    }
    let mut commits = Vec::new();
    for id in repository.find_prefix(name)? {
        // As in Git, an object that is no commit does not make the beginning of a commit's hash ambiguous.
        if let Some((Kind::Commit, _)) = repository.peel_tags(id)? {
            commits.push(id);
        }
    }
    match commits.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(*only)),
        _ => Err(GitError::AmbiguousBase(base.clone())),
    }
}

/// Splits a name from the steps that follow it; `None` for another form.
fn parse_revision(text: &str) -> Option<(&str, Vec<Step>)> {
    let end = text.find(['~', '^']).unwrap_or(text.len());
    let (name, mut rest) = text.split_at(end);
    let name = if name == "@" { "HEAD" } else { name };
    let is_name = |c: char| !c.is_whitespace() && !c.is_control() && !"?*[\\:".contains(c);
    if name.is_empty() || !name.chars().all(is_name) || name.contains("..") || name.contains("@{") {
        return None;
    }
    let mut steps = Vec::new();
    while let Some(sign) = rest.chars().next() {
        rest = &rest[1..];
        if let Some(after) = rest.strip_prefix("{commit}").or_else(|| rest.strip_prefix("{}")) {
            if sign != '^' {
                return None;
            }
            rest = after;
            continue;
        }
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let count = if digits == 0 { 1 } else { rest[..digits].parse().ok()? };
        rest = &rest[digits..];
        steps.push(if sign == '~' { Step::Ancestor(count) } else { Step::Parent(count) });
        if !rest.is_empty() && !rest.starts_with(['~', '^']) {
            return None;
        }
    }
    Some((name, steps))
}
