//! A destroy of some resources of a stack: what stays keeps its outputs, and who reads those is not in the way.

use crate::case::Case;

const APP: &str = "stead: 1\nstack: app\nvpc: { n: { name: n, cidr: 10.7.0.0/16 } }\n\
    vm: { w: { name: w, template: ubuntu-24.04, plan: std-1c-1g } }\n\
    outputs: { ip: $vm.w.public_ipv4_address, net: $vpc.n, label: blue }\n";

fn with_reader(reads: &str) -> Case {
    let reader = format!(
        "stead: 1\nstack: job\nstacks: {{ app: ../app }}\n\
         volume: {{ v: {{ name: \"v-${{stacks.app.{reads} == '' ? 'a' : 'b'}}\", size: 10 }} }}\n"
    );
    let case = Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file("app/stead.yaml", APP)
        .file("job/stead.yaml", reader)
        .emulator();
    case.ok("-C app apply --yes");
    case.ok("-C job apply --yes");
    case
}

#[test]
fn an_excluded_resource_keeps_its_outputs_and_their_readers_do_not_block() {
    let case = with_reader("ip");
    let plan = case.ok("-C app plan --destroy --exclude vm.w");
    plan.says(&["- net", "delete"]);
    assert!(!plan.stdout.contains("- ip") && !plan.stdout.contains("- label"), "{}", plan.stdout);
    let lines = || case.ok("-C app output").stdout.lines().map(str::to_owned).collect::<Vec<_>>();
    let kept: Vec<String> =
        lines().into_iter().filter(|line| !line.trim_start().starts_with("net")).collect();
    assert_eq!(kept.len() + 1, lines().len());
    case.ok("-C app destroy --exclude vm.w --yes --confirm app");
    let squeeze = |lines: Vec<String>| -> Vec<String> {
        lines.iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    };
    assert_eq!(squeeze(lines()), squeeze(kept));
    assert_eq!((case.cloud().list("/api/v1/vms").len(), case.cloud().list("/api/v1/vpcs").len()), (1, 0));
    // Everything else goes with the last resource.
    case.ok("-C job destroy --yes --confirm job");
    case.ok("-C app destroy --yes --confirm app");
    assert_eq!(case.cloud().list("/api/v1/vms").len(), 0);
}

#[test]
fn the_reader_of_an_output_that_goes_blocks_and_the_remedy_deletes_no_more() {
    let case = with_reader("net");
    let plan = case.fails(4, "-C app plan --destroy --exclude vm.w");
    plan.says(&[
        "outside_reader",
        "job/default has 1 object and reads outputs",
        "destroy the reader first",
    ]);
    let words = plan.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, rest) = words.split_once("destroy the reader first: stead ").unwrap();
    let command = rest.split(". ").next().unwrap().split(" COST").next().unwrap().trim_end_matches('.');
    assert_eq!(command, "-C app destroy --all --stacks job/default");
    let root = case.path("").file_name().unwrap().to_string_lossy().into_owned();
    case.ok(&format!("{command} --yes --confirm {root}"));
    assert_eq!(case.cloud().list("/api/v1/vms").len(), 1);
    case.ok("-C app destroy --exclude vm.w --yes --confirm app");
    assert_eq!((case.cloud().list("/api/v1/vms").len(), case.cloud().list("/api/v1/vpcs").len()), (1, 0));
}
