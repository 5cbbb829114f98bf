//! `Row`: one variant of a protocol, and the faults that its exploration must find.

use super::explore::{FAULTS, Fault, Findings, Protocol, explore, trace};

/// A variant, and the faults that it is known to have; the product's has none.
pub struct Row<P> {
    pub name: &'static str,
    pub protocol: P,
    pub faults: &'static [Fault],
}

/// Returns whether to explore the full budget that the design's figures need, instead of what takes a minute.
pub fn is_full() -> bool {
    std::env::var_os("STEAD_MODEL").is_some_and(|wanted| wanted == "full")
}

/// Explores variants, prints one line for each, and fails unless each has exactly its known faults.
pub fn check<P: Protocol>(model: &str, rows: impl IntoIterator<Item = Row<P>>) {
    let (mut states, mut surprises) = (0, Vec::new());
    for row in rows {
        let findings = explore(&row.protocol);
        states += findings.states();
        println!("{}", line(model, &row, &findings));
        surprises.extend(surprise(&row, &findings));
    }
    println!("{model}: {states} states");
    assert!(surprises.is_empty(), "{}", surprises.join("\n"));
}

fn line<P: Protocol>(model: &str, row: &Row<P>, findings: &Findings<P::State>) -> String {
    let [duplicates, silent, wrong] = FAULTS.map(|fault| findings.count(fault));
    format!(
        "{model:7} {:52} states {:>8} ends {:>7} dup {duplicates:>6} silent {silent:>6} wrong {wrong:>6} \
         asked {:>6}",
        row.name,
        findings.states(),
        findings.ends,
        findings.asked,
    )
}

/// Returns the differences from the expected faults, each with a shortest trace.
fn surprise<P: Protocol>(row: &Row<P>, findings: &Findings<P::State>) -> Vec<String> {
    let way = |to| trace(&row.protocol, findings, to).join("\n    ");
    let mut surprises = Vec::new();
    for fault in FAULTS {
        match (row.faults.contains(&fault), findings.first(fault)) {
            (false, Some(first)) => {
                surprises.push(format!("{}: {fault:?} after\n    {}", row.name, way(first)));
            }
            (true, None) => surprises.push(format!("{}: {fault:?} is never found", row.name)),
            _ => {}
        }
    }
    surprises.extend(findings.stuck.map(|stuck| format!("{}: stuck after\n    {}", row.name, way(stuck))));
    surprises
}
