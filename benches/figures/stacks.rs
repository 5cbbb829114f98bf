//! Stacks of any size: the same shape at every size, with references between the layers.

use std::fmt::Write;

use tempfile::TempDir;

/// The binary that is measured.
pub const STEAD: &str = env!("CARGO_BIN_EXE_stead");

/// How many of each kind a stack of `n` resources has: VPCs, VMs, volumes, schedules (and 1 project).
pub fn counts(n: usize) -> [usize; 4] {
    // No list of 1,000 objects ends exactly with a page of 100: each that does costs a request more.
    let vpcs = (n * 49 / 1_000).max(1);
    let schedules = n * 9 / 100;
    let volumes = n * 39 / 100;
    [vpcs, n - 1 - vpcs - schedules - volumes, volumes, schedules]
}

/// A stack of `n` resources as YAML.
pub fn yaml(n: usize) -> String {
    let [vpcs, vms, volumes, schedules] = counts(n);
    let mut text = String::from("stead: 1\nstack: bench\nproject:\n  bench: { name: bench }\nvpc:\n");
    for i in 0..vpcs {
        writeln!(text, "  net-{i}:\n    cidr: 10.{}.{}.0/24", i / 256, i % 256).unwrap();
    }
    text += "vm:\n";
    for i in 0..vms {
        writeln!(
            text,
            "  vm-{i}:\n    template: ubuntu-24.04\n    plan: std-1c-1g\n    vpc: $vpc.net-{}\n    console_require_mfa: false",
            i % vpcs
        )
        .unwrap();
    }
    text += "volume:\n";
    for i in 0..volumes {
        writeln!(text, "  disk-{i}:\n    size: {}\n    vm: $vm.vm-{}", 10 + i % 90, i % vms).unwrap();
    }
    text += "backup_schedule:\n";
    for i in 0..schedules {
        writeln!(text, "  daily-{i}:\n    vm: $vm.vm-{i}\n    frequency: daily\n    hour: {}", i % 24)
            .unwrap();
    }
    text
}

/// The same stack as KDL.
pub fn kdl(n: usize) -> String {
    let [vpcs, vms, volumes, schedules] = counts(n);
    let mut text = String::from("stead 1\nstack bench\nproject bench name=bench\n");
    for i in 0..vpcs {
        writeln!(text, "vpc net-{i} cidr=\"10.{}.{}.0/24\"", i / 256, i % 256).unwrap();
    }
    for i in 0..vms {
        writeln!(
            text,
            "vm vm-{i} template=ubuntu-24.04 plan=std-1c-1g vpc=$vpc.net-{} {{\n  console_require_mfa #false\n}}",
            i % vpcs
        )
        .unwrap();
    }
    for i in 0..volumes {
        writeln!(text, "volume disk-{i} size={} vm=$vm.vm-{}", 10 + i % 90, i % vms).unwrap();
    }
    for i in 0..schedules {
        writeln!(text, "backup_schedule daily-{i} vm=$vm.vm-{i} frequency=daily hour={}", i % 24).unwrap();
    }
    text
}

/// A stack whose objects lists show whole: what a plan of many live objects reads.
pub fn listed_yaml(n: usize) -> String {
    yaml(n).replace("\n    console_require_mfa: false", "")
}

/// A folder with as many `terraform_data` of the same shape, when Terraform is on the PATH.
pub fn terraform(n: usize) -> Option<TempDir> {
    std::process::Command::new("terraform").arg("version").output().ok()?;
    let [vpcs, vms, volumes, schedules] = counts(n);
    let mut text = String::new();
    let mut block = |name: String, input: String| {
        writeln!(text, "resource \"terraform_data\" \"{name}\" {{\n  input = {{\n{input}  }}\n}}").unwrap();
    };
    block("bench".into(), "    name = \"bench\"\n".into());
    for i in 0..vpcs {
        block(
            format!("net_{i}"),
            format!("    name = \"net-{i}\"\n    cidr = \"10.{}.{}.0/24\"\n", i / 256, i % 256),
        );
    }
    for i in 0..vms {
        let vpc = i % vpcs;
        block(
            format!("vm_{i}"),
            format!(
                "    name = \"vm-{i}\"\n    template = \"ubuntu-24.04\"\n    plan = \"std-1c-1g\"\n    vpc = terraform_data.net_{vpc}.id\n"
            ),
        );
    }
    for i in 0..volumes {
        let vm = i % vms;
        block(
            format!("disk_{i}"),
            format!(
                "    name = \"disk-{i}\"\n    size = {}\n    vm = terraform_data.vm_{vm}.id\n",
                10 + i % 90
            ),
        );
    }
    for i in 0..schedules {
        block(
            format!("daily_{i}"),
            format!(
                "    vm = terraform_data.vm_{i}.id\n    frequency = \"daily\"\n    hour = {}\n",
                i % 24
            ),
        );
    }
    let folder = tempfile::tempdir().ok()?;
    std::fs::write(folder.path().join("main.tf"), text).unwrap();
    let init = std::process::Command::new("terraform")
        .args(["init", "-no-color", "-input=false"])
        .current_dir(folder.path())
        .output()
        .ok()?;
    init.status.success().then_some(folder)
}
