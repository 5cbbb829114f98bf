//! Each form once, whole.

use std::time::Duration;

use serde_json::Value as Json;

use super::{commit, format, judged, parsed, reviewed};
use crate::apply::event::{ApplyEvent, Outcome, StepError};
use crate::model::diagnostic::Diagnostic;
use crate::model::source::{Source, SourceId, Sources, Span};
use crate::plan::model::change::{Action, ModuleMove, Plan, PolicyStatus, PreviousAddress};
use crate::report::review::{
    PlanReview, ReviewDiagnostics, ReviewFormat, ReviewSubject, comment_marker, fingerprint_of, marker_of,
};
use crate::report::run_report::{RunReport, StepResults};
use crate::report::tests::plans;

#[test]
fn a_commit_of_other_characters_than_digits_is_shortened() {
    let plan = judged();
    let reviewed = PlanReview { commit: Some(commit("ä€ä€ä€ä€ä€")), ..reviewed(&plan) };
    assert!(format("md").render_plan(&reviewed).contains("commit `ä€ä€ä€ä`"));
}

#[test]
fn a_comment_is_identified_by_its_first_line_and_names_its_plan() {
    let plan = judged();
    let reviewed = reviewed(&plan);
    let report = format("md").render_plan(&reviewed);
    assert_eq!(marker_of(&report), Some(&*format!("<!-- stead:{} -->", comment_marker("shop/prod"))));
    assert_eq!(fingerprint_of(&report), Some(reviewed.plan.fingerprint.as_str()));
    assert_eq!(fingerprint_of(&report.replace('\n', "\r\n")), Some(reviewed.plan.fingerprint.as_str()));
    for other in [
        "",
        "# a note",
        "<!-- stead: -->x",
        "<sub>`7f3ac91e0123456789abcdef0123456789abcdef0123456789abcdef01234567`</sub>\nmore",
        "<sub>`7f3a-c91e`</sub>",
    ] {
        assert_eq!((marker_of(other), fingerprint_of(other)), (None, None), "{other}");
    }
    assert_eq!(comment_marker("a--b/c>d"), "a-_b/c_d");
}

#[test]
#[expect(clippy::too_many_lines, reason = "it is one page")]
fn markdown_lists_the_most_severe_changes_first() {
    insta::assert_snapshot!(format("md").render_plan(&reviewed(&judged())), @r#"
    <!-- stead:shop/prod -->
    ### ⛔ stead · shop/prod · 1 replace, 1 delete, 2 update, 1 create, 1 adopt, 1 move, 1 forget · at least +$73.00/mo · ~4 min

    > ⛔ **policy budget** (overridable) denies the plan: Over the 400 USD budget: 412.40 &#62; 400. `infra/shop.stead.yaml:70` Lower the cost.
    >
    > ⛔ **protected** `volume.old`: It is protected and would be deleted. `infra/shop.stead.yaml:60` Write &#96;protect: false&#96;, apply, then remove the block.
    >
    > ⛔ **deletion_budget**: 14 of 41 objects would go, more than 30 %. Look again, then pass --allow-deletes.
    >
    > ❗ **`vm.web.a` is replaced** `infra/shop.stead.yaml:22` the API cannot change template in place; its address changes; affects `volume.media, backup_schedule.nightly.a`
    >
    > ❗ **`volume.old` is deleted** `infra/shop.stead.yaml:20` it is no longer in the configuration; its data is lost for good
    >

    | | resource | change | $/mo |
    |---|---|---|---:|
    | ± | `vm.web.a` | template `ubuntu-22.04` → `ubuntu-24.04`, public_ipv4_address `203.0.113.20` → `(known once vm.web.a is applied)` | $0.00 |
    | - | `volume.old` | delete: it is no longer in the configuration | -$8.00 |
    | ~ | `database.main` | replica_count `1` → `2`, public_allowlist `[203.0.113.0/24]` → `[203.0.113.0/24, 198.51.100.7/32]`, password `(secret 9a41)` → `(secret c07d)`, 1 more; the difference is charged at once | +$48.00 |
    | ~ | `volume.media` | vm `5b1e09c2` → `(known once vm.web.a is applied)` |  |
    | + | `vm.web.b` | name `web-b`, plan `cpu-4c-8g`, template `ubuntu-24.04`, 2 more | +$24.00 |
    | ⇐ | `ssh_key.ops` | adopt |  |
    | ⇒ | `vm.front` | move: was vm.frontend |  |
    | ∅ | `vm.legacy` | forget | $0.00 |

    <details><summary>8 resources, attribute by attribute</summary>

    ```diff
    ± vm.web.a  replace, new one first: the API cannot change template in place   infra/shop.stead.yaml:20
    -   template: ubuntu-22.04
    +   template: ubuntu-24.04
    -   public_ipv4_address: 203.0.113.20
    +   public_ipv4_address: (known once vm.web.a is applied)
    - volume.old  delete: it is no longer in the configuration   infra/shop.stead.yaml:20
    ~ database.main  update   infra/shop.stead.yaml:20
    -   replica_count: 1
    +   replica_count: 2
    -   public_allowlist: [203.0.113.0/24]
    +   public_allowlist: [203.0.113.0/24, 198.51.100.7/32]
    -   password: (secret 9a41)
    +   password: (secret c07d)
    -   vpc: vpc-1
    ~ volume.media  update   infra/shop.stead.yaml:20
    -   vm: 5b1e09c2
    +   vm: (known once vm.web.a is applied)
    + vm.web.b  create   infra/shop.stead.yaml:20
    +   name: web-b
    +   plan: cpu-4c-8g
    +   template: ubuntu-24.04
    +   user_data: (secret 11)
    +   vpc: (known once vpc.main is applied)
    ⇐ ssh_key.ops  adopt   infra/shop.stead.yaml:20
    ⇒ vm.front  move: was vm.frontend   infra/shop.stead.yaml:20
    ∅ vm.legacy  forget   infra/shop.stead.yaml:20
    ```

    </details>

    <details><summary>Drift: 3 to decide, 2 left alone</summary>

    ```diff
    database.main.storage_gb: 40 → 60   cannot be reverted; keep it: stead drift --accept database.main.storage_gb   infra/shop.stead.yaml:25
    database.main.engine_version: "16" → 16   apply reverts it; its ignore_drift ended on 2026-06-30   infra/shop.stead.yaml:25
    vpc.main is gone   the object is gone: apply recreates it
    database.main.public_access: false → true   left alone (ignore_drift until 2026-12-31: opened by hand)   infra/shop.stead.yaml:25
    database.main.labels.team: not written → red   unmanaged key: write it, or remove it by hand   infra/shop.stead.yaml:25
    ```

    </details>

    <details><summary>Order</summary>

    ```mermaid
    flowchart LR
      n0["create vm.web.a"]:::danger
      n1["update database.main"]
      n2["update volume.media"]
      n3["delete vm.web.a"]:::danger
      n4["create vm.web.b"]
      n0 --> n2
      n2 --> n3
      classDef danger stroke:#c33,stroke-width:2px
    ```

    </details>

    This comment has no digests, because a ledger has no key before the first apply: if a later plan differs, what differs is not named.

    <sub>`7f3ac91e0123456789abcdef0123456789abcdef0123456789abcdef01234567` · commit `3f9c2e1` · $339.40 → $412.40 a month · 1 resource without a known price, not counted · due now: $19.50 charged at 2026-10-14 17:46 UTC, 1 change without a known amount, not counted</sub>
    "#);
}

#[test]
fn markdown_of_a_plan_without_changes_is_three_lines() {
    insta::assert_snapshot!(format("md").render_plan(&reviewed(&plans::empty())), @"
    <!-- stead:shop/prod -->
    ### ✅ stead · shop/prod · no changes, 41 resources as configured

    <sub>`7f3ac91e0123456789abcdef0123456789abcdef0123456789abcdef01234567` · commit `3f9c2e1`</sub>
    ");
}

#[test]
fn a_large_plan_fits_into_a_comment_and_counts_the_omissions() {
    let mut plan = plans::distinct(500);
    plan.changes.insert(0, plans::full().changes.remove(0));
    let text = format("md").render_plan(&reviewed(&plan));
    assert!(text.len() < 65_536, "{}", text.len());
    assert!(text.contains(" more** | omitted here"), "{text}");
    assert!(text.contains("more did not fit; the reports `html` and `json` have them all"));
    let first = text.lines().find(|line| line.starts_with("> ")).unwrap();
    assert!(first.contains("`vm.web.a` is replaced"), "{first}");
    assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
}

#[test]
fn the_omitted_changes_count_the_resources_of_a_module() {
    let mut plan = plans::distinct(3_000);
    let last = plan.changes.len() - 50;
    for change in &mut plan.changes[last..] {
        change.action = Action::Move;
        change.attributes.clear();
        change.reason = None;
        let module = Some(ModuleMove { from: "eu".into(), to: "us".into() });
        let was = PreviousAddress { address: change.address.clone(), source: None, module, stack: None };
        change.was = Some(Box::new(was));
    }
    let text = format("md").render_plan(&reviewed(&plan));
    let shown = text.lines().filter(|line| line.starts_with("| ") && line.contains("`vm.web.n")).count();
    assert!(text.contains(&format!("**{} resources more**", 3_000 - shown)), "{shown}");
}

#[test]
fn sarif_has_rules_locations_and_stable_fingerprints() {
    let plan = judged();
    let before = parsed(&format("sarif").render_plan(&reviewed(&plan)));
    let mut moved = judged();
    for place in moved.changes.iter_mut().filter_map(|change| change.source.as_mut()) {
        place.line += 40;
    }
    for place in moved.policy.iter_mut().filter_map(|ruling| ruling.source.as_mut()) {
        place.line += 40;
    }
    let after = parsed(&format("sarif").render_plan(&reviewed(&moved)));
    let results = |log: &Json| log["runs"][0]["results"].as_array().unwrap().clone();
    let prints = |log: &Json| -> Vec<String> {
        let prints = results(log);
        prints.iter().map(|result| result["partialFingerprints"]["stead/v1"].to_string()).collect()
    };
    assert_eq!(prints(&before), prints(&after));
    let distinct: std::collections::BTreeSet<String> = prints(&before).into_iter().collect();
    assert_eq!(distinct.len(), prints(&before).len(), "no two findings are one");
    let rules = before["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    for result in results(&before) {
        let rule = &rules[usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap()];
        assert_eq!(rule["id"], result["ruleId"]);
    }
    let budget = results(&before).into_iter().find(|result| result["ruleId"] == "policy/budget").unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&budget).unwrap(), @r#"
    {
      "level": "error",
      "locations": [
        {
          "logicalLocations": [
            {
              "fullyQualifiedName": "shop/prod",
              "kind": "module",
              "name": "shop/prod"
            }
          ],
          "physicalLocation": {
            "artifactLocation": {
              "uri": "infra/shop.stead.yaml",
              "uriBaseId": "%SRCROOT%"
            },
            "region": {
              "startColumn": 5,
              "startLine": 70
            }
          }
        }
      ],
      "message": {
        "text": "Over the 400 USD budget: 412.40 > 400. (overridable: it denies the plan). Lower the cost."
      },
      "partialFingerprints": {
        "primaryLocationLineHash": "0f56103ee3f939d903a4a2b43c0cd734",
        "stead/v1": "0f56103ee3f939d903a4a2b43c0cd734"
      },
      "ruleId": "policy/budget",
      "ruleIndex": 4
    }
    "#);
}

#[test]
fn configuration_errors_have_columns_in_every_format() {
    let mut sources = Sources::default();
    let text = "vm:\n  wéb: { plan: 1 }\n";
    sources.add(Source::new("shop #1.stead.yaml", text));
    let at = u32::try_from(text.find("1 }").unwrap()).unwrap();
    let span = Span { source: SourceId(0), start: at, end: at + 1 };
    let diagnostics = [
        Diagnostic::error("S0301", "a plan is a name").with_label(span, "a number"),
        Diagnostic::warning("S0302", "nothing has a place"),
    ];
    let problems = ReviewDiagnostics::new(&diagnostics, &sources, &super::ROOT);
    let log = parsed(&format("sarif").render_problems(&problems).unwrap());
    let results = log["runs"][0]["results"].as_array().unwrap();
    let found = results.iter().find(|result| result["ruleId"] == "S0301").unwrap();
    let place = &found["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "infra/shop%20%231.stead.yaml");
    assert_eq!(
        place["region"],
        serde_json::json!({"startLine": 2, "startColumn": 16, "endLine": 2, "endColumn": 17})
    );
    let quality = parsed(&format("codequality").render_problems(&problems).unwrap());
    let places = |log: &Json| log["locations"].as_array().unwrap().len();
    assert!(results.iter().all(|result| places(result) == 1), "a forge takes none without");
    assert_eq!(quality.as_array().unwrap().len(), 2);
    let lines: Vec<&Json> =
        quality.as_array().unwrap().iter().map(|one| &one["location"]["lines"]["begin"]).collect();
    assert_eq!(lines, [1, 2]);
    insta::assert_snapshot!(format("junit").render_problems(&problems).unwrap(), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="stead" tests="2" failures="1">
      <testsuite name="stead validate" tests="2" failures="1">
        <testcase name="S0302 nothing has a place" classname="stead validate" file="infra/shop #1.stead.yaml" line="1"><system-out>nothing has a place</system-out></testcase>
        <testcase name="S0301 a plan is a name" classname="stead validate" file="infra/shop #1.stead.yaml" line="2">
          <failure message="a plan is a name">infra/shop #1.stead.yaml:2 a plan is a name</failure>
        </testcase>
      </testsuite>
    </testsuites>
    "#);
    for format in ReviewFormat::ALL {
        let supports = ReviewFormat::for_diagnostics().any(|supported| supported == *format);
        assert_eq!(format.render_problems(&problems).is_some(), supports, "{format}");
    }
}

#[test]
fn junit_contains_policies_and_drift_as_tests() {
    let plan = judged();
    let of = reviewed(&plan);
    insta::assert_snapshot!(format("junit").render_plan(&of), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="stead" tests="7" failures="6">
      <testsuite name="stead shop/prod" tests="7" failures="6">
        <properties><property name="unit" value="shop/prod"/></properties>
        <testcase name="blocked/protected volume.old" classname="stead shop/prod" file="infra/shop.stead.yaml" line="60">
          <failure message="volume.old: It is protected and would be deleted. Write `protect: false`, apply, then remove the block.">infra/shop.stead.yaml:60 volume.old: It is protected and would be deleted. Write `protect: false`, apply, then remove the block.</failure>
        </testcase>
        <testcase name="blocked/deletion_budget" classname="stead shop/prod" file="infra/shop.stead.yaml" line="1">
          <failure message="14 of 41 objects would go, more than 30 %. Look again, then pass --allow-deletes.">infra/shop.stead.yaml:1 14 of 41 objects would go, more than 30 %. Look again, then pass --allow-deletes.</failure>
        </testcase>
        <testcase name="policy/budget" classname="stead shop/prod" file="infra/shop.stead.yaml" line="70">
          <failure message="Over the 400 USD budget: 412.40 &gt; 400. (overridable: it denies the plan). Lower the cost.">infra/shop.stead.yaml:70 Over the 400 USD budget: 412.40 &gt; 400. (overridable: it denies the plan). Lower the cost.</failure>
        </testcase>
        <testcase name="drift database.main.storage_gb" classname="stead shop/prod" file="infra/shop.stead.yaml" line="25">
          <failure message="database.main.storage_gb was changed outside stead: 40 → 60">infra/shop.stead.yaml:25 database.main.storage_gb was changed outside stead: 40 → 60</failure>
        </testcase>
        <testcase name="drift database.main.engine_version" classname="stead shop/prod" file="infra/shop.stead.yaml" line="25">
          <failure message="database.main.engine_version was changed outside stead: &quot;16&quot; → 16">infra/shop.stead.yaml:25 database.main.engine_version was changed outside stead: &quot;16&quot; → 16</failure>
        </testcase>
        <testcase name="drift vpc.main" classname="stead shop/prod" file="infra/shop.stead.yaml" line="1">
          <failure message="vpc.main is gone: it was deleted outside stead">infra/shop.stead.yaml:1 vpc.main is gone: it was deleted outside stead</failure>
        </testcase>
        <testcase name="policy/closed_db" classname="stead shop/prod" file="infra/shop.stead.yaml" line="70"/>
      </testsuite>
    </testsuites>
    "#);
}

#[test]
#[expect(clippy::too_many_lines, reason = "each form is whole")]
fn a_plan_is_rendered_as_counts_metrics_and_a_chart() {
    let plan = judged();
    let of = reviewed(&plan);
    insta::assert_snapshot!(format("gitlab").render_plan(&of), @r#"{"create":2,"delete":2,"update":3}"#);
    insta::assert_snapshot!(format("prom").render_plan(&of), @r#"
    # HELP stead_changes Changes that an apply would make, by action.
    # TYPE stead_changes gauge
    stead_changes{stack="shop",env="prod",unit="shop/prod",action="replace"} 1
    stead_changes{stack="shop",env="prod",unit="shop/prod",action="delete"} 1
    stead_changes{stack="shop",env="prod",unit="shop/prod",action="update"} 2
    stead_changes{stack="shop",env="prod",unit="shop/prod",action="create"} 1
    stead_changes{stack="shop",env="prod",unit="shop/prod",action="adopt"} 1
    stead_changes{stack="shop",env="prod",unit="shop/prod",action="move"} 1
    stead_changes{stack="shop",env="prod",unit="shop/prod",action="forget"} 1
    stead_changes{stack="shop",env="prod",unit="shop/prod",action="read"} 0
    # HELP stead_unchanged_resources Resources that are as configured.
    # TYPE stead_unchanged_resources gauge
    stead_unchanged_resources{stack="shop",env="prod",unit="shop/prod"} 41
    # HELP stead_output_changes Outputs that an apply would change.
    # TYPE stead_output_changes gauge
    stead_output_changes{stack="shop",env="prod",unit="shop/prod"} 0
    # HELP stead_blocks Reasons besides policies why the plan cannot be applied.
    # TYPE stead_blocks gauge
    stead_blocks{stack="shop",env="prod",unit="shop/prod"} 2
    # HELP stead_policies_denied Policies that deny the plan.
    # TYPE stead_policies_denied gauge
    stead_policies_denied{stack="shop",env="prod",unit="shop/prod"} 1
    # HELP stead_monthly_dollars The monthly cost of the managed objects, now and after an apply.
    # TYPE stead_monthly_dollars gauge
    stead_monthly_dollars{stack="shop",env="prod",unit="shop/prod",when="before"} 339.4
    stead_monthly_dollars{stack="shop",env="prod",unit="shop/prod",when="after"} 412.4
    # HELP stead_unpriced_resources Resources without a known price, which no sum has.
    # TYPE stead_unpriced_resources gauge
    stead_unpriced_resources{stack="shop",env="prod",unit="shop/prod"} 1
    # HELP stead_due_unknown Changes that are charged or refunded at once by an amount that is not known.
    # TYPE stead_due_unknown gauge
    stead_due_unknown{stack="shop",env="prod",unit="shop/prod"} 1
    # HELP stead_due_dollars What is charged at once, negative if it is refunded.
    # TYPE stead_due_dollars gauge
    stead_due_dollars{stack="shop",env="prod",unit="shop/prod"} 19.5
    # HELP stead_drift Live differences from what was last applied, by class; unmanaged: keys of maps that the configuration does not have.
    # TYPE stead_drift gauge
    stead_drift{stack="shop",env="prod",unit="shop/prod",class="reverted"} 1
    stead_drift{stack="shop",env="prod",unit="shop/prod",class="accept_only"} 1
    stead_drift{stack="shop",env="prod",unit="shop/prod",class="accepted"} 0
    stead_drift{stack="shop",env="prod",unit="shop/prod",class="ignored"} 1
    stead_drift{stack="shop",env="prod",unit="shop/prod",class="gone"} 1
    stead_drift{stack="shop",env="prod",unit="shop/prod",class="not_readable"} 0
    stead_drift{stack="shop",env="prod",unit="shop/prod",class="replaced"} 0
    stead_drift{stack="shop",env="prod",unit="shop/prod",class="unmanaged"} 1
    # HELP stead_read_timestamp_seconds When the live objects were last read.
    # TYPE stead_read_timestamp_seconds gauge
    stead_read_timestamp_seconds{stack="shop",env="prod",unit="shop/prod"} 1792000000
    "#);
    insta::assert_snapshot!(format("mermaid").render_plan(&of), @r#"
    flowchart LR
      n0["create vm.web.a"]:::danger
      n1["update database.main"]
      n2["update volume.media"]
      n3["delete vm.web.a"]:::danger
      n4["create vm.web.b"]
      n0 --> n2
      n2 --> n3
      classDef danger stroke:#c33,stroke-width:2px
    "#);
}

#[test]
fn tfjson_contains_the_changes_for_terraform_tools() {
    let document = parsed(&format("tfjson").render_plan(&reviewed(&judged())));
    assert_eq!(document["format_version"], "1.2");
    assert_eq!(document["applyable"], false);
    let changes = document["resource_changes"].as_array().unwrap();
    let of = |address: &str| changes.iter().find(|change| change["address"] == address).unwrap();
    let machine = of("vm.web[\"a\"]");
    assert_eq!((&machine["name"], &machine["index"]), (&Json::from("web"), &Json::from("a")));
    let change = &machine["change"];
    assert_eq!(change["actions"], serde_json::json!(["create", "delete"]));
    assert_eq!(
        (&change["before"]["template"], &change["after"]["template"]),
        (&Json::from("ubuntu-22.04"), &Json::from("ubuntu-24.04"))
    );
    assert_eq!(change["before"]["public_ipv4_address"], "203.0.113.20");
    assert_eq!(change["after_unknown"], serde_json::json!({"public_ipv4_address": true}));
    assert_eq!(change["replace_paths"], serde_json::json!([["template"]]));
    assert_eq!(machine["action_reason"], "replace_because_cannot_update");
    assert_eq!(of("volume.old")["change"]["actions"], serde_json::json!(["delete"]));
    assert_eq!(of("volume.old")["change"]["after"], Json::Null);
    assert_eq!(of("database.main")["change"]["after_sensitive"]["password"], true);
    assert_eq!(of("vm.legacy")["change"]["actions"], serde_json::json!(["forget"]));
    assert_eq!(of("ssh_key.ops")["change"]["importing"]["id"], "k-1");
}

#[test]
fn a_denying_policy_is_listed_once_and_an_overridden_one_is_no_failure() {
    let mut plan = judged();
    plan.policy[1].verdict = PolicyStatus::Overridden;
    let of = reviewed(&plan);
    let page = format("md").render_plan(&of);
    assert_eq!(page.matches("Over the 400 USD budget").count(), 1, "{page}");
    let lifted = "**policy closed_db** (overridable) denies the plan, and is overridden";
    assert!(page.contains(lifted), "{page}");
    let log = parsed(&format("sarif").render_plan(&of));
    let results = log["runs"][0]["results"].as_array().unwrap();
    let is_budget = |result: &&Json| result["message"]["text"].to_string().contains("budget:");
    assert_eq!(results.iter().filter(is_budget).count(), 1);
    let case = r#"<testcase name="policy/closed_db" classname="stead shop/prod" file"#;
    assert!(format("junit").render_plan(&of).contains(case));
}

#[test]
fn the_reports_of_an_apply_contain_its_results() {
    let plan = judged();
    let addresses: Vec<_> = plan.changes.iter().map(|change| change.address.clone()).collect();
    let steps = results_of_steps(&plan);
    let error = StepError::NotReady("status failed: no room".into());
    let outcome = Outcome {
        done: vec![addresses[0].clone()],
        failed: vec![(addresses[2].clone(), error)],
        skipped: vec![addresses[3].clone()],
        questions: vec!["Which of vm-1 and vm-2 is vm.api?".to_owned()],
        ..Outcome::default()
    };
    let took = Duration::from_secs(75);
    let ran = RunReport::new(&outcome, &steps, (plans::time(9), took), 6);
    let of = PlanReview { told: ReviewSubject::Run(&ran), ..reviewed(&plan) };
    let page = format("md").render_plan(&of);
    for said in [
        "### ⛔ stead · shop/prod · partly applied: 1 done, 1 failed, 1 skipped, 1 question · 1m15s\n",
        "> ⛔ **`database.main` failed**: status failed: no room",
        "> ❗ **question** Which of vm-1 and vm-2 is vm&#46;api?".replace("&#46;", ".").as_str(),
        "| done in ",
        "| failed: status failed: no room |",
        "| skipped: database.main was not done |",
    ] {
        assert!(page.contains(said), "{said}\n{page}");
    }
    assert!(!page.contains("after the merge") && !page.contains("is replaced"), "{page}");
    let html = format("html").render_plan(&of);
    assert!(html.contains("failed: status failed: no room") && !html.contains("after the merge"));
    let document = parsed(&format("json").render_plan(&of));
    assert_eq!(document["outcome"]["exit"], 6);
    assert_eq!(document["outcome"]["steps"][0]["took_ms"], 20_000);
    let xml = format("junit").render_plan(&of);
    assert!(
        xml.contains("failures=\"3\"")
            && xml.contains("policy/budget")
            && xml.contains("<skipped message=\"skipped: database.main"),
        "{xml}"
    );
    let log = parsed(&format("sarif").render_plan(&of));
    assert_eq!(log["runs"][0]["results"][0]["ruleId"], "apply/failed");
    let metrics = format("prom").render_plan(&of);
    assert!(
        metrics.contains("stead_apply_success{stack=\"shop\",env=\"prod\",unit=\"shop/prod\"} 0"),
        "{metrics}"
    );
    assert!(metrics.contains("outcome=\"failed\"} 1") && !metrics.contains("stead_changes"), "{metrics}");
    for form in ReviewFormat::ALL {
        let is_equal = form.render_plan(&of) == form.render_plan(&reviewed(&plan));
        assert_eq!(is_equal, !form.has_outcome(), "{form}");
    }
}

#[test]
fn drift_has_the_type_of_its_resource_and_map_keys_keep_their_dots() {
    let mut plan = judged();
    let addresses = ["eu.shop.vm.web", "cluster.jobs.node_pools.general", "vpc.vpc"];
    for (drift, address) in plan.drift.iter_mut().zip(addresses) {
        drift.address = plans::address(address);
    }
    plan.changes[0].attributes[0].path = "labels.app.kubernetes.io/name".into();
    let document = parsed(&format("tfjson").render_plan(&reviewed(&plan)));
    let drift = document["resource_drift"].as_array().unwrap();
    let kind = |address: &str| &drift.iter().find(|one| one["address"] == address).unwrap()["type"];
    assert_eq!(kind("module.eu.module.shop.vm.web"), "vm");
    assert_eq!(kind("node_pool.jobs[\"general\"]"), "node_pool");
    assert_eq!(kind("vpc.vpc"), "vpc");
    let changes = document["resource_changes"].as_array().unwrap();
    let changed = changes.iter().find(|one| one["address"] == "vm.web[\"a\"]").unwrap();
    let after = &changed["change"]["after"]["labels"];
    assert_eq!(after["app.kubernetes.io/name"], "ubuntu-24.04");
}

/// Returns the events of an apply of `judged()`: its first change is made, and the fourth is skipped for the third.
fn results_of_steps(plan: &Plan) -> StepResults {
    let addresses: Vec<_> = plan.changes.iter().map(|change| change.address.clone()).collect();
    let mut steps = StepResults::default();
    for step in &plan.changes[0].steps {
        let (step, address) = (*step, addresses[0].clone());
        let took = Duration::from_secs(20);
        let done = ApplyEvent::Succeeded { step, address, done: "created", id: None, took };
        steps.record_event(plans::time(0), &done);
    }
    for step in &plan.changes[3].steps {
        let (step, address) = (*step, addresses[3].clone());
        let skipped = ApplyEvent::Skipped { step, address, because: addresses[2].clone() };
        steps.record_event(plans::time(0), &skipped);
    }
    steps
}
