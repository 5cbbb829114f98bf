//! The plan's page.

use std::time::Duration;

use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

use super::plans;
use crate::model::values::value::Value;
use crate::plan::artifact::drift_history::DriftHistoryDiff;
use crate::plan::model::change::{Action, Change, DriftClass, Plan};
use crate::plan::model::step::LedgerUpdate;
use crate::report::terminal::{PlanContext, plan_page};
use crate::report::text::escape;
use crate::report::text::style::TextStyle;
use crate::report::views::drift::{self, DriftReport, OtherProjectCounts};
use crate::report::views::list::ObjectSummary;

fn facts() -> PlanContext {
    PlanContext {
        objects: Some(41),
        read_in: Some(Duration::from_millis(1840)),
        last_applied: Some(plans::time(-180_000)),
        begun: None,
        now: Some(plans::time(10)),
        saved: false,
    }
}

fn shown(of: &Plan, verbose: bool, style: TextStyle) -> String {
    plan_page(of, &facts(), verbose, style)
}

#[test]
fn a_plan_with_every_kind_of_change_is_rendered() {
    insta::assert_snapshot!(shown(&plans::full(), false, TextStyle::plain(110)), @r#"
    shop/prod · read 41 live objects in 1.8 s · config 3f9c2e1 · last applied 2 days ago
    DRIFT  changed outside stead
      ≠ database.main.storage_gb      40 → 60  cannot be reverted; keep it: stead drift --accept
                                      database.main.storage_gb                                  shop.stead.yaml:25
      · database.main.public_access   false → true  left alone (ignore_drift until 2026-12-31: opened by hand)
                                                                                                shop.stead.yaml:31
      ≠ database.main.engine_version  "16" → 16  apply reverts it; its ignore_drift ended on 2026-06-30
                                                                                                shop.stead.yaml:25
      ≠ vpc.main                      the object is gone: apply recreates it
    CHANGES  most dangerous first
      ± vm.web.a       REPLACE, new one first                                                      $0.00    ~4 min
          the API cannot change template in place                                               shop.stead.yaml:20
          template             ubuntu-22.04 → ubuntu-24.04  forces the replacement              shop.stead.yaml:22
          public_ipv4_address  203.0.113.20 → (known once vm.web.a is applied)
          ! its address changes
          affects  volume.media, backup_schedule.nightly.a
      - volume.old     DELETE vol-9                                                               -$8.00      ~1 s
          it is no longer in the configuration                                                  shop.stead.yaml:20
          ! its data is lost for good
      ~ database.main  update in place                                                           +$48.00    ~3 min
          replica_count     1 → 2  vars.replicas, set by environments.prod                      shop.stead.yaml:22
          public_allowlist  [203.0.113.0/24] → [203.0.113.0/24, 198.51.100.7/32]  changed outside stead too; last
                            applied []                                                          shop.stead.yaml:22
          password          (secret)  fingerprint 9a41 → c07d                                   shop.stead.yaml:22
          vpc               vpc-1 → (default)                                                   shop.stead.yaml:22
          ! the difference is charged at once
      ~ volume.media   update in place, because a resource that it refers to changes                          ~2 s
          vm  5b1e09c2 → (known once vm.web.a is applied)                                       shop.stead.yaml:22
      + vm.web.b       create                                                                    +$24.00    ~2 min
          plan cpu-4c-8g · template ubuntu-24.04 · user_data (secret) · vpc (known once vpc.main is applied)
      ⇐ ssh_key.ops    adopt k-1
      ⇒ vm.front       move
          was vm.frontend                                                                       shop.stead.yaml:20
      ∅ vm.legacy      forget, stays live and billed, $12.00 a month                               $0.00
    BLOCKED
      ⊘ protected        volume.old  It is protected and would be deleted.                      shop.stead.yaml:60
                         help: Write `protect: false`, apply, then remove the block.
      ⊘ deletion_budget  14 of 41 objects would go, more than 30 %.
                         help: Look again, then pass --allow-deletes.
    COST   $339.40 → $412.40 a month (at least +$73.00) · prices of 14 Oct 2026 · 1 resource without a known
           price, not counted
           price of vm cpu-4c-8g changed: $22.00 → $24.00
           due now: $19.50 charged at 2026-10-14 17:46 UTC · 1 change without a known amount, not counted
    TIME   about 4 min: create vm.web.a 2 min → update volume.media 2 s → delete vm.web.a 2 min; the other steps
           run in parallel
    PLAN   1 create · 2 update · 1 replace · 1 delete · 1 adopt · 1 move · 1 forget · 41 unchanged
                                                                                             fingerprint 7f3a-c91e
    Blocked by 2 problems: this plan will not be applied.
    "#);
}

#[test]
fn unchanged_attributes_are_shown_only_in_verbose_mode() {
    let line = "engine  postgres  unchanged";
    assert!(shown(&plans::full(), true, TextStyle::plain(110)).contains(line));
    assert!(!shown(&plans::full(), false, TextStyle::plain(110)).contains("unchanged  "));
    let keys = |verbose| shown(&plans::full(), verbose, TextStyle::plain(110)).contains("labels.team");
    assert_eq!((keys(true), keys(false)), (true, false));
}

#[test]
fn a_plan_without_changes_is_one_line() {
    insta::assert_snapshot!(shown(&plans::empty(), false, TextStyle::plain(100)), @"No changes · shop/prod is as configured · 41 resources · 12 requests");
    let ignored = plans::full().drift.remove(1);
    let quiet = Plan {
        drift: vec![ignored],
        bookkeeping: vec![LedgerUpdate::Forget(plans::address("vm.old"))],
        ..plans::empty()
    };
    let verbose = shown(&quiet, true, TextStyle::plain(80));
    insta::assert_snapshot!(verbose, @"
    shop/prod · read 41 live objects in 1.8 s · config 3f9c2e1 · last applied 2 days ago
    No changes · shop/prod is as configured · 41 resources · 12 requests · 1 live difference left alone · apply updates the ledger only
      · database.main.public_access  false → true  left alone (ignore_drift until
                                     2026-12-31: opened by hand)  shop.stead.yaml:31
    ");
    insta::assert_snapshot!(shown(&quiet, false, TextStyle::plain(80)), @"No changes · shop/prod is as configured · 41 resources · 12 requests · 1 live difference left alone · apply updates the ledger only");
}

#[test]
fn drift_that_needs_a_decision_is_not_reported_as_no_changes() {
    let drift = plans::full().drift.remove(0);
    assert_eq!(drift.class, DriftClass::AcceptOnly);
    let text = shown(&Plan { drift: vec![drift], ..plans::empty() }, false, TextStyle::plain(100));
    insta::assert_snapshot!(text, @"
    shop/prod · read 41 live objects in 1.8 s · config 3f9c2e1 · last applied 2 days ago
    DRIFT  changed outside stead
      ≠ database.main.storage_gb  40 → 60  cannot be reverted; keep it: stead drift --accept
                                  database.main.storage_gb                            shop.stead.yaml:25
    No changes to make.
    PLAN   0 create · 0 update · 0 replace · 0 delete · 41 unchanged               fingerprint 7f3a-c91e
    ");
}

#[test]
fn a_creation_is_compact_and_complete_in_verbose_mode() {
    let plan = Plan { changes: vec![plans::creation("vm.web.b")], ..plans::empty() };
    insta::assert_snapshot!(shown(&plan, true, TextStyle::plain(100)), @r"
    shop/prod · read 41 live objects in 1.8 s · config 3f9c2e1 · last applied 2 days ago
    CHANGES  most dangerous first
      + vm.web.b  create                                                               +$24.00    ~2 min
          name       web-b                                                            shop.stead.yaml:22
          plan       cpu-4c-8g                                                        shop.stead.yaml:22
          template   ubuntu-24.04                                                     shop.stead.yaml:22
          user_data  (secret)  fingerprint 11                                         shop.stead.yaml:22
          vpc        (known once vpc.main is applied)                                 shop.stead.yaml:22
    PLAN   1 create · 0 update · 0 replace · 0 delete · 41 unchanged               fingerprint 7f3a-c91e
           fingerprint 7f3ac91e0123456789abcdef0123456789abcdef0123456789abcdef01234567
    ");
}

#[test]
fn a_plan_is_rendered_on_a_narrow_ascii_terminal() {
    let style = TextStyle { unicode: false, ..TextStyle::plain(50) };
    let mut plan = Plan { blocks: Vec::new(), drift: Vec::new(), ..plans::full() };
    plan.changes.truncate(3);
    let text = shown(&plan, false, style);
    insta::assert_snapshot!(text, @"
    shop/prod | read 41 live objects in 1.8 s | config
      3f9c2e1 | last applied 2 days ago
    CHANGES  most dangerous first
      -+ vm.web.a       REPLACE, new one first  $0.00
        ~4 min
          the API cannot change template in place
                                    shop.stead.yaml:20
          template             ubuntu-22.04 ->
                             ubuntu-24.04  forces the
                             replacement
                                    shop.stead.yaml:22
          public_ipv4_address  203.0.113.20 -> (known
                             once vm.web.a is applied)
          ! its address changes
          affects  volume.media,
                   backup_schedule.nightly.a
      -  volume.old     DELETE vol-9  -$8.00      ~1 s
          it is no longer in the configuration
                                    shop.stead.yaml:20
          ! its data is lost for good
      ~  database.main  update in place  +$48.00  ~3
        min
          replica_count     1 -> 2  vars.replicas, set
                            by environments.prod
                                    shop.stead.yaml:22
          public_allowlist    changed outside stead
                            too; last applied []
                                    shop.stead.yaml:22
              203.0.113.0/24
            + 198.51.100.7/32
          password          (secret)  fingerprint 9a41
                            -> c07d
                                    shop.stead.yaml:22
          vpc               vpc-1 -> (default)
                                    shop.stead.yaml:22
          ! the difference is charged at once
    COST   $339.40 -> $412.40 a month (at least
           +$73.00) | prices of 14 Oct 2026 | 1
           resource without a known price, not counted
           price of vm cpu-4c-8g changed: $22.00 ->
             $24.00
           due now: $19.50 charged at 2026-10-14 17:46
           UTC | 1 change without a known amount, not
           counted
    TIME   about 4 min: create vm.web.a 2 min ->
           update volume.media 2 s -> delete vm.web.a
           2 min; the other steps run in parallel
    PLAN   0 create | 1 update | 1 replace | 1 delete
           | 41 unchanged        fingerprint 7f3a-c91e
    ");
    assert!(text.is_ascii());
}

#[test]
fn long_texts_are_shown_as_a_short_line_diff() {
    let script = |words: &str| Value::text(format!("#!/bin/sh\nset -e\necho {words}\nexit 0\n"));
    let long = |letter: &str| Value::text(letter.repeat(1000));
    let change = Change {
        attributes: vec![
            plans::attribute("user_data", script("one"), script("two")),
            plans::attribute("note", long("a"), long("b")),
        ],
        ..plans::change(Action::Update, "vm.web")
    };
    let plan = Plan { changes: vec![change], ..plans::empty() };
    insta::assert_snapshot!(shown(&plan, false, TextStyle::plain(90)), @r"
    shop/prod · read 41 live objects in 1.8 s · config 3f9c2e1 · last applied 2 days ago
    CHANGES  most dangerous first
      ~ vm.web  update in place
          user_data                                                         shop.stead.yaml:22
              set -e
            - echo one
            + echo two
              exit 0
          note       aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
                     aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
                     aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa… (1000 characters)
                     →
                     bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
                     bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
                     bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb… (1000 characters)
                                                                            shop.stead.yaml:22
    PLAN   0 create · 1 update · 0 replace · 0 delete · 41 unchanged     fingerprint 7f3a-c91e
    ");
    assert!(shown(&plan, true, TextStyle::plain(90)).matches('b').count() > 1000);
}

#[test]
fn the_size_of_a_page_grows_linearly_with_the_plan() {
    let size = |count| shown(&plans::many(count), true, TextStyle::plain(100)).len();
    let (small, large) = (size(500), size(5000));
    assert!(large < small * 11, "{small} {large}");
}

#[test]
fn color_changes_no_text() {
    let strip = |text: &str| {
        let mut plain = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('\u{1b}') {
            plain.push_str(before);
            rest = after.split_once('m').unwrap().1;
        }
        plain + rest
    };
    let coloured = shown(&plans::full(), true, TextStyle { colour: true, ..TextStyle::plain(100) });
    assert!(coloured.contains('\u{1b}'));
    assert_eq!(strip(&coloured), shown(&plans::full(), true, TextStyle::plain(100)));
}

#[test]
fn drift_is_rendered_without_a_plan() {
    let full = plans::full();
    let (kind, id) = ("vm".into(), "9c41".into());
    let (name, monthly) = (Some("test-box".into()), Some(12.into()));
    let unmanaged = [ObjectSummary { kind, id, name, monthly, ..ObjectSummary::default() }];
    let found = DriftReport {
        stack: &full.base.stack,
        environment: &full.base.environment,
        drift: &full.drift,
        unmanaged: &unmanaged,
        managed: 38,
        elsewhere: OtherProjectCounts::default(),
        memory: &DriftHistoryDiff::default(),
        notes: &[],
        exposures: &[],
        verbose: false,
    };
    insta::assert_snapshot!(drift::drift_page(&found, TextStyle::plain(110)), @r#"
    shop/prod · drift: 3 differences · 1 left alone · 1 unmanaged key · 97% of 39 objects managed
      ≠ database.main.storage_gb      40 → 60  cannot be reverted; keep it: stead drift --accept
                                      database.main.storage_gb                                  shop.stead.yaml:25
      · database.main.public_access   false → true  left alone (ignore_drift until 2026-12-31: opened by hand)
                                                                                                shop.stead.yaml:31
      ≠ database.main.engine_version  "16" → 16  apply reverts it; its ignore_drift ended on 2026-06-30
                                                                                                shop.stead.yaml:25
      ? database.main.labels.team     red  unmanaged key: write it, or remove it by hand        shop.stead.yaml:25
      ≠ vpc.main                      the object is gone: apply recreates it
      ? vm test-box 9c41  unmanaged, $12.00 a month
    "#);
    let clean = DriftReport { drift: &[], unmanaged: &[], ..found };
    assert_eq!(
        drift::drift_page(&clean, TextStyle::plain(80)),
        "shop/prod · no drift · 100% of 38 objects managed\n"
    );
    let old = "vpc.old.name".to_owned();
    let seen = found.observed_items().skip(1).chain([(old.clone(), old)]);
    let (_, before) = DriftHistoryDiff::new_with_history(None, seen, plans::time(0));
    let (memory, _) =
        DriftHistoryDiff::new_with_history(Some(before), found.observed_items(), plans::time(2 * 86_400));
    let later = DriftReport {
        memory: &memory,
        elsewhere: OtherProjectCounts { projects: 3, account: 1, unread: false, by_account: false },
        ..found
    };
    insta::assert_snapshot!(drift::drift_page(&later, TextStyle::plain(110)), @r#"
    shop/prod · drift: 3 differences · 1 left alone · 1 unmanaged key · 97% of 39 objects managed · new 1, known
      5, resolved 1
      ≠ database.main.storage_gb      40 → 60  cannot be reverted; keep it: stead drift --accept
                                      database.main.storage_gb · NEW                            shop.stead.yaml:25
      · database.main.public_access   false → true  left alone (ignore_drift until 2026-12-31: opened by hand) ·
                                      first seen 2 days ago                                     shop.stead.yaml:31
      ≠ database.main.engine_version  "16" → 16  apply reverts it; its ignore_drift ended on 2026-06-30 · first
                                      seen 2 days ago                                           shop.stead.yaml:25
      ? database.main.labels.team     red  unmanaged key: write it, or remove it by hand · first seen 2 days ago
                                                                                                shop.stead.yaml:25
      ≠ vpc.main                      the object is gone: apply recreates it · first seen 2 days ago
      ? vm test-box 9c41  unmanaged, $12.00 a month · first seen 2 days ago
      ✓ vpc.old.name  resolved, was first seen 2 days ago
      · also in this account: 3 other projects, 1 object in no project: stead ls --unmanaged --all-projects
    "#);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn hostile_text_is_escaped_at_any_width(width in 1usize..300, verbose in any::<bool>(), unicode in any::<bool>()) {
        let text = shown(&plans::hostile(), verbose, TextStyle { unicode, ..TextStyle::plain(width) });
        prop_assert!(!text.chars().any(|c| c != '\n' && escape::acts_or_hides(c)));
        for line in text.lines() {
            prop_assert!(!line.trim_start().starts_with("::"), "{line}");
            prop_assert!(!line.contains("##["), "{line}");
            prop_assert!(line.width() <= width.max(TextStyle::MIN_WIDTH) + 5, "{line}");
        }
    }
}
