//! The plan's page.

use std::time::Duration;

use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

use super::plans;
use crate::model::value::Value;
use crate::plan::change::{Action, Change, DriftClass};
use crate::report::escape;
use crate::report::style::Style;
use crate::report::terminal::{Facts, plan};

fn facts() -> Facts {
    Facts {
        objects: Some(41),
        read_in: Some(Duration::from_millis(1840)),
        last_applied: Some(plans::time(-180_000)),
        now: Some(plans::time(10)),
        saved: false,
    }
}

#[test]
fn everything_at_once() {
    insta::assert_snapshot!(plan(&plans::full(), &facts(), false, Style::plain(110)), @r#"
    shop/prod · read 41 live objects in 1.8 s · config 3f9c2e1 · last applied 2 days ago
    DRIFT  changed outside stead
      ≠ database.main.storage_gb      40 → 60  cannot go back: write 60 in the configuration    shop.stead.yaml:25
      · database.main.public_access   false → true  left alone (ignore_drift)                   shop.stead.yaml:25
      ≠ database.main.engine_version  "16" → 16  apply puts it back                             shop.stead.yaml:25
      ≠ vpc.main                      the object is gone: apply makes it again
    CHANGES  most dangerous first
      ± vm.web.a       REPLACE, new one first                                                      $0.00    ~4 min
          the API cannot change template in place                                               shop.stead.yaml:20
          template             ubuntu-22.04 → ubuntu-24.04  forces the replacement              shop.stead.yaml:22
          public_ipv4_address  203.0.113.20 → (known once vm.web.a exists)
          ! its address changes
          hits  volume.media, backup_schedule.nightly.a
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
      ~ volume.media   update in place, follows what it refers to                                             ~2 s
          vm  5b1e09c2 → (known once vm.web.a exists)                                           shop.stead.yaml:22
      + vm.web.b       create                                                                    +$24.00    ~2 min
          plan cpu-4c-8g · template ubuntu-24.04 · user_data (secret) · vpc (known once vpc.main exists)
      ⇐ ssh_key.ops    adopt k-1
      ⇒ vm.front       move
          was vm.frontend                                                                       shop.stead.yaml:20
      ∅ vm.legacy      forget, stays live and billed, $12.00 a month                               $0.00
    BLOCKED
      ⊘ protected        volume.old  It is protected and would be deleted.                      shop.stead.yaml:60
                         help: Write `protect: false`, apply, then remove the block.
      ⊘ deletion_budget  14 of 41 objects would go, more than 30 %.
                         help: Look again, then pass --allow-deletes.
    COST   $339.40 → $412.40 a month (+$73.00) · prices of 14 Oct 2026 · 1 resource without a known price, not
           counted
           price of vm cpu-4c-8g moved: $22.00 → $24.00
    TIME   about 4 min: vm.web.a 2 min → volume.media 2 s → vm.web.a 2 min; the rest runs alongside
    PLAN   1 create · 2 update · 1 replace · 1 delete · 1 adopt · 1 move · 1 forget · 41 unchanged
                                                                                             fingerprint 7f3a-c91e
    Blocked by 2 problems: nothing will be applied.
    "#);
}
