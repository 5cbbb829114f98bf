//! Tests of the templates: what CI systems read from them, and which job has which key.

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
    assert!(
        text.contains(
            "          set -x\n          curl -fsS https://example.com/INSTALL | sh -s -- SLUG\n"
        )
    );
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
        one.unwrap_or_else(|| needs.as_sequence().unwrap().iter().filter_map(|job| job.as_str()).collect())
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

fn workspace_facts() -> WorkspacePipelineParameters {
    WorkspacePipelineParameters {
        secrets: vec!["stripe_key".into()],
        is_confirmed: true,
        branch: "main".into(),
        install: Some("curl -fsS https://example.com/INSTALL | sh".into()),
        image: Some("registry.example.com/ci:1".into()),
    }
}

#[test]
fn the_pipeline_for_all_stacks_has_one_required_check_and_one_key_that_writes() {
    let (path, text) = render_workspace_pipeline(CiSystem::GitHub, &workspace_facts());
    assert_eq!(path, ".github/workflows/stead-all.yml");
    let read: serde_yaml::Value = serde_yaml::from_str(&text).unwrap();
    assert!(read["on"]["pull_request"].is_null() && read["on"]["push"]["paths"].is_null(), "{text}");
    let jobs = read["jobs"].as_mapping().unwrap();
    let always: Vec<&str> = jobs
        .iter()
        .filter(|(_, job)| {
            job["if"].as_str().is_some_and(|condition| condition.starts_with("always() && "))
        })
        .filter_map(|(_, job)| job["name"].as_str())
        .collect();
    assert_eq!(always, ["stead"], "{text}");
    for (name, job) in jobs {
        let name = name.as_str().unwrap();
        let job = serde_yaml::to_string(job).unwrap();
        assert_eq!(job.contains("secrets.STEAD_API_KEY"), name == "apply", "{job}");
        assert_eq!(job.contains("pull-requests: write"), name == "plan", "{job}");
        let has_secrets = ["plan", "plan-by-hand", "apply"].contains(&name);
        assert_eq!(job.contains("secrets.STEAD_VAR_STRIPE_KEY"), has_secrets, "{job}");
        assert!(has_secrets || !job.contains("secrets."), "{job}");
        // A comment of the apply could take the place of the plan that was reviewed.
        assert_eq!(job.contains("stead ci comment"), name == "plan", "{job}");
    }
    for line in text.lines().filter(|line| line.contains("uses:")) {
        let pin = line.split('@').nth(1).unwrap().split(' ').next().unwrap();
        assert_eq!(pin.len(), 40, "{line}");
    }
}

#[test]
fn the_pipeline_for_all_stacks_is_valid_yaml_and_has_no_empty_placeholder() {
    let bare = WorkspacePipelineParameters {
        secrets: vec![],
        is_confirmed: false,
        branch: "rel/1".into(),
        install: None,
        image: None,
    };
    for facts in [workspace_facts(), bare] {
        for system in [CiSystem::GitHub, CiSystem::GitLab] {
            let (_, text) = render_workspace_pipeline(system, &facts);
            let read: serde_yaml::Value =
                serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert!(read.is_mapping());
            for word in
                ["GATE", "SECRETS\n", "CONTAINER", "SLUG", "BRANCHES", "\"BRANCH\"", "IMAGE", "CRON"]
            {
                assert!(!text.contains(word), "{word}\n{text}");
            }
            assert!(text.lines().all(|line| line.trim_end() == line), "{text}");
        }
    }
}

#[test]
fn gitlab_waits_for_a_person_before_it_applies_a_confirmed_environment() {
    for is_confirmed in [true, false] {
        let facts = WorkspacePipelineParameters { is_confirmed, ..workspace_facts() };
        let (path, text) = render_workspace_pipeline(CiSystem::GitLab, &facts);
        assert_eq!(path, ".gitlab/stead-all.yml");
        let read: serde_yaml::Value = serde_yaml::from_str(&text).unwrap();
        let rules = &read["stead-all apply"]["rules"];
        assert_eq!(rules[0]["when"].as_str(), is_confirmed.then_some("manual"));
        assert!(rules[1]["when"].is_null(), "by hand, with the fingerprint of a new plan: {text}");
        for (name, job) in read.as_mapping().unwrap() {
            let job = serde_yaml::to_string(job).unwrap();
            let own = "$CI_MERGE_REQUEST_SOURCE_PROJECT_ID == $CI_PROJECT_ID";
            let reaches = job.contains("API_KEY") || job.contains("stead ci");
            assert!(
                !reaches || !job.contains("merge_request_event") || job.contains(own),
                "{name:?}: {job}"
            );
            assert_eq!(job.contains("stead ci comment"), name.as_str() == Some("stead-all plan"), "{job}");
        }
    }
}

#[test]
fn a_variable_with_pipeline_syntax_is_rejected_for_all_stacks() {
    assert_eq!(workspace_pipeline_refusal(&workspace_facts()), None);
    let facts = WorkspacePipelineParameters { secrets: vec!["${{ a }}".into()], ..workspace_facts() };
    assert!(workspace_pipeline_refusal(&facts).is_some());
}
