//! What needs no live world: reading, resolving and checking a stack, in both syntaxes.

use super::stacks;
use super::time::{Cost, exponent, median, run};

/// `stead validate` of 1,000 to 100,000 resources, and `terraform validate` of as many in turn.
///
/// Terraform stops at 10,000: ten times as many took it longer than everything else here together.
pub fn validate() {
    for (name, file, text) in
        [("YAML", "stead.yaml", stacks::yaml as fn(usize) -> String), ("KDL", "stead.kdl", stacks::kdl)]
    {
        let mut walls = vec![];
        let mut memories = vec![];
        for n in [1_000_usize, 10_000, 100_000] {
            let directory = tempfile::tempdir().unwrap();
            std::fs::write(directory.path().join(file), text(n)).unwrap();
            let costs: Vec<_> =
                (0..3).map(|_| run(stacks::STEAD, &["validate", "-q"], directory.path(), &[])).collect();
            let cost = median(&costs);
            told(&format!("validate of {n}, {name}: stead"), cost);
            walls.push((n as f64, cost.wall));
            memories.push((n as f64, cost.memory));
        }
        for (what, points) in [("wall", &walls[1..]), ("memory", &memories[1..])] {
            super::figure(
                &format!("growth exponent, {name}, {what}, 10,000 to 100,000"),
                &format!("{:.2}", exponent(points)),
                "<= 1.1",
            );
        }
    }
    for n in [1_000, 10_000] {
        let Some(folder) = stacks::terraform(n) else {
            println!("terraform is not on the PATH: no comparison");
            return;
        };
        let cost = run("terraform", &["validate", "-no-color"], folder.path(), &[]);
        told(&format!("validate of {n}: terraform"), cost);
    }
}

fn told(what: &str, cost: Cost) {
    super::figure(what, &format!("{:.3} s {:.0} MiB", cost.wall, cost.memory), "");
}
