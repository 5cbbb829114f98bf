//! The hidden line with the digests of what a comment approves: written into a report, and read from the comment to name the
//! addresses in which a later plan differs. In: the digests of each plan. Out: one line that no text of a stack can end.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Read, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

use crate::model::address::{Address, Name};
use crate::plan::artifact::change_digests::ReviewedDigests;
use crate::plan::model::change::Plan;

/// Beginning of the hidden line.
const PREFIX: &str = "<!-- stead-digests:";

/// Limit on the bytes of the line: the table and the attributes must have room.
pub(in crate::report::review::formats) const MAX_LINE_BYTES: usize = 16_000;

/// Limit on the bytes of the text in a line: a line that expands to more was not written by stead.
const MAX_TEXT_BYTES: u64 = 4_000_000;

/// Number of digits of a plan's fingerprint in the line.
const FINGERPRINT_DIGITS: usize = 8;

/// Number of hidden lines before everything that a stack controls.
const HIDDEN_LINES: usize = 4;

/// Returns the hidden line with the digests of some plans, by their titles (`shop/prod`): the dangerous changes first, and as
/// many as fit. Empty if no plan has digests.
pub(in crate::report::review::formats) fn digests_line(plans: &[(String, &Plan)]) -> String {
    let count: usize = plans.iter().map(|(_, plan)| plan.digests.len()).sum();
    if count == 0 {
        return String::new();
    }
    let mut shown = count;
    while shown > 0 {
        let line = format!("{PREFIX}{} -->\n", encode(plans, shown));
        if line.len() <= MAX_LINE_BYTES {
            return line;
        }
        // A little less than what would fit if all entries were alike.
        shown = (shown * MAX_LINE_BYTES / line.len()).min(shown - 1) * 19 / 20;
    }
    String::new()
}

fn encode(plans: &[(String, &Plan)], shown: usize) -> String {
    let mut text = String::new();
    let mut room = shown;
    for (title, plan) in plans {
        let digits = plan.fingerprint.get(..FINGERPRINT_DIGITS).unwrap_or_default();
        let _ = writeln!(text, "{} {title} {digits}", plan.digests.len());
        let changed = plan.changes.iter().filter_map(|change| plan.digests.get_key_value(&change.address));
        let is_change: std::collections::HashSet<&Address> =
            plan.changes.iter().map(|change| &change.address).collect();
        let others = plan.digests.iter().filter(|(address, _)| !is_change.contains(address));
        for (address, digest) in changed.chain(others) {
            if room == 0 {
                break;
            }
            room -= 1;
            let _ = writeln!(text, "{address} {digest}");
        }
    }
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    let packed = packed.write_all(text.as_bytes()).and_then(|()| packed.finish());
    packed.map(|packed| STANDARD.encode(packed)).unwrap_or_default()
}

/// Returns whether a comment has a hidden line with digests, which may be damaged.
#[must_use]
pub fn has_digest_line(report: &str) -> bool {
    hidden_lines(report).any(|line| line.starts_with(PREFIX))
}

fn hidden_lines(report: &str) -> impl Iterator<Item = &str> {
    report.lines().take(HIDDEN_LINES).take_while(|line| line.starts_with("<!-- stead"))
}

/// Returns the digests in the hidden line of a comment, by the titles of their plans; `None` if it has no such line, or one
/// that stead did not write.
#[must_use]
pub fn digests_of(report: &str) -> Option<BTreeMap<String, ReviewedDigests>> {
    let line =
        hidden_lines(report).find_map(|line| line.trim_end().strip_prefix(PREFIX)?.strip_suffix(" -->"))?;
    let packed = STANDARD.decode(line).ok()?;
    let mut text = String::new();
    ZlibDecoder::new(packed.as_slice()).take(MAX_TEXT_BYTES).read_to_string(&mut text).ok()?;
    let mut found: BTreeMap<String, ReviewedDigests> = BTreeMap::new();
    let mut title = None;
    for line in text.lines() {
        let (first, second) = line.split_once(' ')?;
        if let Ok(count) = first.parse() {
            let (name, digits) = second.split_once(' ').unwrap_or((second, ""));
            let fingerprint = (!digits.is_empty()).then(|| Name::new(digits));
            let plan = ReviewedDigests { fingerprint, count, digests: BTreeMap::new() };
            found.insert(name.to_owned(), plan);
            title = Some(name.to_owned());
        } else {
            let plan = found.get_mut(title.as_ref()?)?;
            plan.digests.insert(Address::parse(first).ok()?, Name::new(second));
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::plans;

    fn with_digests(count: usize) -> Plan {
        let mut plan = plans::many(count);
        let digest = |address: &Address| {
            (address.clone(), Name::new(format!("{:08x}", address.as_str().len() * 77)))
        };
        plan.digests = plan.changes.iter().map(|change| digest(&change.address)).collect();
        plan.fingerprint = format!("{count:064x}").chars().rev().collect();
        plan
    }

    #[test]
    fn the_digests_of_a_comment_are_those_of_its_plans() {
        let (one, other) = (with_digests(3), with_digests(2));
        let line = digests_line(&[("shop/prod".into(), &one), ("net/prod".into(), &other)]);
        assert_eq!((line.lines().count(), line.matches("--").count()), (1, 2), "{line}");
        let found = digests_of(&format!("<!-- stead:all -->\n{line}### x\n")).unwrap();
        let reviewed = |count: usize, plan: Plan| ReviewedDigests {
            fingerprint: Some(Name::new(&plan.fingerprint[..8])),
            count,
            digests: plan.digests,
        };
        assert!(found["shop/prod"].is_same_plan(&one));
        assert_eq!(found["shop/prod"], reviewed(3, one));
        assert_eq!(found["net/prod"], reviewed(2, other));
        assert_eq!(digests_line(&[("shop/prod".into(), &plans::many(3))]), "");
    }

    #[test]
    fn a_line_is_bounded_and_counts_what_it_lacks() {
        let mut plan = with_digests(20_000);
        for (number, digest) in plan.digests.values_mut().enumerate() {
            *digest = Name::new(format!("{:08x}", number.wrapping_mul(2_654_435_761) % 0xffff_ffff));
        }
        let line = digests_line(&[("shop/prod".into(), &plan)]);
        assert!(line.len() <= MAX_LINE_BYTES && line.len() > MAX_LINE_BYTES / 2, "{}", line.len());
        let found = &digests_of(&format!("<!-- stead:shop/prod -->\n{line}")).unwrap()["shop/prod"];
        assert_eq!(found.count, 20_000);
        assert!(found.digests.len() > 500 && found.digests.len() < 20_000, "{}", found.digests.len());
        // Digests that were left out are counted, and an equal plan differs in no address.
        let difference = found.compare(&plan);
        assert_eq!(
            (difference.addresses.len(), difference.not_compared),
            (0, 20_000 - found.digests.len())
        );
    }

    #[test]
    fn a_line_of_somebody_else_is_not_read() {
        let line = digests_line(&[("shop/prod".into(), &with_digests(1))]);
        for forged in [
            format!("<!-- stead:shop/prod -->\n### x\n{line}"),
            "<!-- stead:shop/prod -->\n<!-- stead-digests:AAAA -->\n".to_owned(),
            "<!-- stead:shop/prod -->\n<!-- stead-digests:%% -->\n".to_owned(),
            "<!-- stead:shop/prod -->\n".to_owned(),
        ] {
            assert_eq!(digests_of(&forged), None, "{forged}");
        }
    }
}
