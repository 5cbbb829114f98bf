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

/// Shell command of a pipeline if the user did not state how stead is installed: fails if it is missing.
const CHECK_STEAD_INSTALLED: &str =
    "command -v stead || { echo 'stead is not on PATH: install it here' >&2; exit 1; }";

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
    let container = facts.image.as_ref().map(|image| format!("container: {}", quote_yaml(image)));
    let secret = |name: &Name| {
        let variable = format!("STEAD_VAR_{}", name.to_uppercase().replace('-', "_"));
        format!("{variable}: ${{{{ secrets.{variable} }}}}")
    };
    let secrets: Vec<String> = facts.secrets.iter().map(secret).collect();
    let applies =
        if system == CiSystem::GitLab { gitlab_apply_jobs(facts, &slug, &paths) } else { String::new() };
    let lines = [
        ("APPLIES", applies),
        ("CONTAINER", container.unwrap_or_default()),
        ("SECRETS", secrets.join("\n")),
        ("INSTALL", facts.install.clone().unwrap_or_else(|| CHECK_STEAD_INSTALLED.to_owned())),
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
        ("IMAGE", quote_yaml(facts.image.as_deref().unwrap_or("debian:stable-slim"))),
        ("SLUG", slug),
        ("FILE", file.clone()),
    ];
    (file, fill_template(text, &lines, &words))
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
        let gate = if facts.confirmed.contains(name) { "when: manual\nallow_failure: false" } else { "" };
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
mod tests {
    use super::*;

    fn facts() -> PipelineParameters {
        PipelineParameters {
            stack: "shop".into(),
            environments: vec!["staging".into(), "prod".into()],
            confirmed: vec!["prod".into()],
            secrets: vec!["stripe_key".into()],
            directory: "infra/shop".into(),
            folders: vec!["infra/modules".into()],
            branch: "main".into(),
            install: Some("set -x\ncurl -fsS https://example.com/INSTALL | sh -s -- SLUG".into()),
            image: Some("registry.example.com/ci:1".into()),
        }
    }

    #[test]
    fn a_pipeline_is_valid_yaml_and_has_no_empty_placeholder() {
        let bare = PipelineParameters {
            secrets: vec![],
            directory: String::new(),
            install: None,
            image: None,
            ..facts()
        };
        let odd = PipelineParameters { directory: "a b/c'd: #e".into(), branch: "rel/1".into(), ..facts() };
        for facts in [facts(), bare, odd] {
            for system in [CiSystem::GitHub, CiSystem::GitLab] {
                let (path, text) = render_pipeline(system, &facts);
                let read: serde_yaml::Value =
                    serde_yaml::from_str(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
                assert!(read.is_mapping() && path.contains(".yml"), "{path}");
                for word in [
                    "ENVIRONMENTS",
                    "PATHS",
                    "GLOBS",
                    "APPLIES",
                    "NEEDS",
                    "GATE",
                    "QUOTED",
                    "SECRETS\n",
                    "CONTAINER",
                    "DIRECTORY\n",
                    "BRANCHES",
                    "\"BRANCH\"",
                ] {
                    assert!(!text.contains(word), "{word}\n{text}");
                }
                assert!(text.lines().all(|line| line.trim_end() == line), "{text}");
            }
        }
    }

    #[test]
    fn the_given_parameters_occur_verbatim_in_the_pipeline() {
        let (_, lab) = render_pipeline(CiSystem::GitLab, &facts());
        let changes = "changes: [\"infra/shop/**/*\", \"infra/modules/**/*\", .gitlab/stead-shop.yml]";
        assert!(lab.contains(changes), "{lab}");
        let (path, text) = render_pipeline(CiSystem::GitHub, &facts());
        assert_eq!(path, ".github/workflows/stead-shop.yml");
        assert!(text.contains(
            "          set -x\n          curl -fsS https://example.com/INSTALL | sh -s -- SLUG\n"
        ));
        assert!(text.contains("      STEAD_VAR_STRIPE_KEY: ${{ secrets.STEAD_VAR_STRIPE_KEY }}\n"));
        assert!(text.contains("        environment: [staging, prod]\n"));
        let globs =
            "':(glob)infra/shop/**' ':(glob)infra/modules/**' ':(glob).github/workflows/stead-shop.yml'";
        assert_eq!(text.matches(globs).count(), 2, "{text}");
        assert!(text.contains("    container: \"registry.example.com/ci:1\"\n"), "{text}");
    }

    #[test]
    fn a_ci_job_has_only_the_permissions_it_needs() {
        let (_, text) = render_pipeline(CiSystem::GitHub, &facts());
        let read: serde_yaml::Value = serde_yaml::from_str(&text).unwrap();
        assert_eq!(read["permissions"].as_mapping().map(serde_yaml::Mapping::len), Some(0));
        let may = |job: &str| {
            let rights = read["jobs"][job]["permissions"].as_mapping().unwrap();
            rights
                .iter()
                .map(|(key, value)| format!("{} {}", key.as_str().unwrap(), value.as_str().unwrap()))
                .collect::<Vec<_>>()
        };
        assert_eq!(may("check"), ["contents read"]);
        assert_eq!(may("plan"), ["contents read", "pull-requests write"]);
        assert_eq!(may("apply"), ["contents read", "pull-requests write"]);
        assert_eq!(may("drift"), ["contents read", "issues write"]);
        assert_eq!(may("changes"), ["contents read"]);
        assert_eq!(may("requests"), ["contents read", "pull-requests read"]);
        assert_eq!(may("plan-by-hand"), ["contents read"]);
        assert_eq!(may("plan-again"), ["contents read", "pull-requests write"]);
        assert!(may("required").is_empty() && may("applied").is_empty());
        for (job, rest) in read["jobs"].as_mapping().unwrap() {
            let writes = serde_yaml::to_string(rest).unwrap();
            let holds_key = writes.contains("secrets.STEAD_API_KEY");
            assert_eq!(holds_key, job.as_str() == Some("apply"), "{writes}");
            let is_open = ["check", "changes", "required", "applied", "requests"];
            let may_read = job.as_str().is_some_and(|job| !is_open.contains(&job));
            assert!(may_read || !writes.contains("secrets."), "{writes}");
        }
        for line in text.lines().filter(|line| line.contains("uses:")) {
            let pin = line.split('@').nth(1).unwrap().split(' ').next().unwrap();
            assert_eq!(pin.len(), 40, "{line}");
        }
    }

    #[test]
    fn a_required_check_runs_for_each_pull_request_and_no_apply_is_canceled() {
        let (_, text) = render_pipeline(CiSystem::GitHub, &facts());
        let read: serde_yaml::Value = serde_yaml::from_str(&text).unwrap();
        assert!(read["on"]["pull_request"].is_null() && read["on"]["merge_group"].is_null());
        assert!(read["on"].as_mapping().unwrap().contains_key("merge_group"));
        let jobs = &read["jobs"];
        assert_eq!(jobs["required"]["name"].as_str(), Some("stead shop"));
        let needs = |job: &str| {
            let needs = &jobs[job]["needs"];
            let one = needs.as_str().map(|job| vec![job]);
            one.unwrap_or_else(|| {
                needs.as_sequence().unwrap().iter().filter_map(|job| job.as_str()).collect()
            })
        };
        assert_eq!(needs("required"), ["changes", "check", "plan"]);
        assert!(jobs["required"]["if"].as_str().unwrap().starts_with("always() && "));
        // GitHub cancels a run that waits in a group when a newer one starts to wait.
        assert!(jobs["apply"]["concurrency"].is_null());
        assert_eq!(needs("applied"), ["apply"]);
        assert!(jobs["applied"]["if"].as_str().unwrap().starts_with("always() && "));
        assert_eq!((needs("requests"), needs("plan-again")), (vec!["apply"], vec!["requests"]));
    }

    #[test]
    fn gitlab_environments_run_in_order_and_a_protected_one_waits() {
        let (_, text) = render_pipeline(CiSystem::GitLab, &facts());
        let read: serde_yaml::Value = serde_yaml::from_str(&text).unwrap();
        let job = |name: &str| &read[format!("stead-shop {name}").as_str()];
        let (first, second) = (job("apply staging"), job("apply prod"));
        assert!(first["needs"].is_null() && first["rules"][0]["when"].is_null(), "{text}");
        assert_eq!(second["needs"][0]["job"].as_str(), Some("stead-shop apply staging"));
        assert_eq!(second["needs"][0]["optional"].as_bool(), Some(true));
        let gate = &second["rules"][0];
        assert_eq!((gate["when"].as_str(), gate["allow_failure"].as_bool()), (Some("manual"), Some(false)));
        // By hand, with the fingerprint of a new plan.
        assert!(second["rules"][1]["when"].is_null());
        assert!(second["rules"][1]["if"].as_str().unwrap().ends_with("$STEAD_APPLY == \"prod\""));
        let again = job("plan again")["rules"][0]["if"].as_str().unwrap();
        assert!(again.contains("\"web\"") && again.ends_with("$STEAD_APPLY == null"), "{again}");
    }

    #[test]
    fn the_state_directory_is_cached_in_jobs_that_apply() {
        let (_, hub) = render_pipeline(CiSystem::GitHub, &facts());
        let read: serde_yaml::Value = serde_yaml::from_str(&hub).unwrap();
        for (name, job) in read["jobs"].as_mapping().unwrap() {
            let text = serde_yaml::to_string(job).unwrap();
            let applies = name.as_str() == Some("apply");
            for word in ["STEAD_STATE_DIR", "STEAD_REQUIRE_LEDGER", "actions/cache/save"] {
                assert_eq!(text.contains(word), applies, "{word}\n{text}");
            }
        }
        let (_, lab) = render_pipeline(CiSystem::GitLab, &facts());
        let read: serde_yaml::Value = serde_yaml::from_str(&lab).unwrap();
        let apply = &read[".stead-shop-apply"];
        assert_eq!(apply["variables"]["STEAD_STATE_DIR"].as_str(), Some("$CI_PROJECT_DIR/.stead-state"));
        assert_eq!(apply["cache"]["paths"][0].as_str(), Some(".stead-state"));
        assert!(lab.contains("STEAD_REQUIRE_LEDGER"));
    }

    #[test]
    fn a_branch_and_a_directory_are_quoted_as_literals() {
        let facts = PipelineParameters { branch: "1.10".into(), directory: "a[b]+".into(), ..facts() };
        let (_, text) = render_pipeline(CiSystem::GitHub, &facts);
        let read: serde_yaml::Value = serde_yaml::from_str(&text).unwrap();
        let push = &read["on"]["push"];
        assert_eq!(push["branches"][0].as_str(), Some("1.10"));
        assert_eq!(push["paths"][0].as_str(), Some("a*b**/**"));
        assert!(read["jobs"]["apply"]["if"].as_str().unwrap().contains("github.ref_name == '1.10'"));
    }

    #[test]
    fn a_name_with_pipeline_syntax_is_rejected() {
        assert_eq!(pipeline_refusal(&facts()), None);
        let with = |name: &str| {
            [
                PipelineParameters { stack: name.into(), ..facts() },
                PipelineParameters { environments: vec![name.into()], ..facts() },
                PipelineParameters { secrets: vec![name.into()], ..facts() },
            ]
        };
        for name in ["${{ secrets.A }}", "a' || 1", "a\nb", "a b", "a\"b"] {
            assert!(with(name).iter().all(|facts| pipeline_refusal(facts).is_some()), "{name}");
        }
        for directory in ["a/${{ b }}", "$HOME", "a\nb", "a`b`", "%TEMP%"] {
            let facts = PipelineParameters { directory: directory.into(), ..facts() };
            assert!(pipeline_refusal(&facts).is_some(), "{directory}");
        }
    }

    #[test]
    fn pipeline_files_are_named_after_the_stack_and_its_directory() {
        let named =
            |directory: &str| pipeline_slug(&PipelineParameters { directory: directory.into(), ..facts() });
        assert_eq!(
            ["", "shop", "infra/shop", "infra/eu"].map(named),
            ["stead-shop", "stead-shop", "stead-shop", "stead-shop-eu"]
        );
    }

    #[test]
    fn a_directory_stays_one_shell_word_in_the_git_hook() {
        let odd = git_hook("DIRECTORY\ntouch x #");
        let lines: Vec<&str> = odd.lines().collect();
        assert!(lines[1].starts_with("# ") && lines[2].starts_with("# "), "{odd}");
        assert!(odd.contains("stead -C 'DIRECTORY\ntouch x #' fmt"), "{odd}");
        let text = git_hook("a b/c'd");
        assert!(text.contains(r"stead -C 'a b/c'\''d' fmt --check"), "{text}");
        assert!(!text.contains("DIRECTORY"));
    }
}
