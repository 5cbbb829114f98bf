//! Figures of many stacks in one repository: a plan of 1,000 units without a change, beside a loop of one process for
//! each stack, and the units that a branch changed.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::figure;
use super::live::Emulator;
use super::stacks::STEAD;
use super::time::run;

/// Units of the repository. One in ten is a network, which nine others read.
const UNITS: usize = 1_000;

/// Objects of a network's stack and of a reader: 20 on average.
const OBJECTS: usize = 20;

/// How many of the units the loop of single plans is measured on.
const SAMPLED: usize = 20;

/// Writes the stacks below `stacks/` and commits them.
fn write_repository(root: &Path) {
    for number in 0..UNITS {
        let stack = root.join(format!("stacks/s-{number:04}"));
        fs::create_dir_all(&stack).unwrap();
        let volumes: Vec<String> =
            (0..OBJECTS - 2).map(|n| format!("  d-{number}-{n}: {{ size: 10 }}\n")).collect();
        let volumes = volumes.concat();
        let network = number - number % 10;
        let text = if number == network {
            let (high, low) = (network / 256, network % 256);
            format!(
                "stead: 1\nstack: s-{number:04}\nvpc:\n  net-{number}: {{ cidr: 10.{high}.{low}.0/24 }}\n\
                 ssh_key:\n  k-{number}: {{ public_key: \"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGtD1m0Jt1pXcVb1cYc0oY2uJ4s8Zb3vQfV8sF3kXq5L\" }}\n\
                 volume:\n{volumes}outputs:\n  vpc: $vpc.net-{number}\n"
            )
        } else {
            format!(
                "stead: 1\nstack: s-{number:04}\nstacks:\n  net: ../s-{network:04}\n\
                 vm:\n  vm-{number}: {{ template: ubuntu-24.04, plan: std-1c-1g, vpc: $stacks.net.vpc }}\n\
                 backup_schedule:\n  b-{number}: {{ vm: $vm.vm-{number}, frequency: daily, hour: 3 }}\n\
                 volume:\n{volumes}"
            )
        };
        fs::write(stack.join("stead.yaml"), text).unwrap();
    }
    fs::write(root.join(".gitignore"), ".stead/\n").unwrap();
    git(root, "init -q -b main");
    commit(root);
}

fn commit(root: &Path) {
    git(root, "add -A");
    git(root, "-c user.name=b -c user.email=b@b commit -q -m changed");
}

fn git(root: &Path, args: &str) {
    assert!(Command::new("git").args(args.split(' ')).current_dir(root).status().unwrap().success());
}

/// A plan of all units without a change, against the same by one process for each stack.
pub fn plan_units() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("repository");
    write_repository(&root);
    let cloud = Emulator::start(&directory.path().join("cloud"), &["--no-limiter", "--speed", "5000"]);
    let environment = cloud.environment();
    let plan = run(STEAD, &["plan", "--all", "--output", "json"], &root, &environment);
    figure("plan of 1,000 new units: seconds", &format!("{:.1}", plan.wall), "");
    run(STEAD, &["apply", "--all", "--yes", "-q"], &root, &environment);
    // The pinned names of each stack.
    commit(&root);
    let (_, _, _, before) = cloud.since(0);
    let plan = run(STEAD, &["plan", "--all", "--exit-code", "-q"], &root, &environment);
    let (requests, _, changing, before) = cloud.since(before);
    assert_eq!(changing, 0, "a plan only reads");
    figure("no-change plan of 1,000 units: requests", &requests.to_string(), "<= 260");
    figure("no-change plan of 1,000 units: seconds", &format!("{:.1}", plan.wall), "<= 12");
    figure("no-change plan of 1,000 units: MiB", &format!("{:.0}", plan.memory), "<= 600");
    let mut wall = 0.0;
    for number in (0..UNITS).step_by(UNITS / SAMPLED) {
        let stack = root.join(format!("stacks/s-{number:04}"));
        wall += run(STEAD, &["plan", "--exit-code", "-q"], &stack, &environment).wall;
    }
    let (single, ..) = cloud.since(before);
    let scale = UNITS / SAMPLED;
    figure("a loop of single plans, from 20: requests", &(single * scale).to_string(), "");
    figure("a loop of single plans, from 20: seconds", &format!("{:.0}", wall * scale as f64), "");
    let ratio = (single * scale) as f64 / requests as f64;
    figure("requests of the loop over those of one plan", &format!("{ratio:.1}"), ">= 20");
    fs::write(root.join("stacks/s-0501/stead.yaml"), "stead: 1\nstack: s-0501\n").unwrap();
    let changed = run(STEAD, &["stacks", "--changed=main", "--output", "json"], &root, &environment);
    figure("stacks --changed over 1,000 units: seconds", &format!("{:.2}", changed.wall), "<= 1.5");
}
