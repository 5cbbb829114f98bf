//! Templates of the files that `ci` writes: pipelines for GitHub and GitLab, and the Git hook. In: the properties of
//! a stack. Out: paths and file contents; nothing is written. Names are inserted only after `pipeline_refusal` has
//! accepted them, because both CI systems expand expressions in them. Pure.

use clap::ValueEnum;

use crate::model::address::{Name, is_legal_segment};

/// Properties of a stack that its pipeline depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PipelineParameters {
    /// Name of the stack, as declared in its header.
    pub stack: Name,
    /// Environments of the stack, the default one first; a stack that declares none has one with an empty name.
    pub environments: Vec<Name>,
    /// Environments whose applies a person confirms by typing their name.
    pub confirmed: Vec<Name>,
    /// Secret variables that must be given from outside the stack.
    pub secrets: Vec<Name>,
    /// Directory of the stack relative to the repository's root: empty, or segments joined by slashes.
    pub directory: String,
    /// Other directories with files that the stack reads, relative to the repository's root; a change there
    /// starts the pipeline, too.
    pub folders: Vec<String>,
    /// Branch whose commits are applied.
    pub branch: String,
    /// Shell command that installs stead on a runner; `None` if the user gave none, and the pipeline
    /// only checks for it.
    pub install: Option<String>,
    /// Container image of the jobs; `None` for the runner's default on GitHub and a plain Debian image on GitLab.
    pub image: Option<String>,
}

/// Properties of a repository that the pipeline for all of its stacks depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspacePipelineParameters {
    /// Secret variables that must be given from outside, of all stacks.
    pub secrets: Vec<Name>,
    /// Whether an environment of a stack is confirmed by typing its name.
    pub is_confirmed: bool,
    /// Branch whose commits are applied.
    pub branch: String,
    /// Shell command that installs stead on a runner, as for one stack.
    pub install: Option<String>,
    /// Container image of the jobs, as for one stack.
    pub image: Option<String>,
}

/// Name for the files and concurrency groups of the pipeline for all stacks.
const WORKSPACE_SLUG: &str = "stead-all";

/// Shell command of a pipeline if the user did not state how stead is installed: fails if it is missing.
const CHECK_STEAD_INSTALLED: &str =
    "command -v stead || { echo 'stead is not on PATH: install it here' >&2; exit 1; }";

/// Image of GitLab's jobs if the user named none.
const DEFAULT_IMAGE: &str = "debian:stable-slim";

/// Returns why no pipeline can be written for a stack: a name that a CI system would interpret, such as `${{ … }}`, or
/// that would end the surrounding text; `None` if one can be written.
#[must_use]
pub fn pipeline_refusal(facts: &PipelineParameters) -> Option<String> {
    let names = std::iter::once((&facts.stack, "the stack's name"));
    let names = names.chain(facts.environments.iter().map(|name| (name, "an environment's name")));
    let names = names.chain(facts.secrets.iter().map(|name| (name, "a variable's name")));
    // A stack without environments has one with an empty name.
    let wrong = |(name, _): &(&Name, &str)| !name.is_empty() && !is_legal_segment(&name.to_lowercase());
    if let Some((name, what)) = names.into_iter().find(wrong) {
        return Some(format!("{what}, {name:?}, has characters that no name may have"));
    }
    // Both systems expand `$…` inside quotes, too; a control character would start a new line.
    let odd = |c: char| c.is_control() || matches!(c, '$' | '`' | '%' | '\u{2028}' | '\u{2029}');
    let path = std::iter::once(&facts.directory).find(|path| path.contains(odd));
    path.map(|path| {
        format!("the directory {path:?} has characters that CI systems do not accept without quotes")
    })
}

/// Returns the pipeline for a CI system: its path from the repository's root, and its content. The caller has
/// checked the parameters with `pipeline_refusal`.
#[must_use]
pub fn render_pipeline(system: CiSystem, facts: &PipelineParameters) -> (String, String) {
    let slug = pipeline_slug(facts);
    let (file, text) = match system {
        CiSystem::GitHub => (format!(".github/workflows/{slug}.yml"), include_str!("recipes/github.yml")),
        CiSystem::GitLab => (format!(".gitlab/{slug}.yml"), include_str!("recipes/gitlab.yml")),
    };
    let folder = if facts.directory.is_empty() { String::new() } else { format!("{}/", facts.directory) };
    let below = if system == CiSystem::GitLab { "**/*" } else { "**" };
    let folders = facts.folders.iter().map(|folder| format!("{folder}/"));
    let all = std::iter::once(folder.clone())
        .chain(folders)
        .map(|folder| format!("{}{below}", path_pattern(&folder)));
    let all: Vec<_> = all.chain([file.clone()]).collect();
    let paths = quoted_list(&all);
    // These globs are for git, inside a shell command.
    let globs: Vec<_> =
        all.iter().map(|path| format!("':(glob){}'", path.replace('\'', r"'\''"))).collect();
    let environments: Vec<String> = facts.environments.iter().map(ToString::to_string).collect();
    let applies =
        if system == CiSystem::GitLab { gitlab_apply_jobs(facts, &slug, &paths) } else { String::new() };
    let lines = [
        ("APPLIES", applies),
        ("CONTAINER", container_line(facts.image.as_deref())),
        ("SECRETS", secret_lines(&facts.secrets)),
        ("INSTALL", install_lines(facts.install.as_deref())),
    ];
    let words = [
        ("STACK_TITLE", quote_yaml(&format!("stead {}", facts.stack))),
        ("STACK", facts.stack.to_string()),
        ("SEEN", quoted_list(&[format!("{}.stead/drift", path_pattern(&folder))])),
        ("DIRECTORY", quote_yaml(if facts.directory.is_empty() { "." } else { &facts.directory })),
        ("PATHS", paths),
        ("GLOBS", globs.join(" ")),
        ("BRANCHES", quoted_list(std::slice::from_ref(&facts.branch))),
        ("BRANCH", facts.branch.clone()),
        ("CRON", format!("{} 5 * * *", drift_minute(&facts.stack))),
        ("ENVIRONMENTS", quoted_list(&environments)),
        ("ENVIRONMENTS_JSON", serde_json::Value::from(environments.clone()).to_string()),
        ("IMAGE", quote_yaml(facts.image.as_deref().unwrap_or(DEFAULT_IMAGE))),
        ("SLUG", slug),
        ("FILE", file.clone()),
    ];
    (file, fill_template(text, &lines, &words))
}

/// Returns why no pipeline can be written for all stacks: a variable with a name that a CI system would interpret;
/// `None` if one can be written.
#[must_use]
pub fn workspace_pipeline_refusal(facts: &WorkspacePipelineParameters) -> Option<String> {
    let wrong = facts.secrets.iter().find(|name| !is_legal_segment(&name.to_lowercase()))?;
    Some(format!("a variable's name, {wrong:?}, has characters that no name may have"))
}

/// Returns the pipeline for all stacks of a repository: its path from the root, and its content. The caller has
/// checked the parameters with `workspace_pipeline_refusal`.
#[must_use]
pub fn render_workspace_pipeline(
    system: CiSystem,
    facts: &WorkspacePipelineParameters,
) -> (String, String) {
    let (file, text) = match system {
        CiSystem::GitHub => {
            (format!(".github/workflows/{WORKSPACE_SLUG}.yml"), include_str!("recipes/github-all.yml"))
        }
        CiSystem::GitLab => {
            (format!(".gitlab/{WORKSPACE_SLUG}.yml"), include_str!("recipes/gitlab-all.yml"))
        }
    };
    let lines = [
        ("CONTAINER", container_line(facts.image.as_deref())),
        ("SECRETS", secret_lines(&facts.secrets)),
        ("INSTALL", install_lines(facts.install.as_deref())),
        ("GATE", manual_gate(facts.is_confirmed).to_owned()),
    ];
    let words = [
        ("BRANCHES", quoted_list(std::slice::from_ref(&facts.branch))),
        ("BRANCH", facts.branch.clone()),
        ("CRON", format!("{} 5 * * *", drift_minute(WORKSPACE_SLUG))),
        ("IMAGE", quote_yaml(facts.image.as_deref().unwrap_or(DEFAULT_IMAGE))),
        ("SLUG", WORKSPACE_SLUG.to_owned()),
        ("FILE", file.clone()),
    ];
    (file, fill_template(text, &lines, &words))
}

/// Returns the line that runs a GitHub job in a container; empty without an image.
fn container_line(image: Option<&str>) -> String {
    image.map(|image| format!("container: {}", quote_yaml(image))).unwrap_or_default()
}

/// Returns the lines that give a GitHub job the secret variables of stacks.
fn secret_lines(names: &[Name]) -> String {
    let line = |name: &Name| {
        let variable = format!("STEAD_VAR_{}", name.to_uppercase().replace('-', "_"));
        format!("{variable}: ${{{{ secrets.{variable} }}}}")
    };
    names.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn install_lines(install: Option<&str>) -> String {
    install.unwrap_or(CHECK_STEAD_INSTALLED).to_owned()
}

/// Returns the lines that make a GitLab job wait for a person, where an environment is confirmed by typing its name.
const fn manual_gate(is_confirmed: bool) -> &'static str {
    if is_confirmed { "when: manual\nallow_failure: false" } else { "" }
}

/// Returns one GitLab job per environment, in their order. Each waits for the previous one, which can be
/// absent from the pipeline.
fn gitlab_apply_jobs(facts: &PipelineParameters, slug: &str, paths: &str) -> String {
    let mut before = None;
    let jobs = facts.environments.iter().map(|name| {
        let needs = before.replace(name).map(|name: &Name| {
            let job = quote_yaml(&format!("{slug} apply {name}"));
            format!("needs: [{{ job: {job}, optional: true }}]")
        });
        let gate = manual_gate(facts.confirmed.contains(name));
        let lines = [("NEEDS", needs.unwrap_or_default()), ("GATE", gate.to_owned())];
        let words = [
            ("SLUG", slug.to_owned()),
            ("QUOTED", quote_yaml(name)),
            ("ENVIRONMENT", name.to_string()),
            ("BRANCH", facts.branch.clone()),
            ("PATHS", paths.to_owned()),
        ];
        fill_template(include_str!("recipes/gitlab-apply.yml"), &lines, &words)
    });
    jobs.collect::<Vec<_>>().join("\n")
}

/// Returns the Git pre-commit hook for a stack's directory, relative to the repository's root; empty is the root.
#[must_use]
pub fn git_hook(directory: &str) -> String {
    let directory = if directory.is_empty() { "." } else { directory };
    let quoted = format!("'{}'", directory.replace('\'', r"'\''"));
    let comment = directory.chars().map(|c| if c.is_control() { '_' } else { c }).collect::<String>();
    let words = [("DIRECTORY_SHOWN", comment), ("DIRECTORY", quoted)];
    fill_template(include_str!("recipes/pre-commit"), &[], &words)
}

/// Returns a path as a glob pattern; characters that are special in globs become wildcards, so the pattern can match
/// too much but never too little.
fn path_pattern(path: &str) -> String {
    path.chars().map(|c| if "*?[]{}+!\\$%".contains(c) || c.is_control() { '*' } else { c }).collect()
}

/// Replaces the placeholders of a template: `lines` alone on a line, `words` anywhere. A placeholder of `lines`
/// becomes several lines at its indentation, or no line if its value is empty. Each position is replaced once, so
/// that inserted text is never taken for a placeholder.
fn fill_template(template: &str, lines: &[(&str, String)], words: &[(&str, String)]) -> String {
    let mut out = String::new();
    for line in template.lines() {
        let bare = line.trim_start();
        let depth = &line[..line.len() - bare.len()];
        if let Some((_, text)) = lines.iter().find(|(word, _)| *word == bare) {
            for row in text.lines() {
                out.push_str(format!("{depth}{row}").trim_end());
                out.push('\n');
            }
            continue;
        }
        let mut rest = line;
        while let Some(at) = rest.find(|c: char| c.is_ascii_uppercase()) {
            let (before, from) = rest.split_at(at);
            out.push_str(before);
            let length = from.find(|c: char| !(c.is_ascii_uppercase() || c == '_')).unwrap_or(from.len());
            let (word, after) = from.split_at(length);
            let word_ends = !after.starts_with(|c: char| c.is_ascii_alphanumeric());
            let found = words.iter().find(|(name, _)| *name == word && word_ends);
            out.push_str(found.map_or(word, |(_, text)| text.as_str()));
            rest = after;
        }
        out.push_str(rest);
        out.push('\n');
    }
    out
}

/// Returns the name for files and concurrency groups: the stack's name, and the last segment of its directory if
/// that differs, since two stacks of a repository can have one name.
fn pipeline_slug(facts: &PipelineParameters) -> String {
    let last = facts.directory.rsplit('/').next().unwrap_or_default();
    let plain = |text: &str| -> String {
        text.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect()
    };
    let (stack, folder) = (plain(&facts.stack), plain(last));
    if folder.is_empty() || folder == stack {
        format!("stead-{stack}")
    } else {
        format!("stead-{stack}-{folder}")
    }
}

/// Returns the minute (0 to 59) of the daily drift check, derived from the name, so that stacks do not all start
/// at the same time.
fn drift_minute(stack: &str) -> u32 {
    stack.bytes().fold(7, |minute, byte| (minute * 31 + u32::from(byte)) % 60)
}

/// Returns a string as a YAML scalar, in quotes unless it is plain.
fn quote_yaml(text: &str) -> String {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./".contains(&b);
    let begins = text.bytes().next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'.');
    let word = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    if begins && text.bytes().all(is_plain) && !word.contains(&text.to_ascii_lowercase().as_str()) {
        return text.to_owned();
    }
    // Every JSON string is a valid YAML string.
    serde_json::Value::from(text).to_string()
}

fn quoted_list(texts: &[String]) -> String {
    let all: Vec<String> = texts.iter().map(|text| quote_yaml(text)).collect();
    format!("[{}]", all.join(", "))
}

/// CI system that a pipeline is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CiSystem {
    /// GitHub Actions, configured by a workflow file.
    #[value(name = "github")]
    GitHub,
    /// GitLab CI, configured by a pipeline file.
    #[value(name = "gitlab")]
    GitLab,
}

#[cfg(test)]
mod tests;
