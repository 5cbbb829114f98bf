//! The time of a comparison of 1,000 stacks; run by hand, in a release build:
//!
//! ```text
//! cargo test --release --lib -- --ignored --nocapture a_thousand_stacks
//! ```

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::fixture::Repository;

const STACKS: usize = 1000;

#[test]
#[ignore = "measures the time of a release build"]
fn a_thousand_stacks_are_compared_in_time() {
    let fleet = Repository::new(&[("README.md", "a thousand stacks\n")]);
    let mut module =
        "stead: 1\nvars: { name: { type: string } }\noutputs: { name: $vars.name }\nvpc:\n".to_owned();
    for n in 0..10 {
        writeln!(module, "  net{n}: {{ cidr: 10.{n}.0.0/16 }}").unwrap();
    }
    fleet.write("modules/net/stead.yaml", module);
    let directories: Vec<String> = (0..STACKS).map(|n| format!("stacks/group{}/s{n}", n % 30)).collect();
    for (n, directory) in directories.iter().enumerate() {
        let text = format!(
            "stead: 1\nstack: s{n}\nuse: {{ net: {{ source: ../../../modules/net, with: {{ name: s{n} }} }} }}\nvpc:\n  a: {{ cidr: 10.20.0.0/16 }}\n  \
             b: {{ cidr: 10.30.0.0/16 }}\noutputs: {{ net: $use.net.name }}\n"
        );
        fleet.write(&format!("{directory}/stead.yaml"), text);
    }
    fleet.commit("fleet");
    fleet.git(&["gc", "-q"]);
    fleet.git(&["checkout", "-q", "-b", "work"]);
    let path = format!("{}/stead.yaml", directories[500]);
    fleet.write(&path, "stead: 1\nstack: s500\n");
    fleet.commit("one");
    let start = Instant::now();
    let base = fleet.open(Some("main")).unwrap();
    let opened = start.elapsed();
    let load = |directory: &String| {
        let (loaded, reads) = base.load_stack(&fleet.settings(directory));
        let problems = loaded.err().and_then(|failure| failure.rejected).map(|all| all.diagnostics);
        assert!(problems.is_none(), "{directory}: {problems:?}");
        (PathBuf::from(directory), reads)
    };
    let reads: Vec<_> = directories.iter().map(load).collect();
    let loaded = start.elapsed();
    let changes = base.changed_stacks(&reads).unwrap();
    let compared = start.elapsed();
    let changed: Vec<_> = changes.iter().filter(|(_, change)| change.is_changed()).collect();
    println!("opened after {opened:?}, loaded after {loaded:?}, compared after {compared:?}");
    assert_eq!(changed.len(), 1, "{changed:?}");
    if !cfg!(debug_assertions) {
        assert!(compared < Duration::from_millis(1500), "{compared:?}");
    }
}
