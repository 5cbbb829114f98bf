//! What `--yes` approves for many stacks: one environment, and only the kinds of change that it names.

use crate::case::Case;

fn volume(stack: &str, size: u32) -> String {
    format!("stead: 1\nstack: {stack}\nvolume: {{ data: {{ name: {stack}-data, size: {size} }} }}\n")
}

fn network(cidr: &str) -> String {
    format!("stead: 1\nstack: net\nvpc: {{ main: {{ cidr: {cidr} }} }}\n")
}

#[test]
fn an_approval_of_some_kinds_of_change_covers_no_others_in_any_unit() {
    let case = Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file("net/stead.yaml", network("10.1.0.0/16"))
        .file("one/stead.yaml", volume("one", 20))
        .file("two/stead.yaml", volume("two", 20))
        .emulator();
    let refused = |command: &str, first: &str, action: &str| {
        let before = case.cloud().last();
        case.fails(4, command).says(&[
            &format!("--yes does not cover the {first}; nothing was applied"),
            &format!("Add `{action}` to --yes"),
        ]);
        let sent = case.cloud().requests().into_iter().filter(|(number, ..)| *number > before);
        assert!(
            sent.map(|(_, request, _)| request).all(|request| request.starts_with("GET ")),
            "{command}"
        );
    };
    refused("apply --all --yes=update", "create of vpc.main of net/default", "create");
    case.ok("apply --all --yes=create").says(&["3 applied"]);
    // One unit creates, and another one updates: neither is applied.
    case.write("one/stead.yaml", volume("one", 20) + "vpc: { more: { cidr: 10.9.0.0/16 } }\n");
    case.write("two/stead.yaml", volume("two", 30));
    refused("apply --all --yes=create", "update of volume.data of two/default", "update");
    case.ok("apply --all --yes=create,update").says(&["2 applied"]);
    case.write("net/stead.yaml", network("10.2.0.0/16"));
    refused("apply --all --yes=create,update", "replace of vpc.main of net/default", "replace");
    case.ok("apply --all --yes=replace").says(&["1 applied"]);
}
