//! The commands that the message of a denial names: each is run as it was printed, and overrides the policies.

use crate::case::{Case, Run};

const STACK: &str = "\
stead: 1
stack: STACK
environments: { dev: {}, prod: {} }
volume: { data: { name: \"STACK-${env}\", size: 20, lifecycle: { on_remove: delete } } }
policy:
  small: { on: volume, deny: \"${self.size > 15}\", message: Volumes are small. }
  kept: { on: volume, deny: \"${self.action == 'delete'}\", message: Volumes stay. }
";

fn repository() -> Case {
    let case = Case::new().file(".git/HEAD", "ref: refs/heads/main\n").emulator();
    case.file("a/stead.yaml", STACK.replace("STACK", "a"))
}

/// Returns the command of the remedy in a message, without the program and with a reason that has no blank.
fn remedy(run: &Run) -> String {
    let all = run.all();
    let lines: Vec<&str> = all.lines().map(|line| line.trim_matches([' ', '│'])).collect();
    let text = lines.join(" ");
    let (_, rest) = text.split_once(", or: stead ").unwrap_or_else(|| panic!("no remedy in {all}"));
    let (command, _) = rest.split_once(" (recorded)").or_else(|| rest.split_once("(recorded)")).unwrap();
    let words: Vec<&str> = command.split_whitespace().collect();
    words.join(" ").replace("\"...\"", "agreed")
}

#[test]
fn a_denied_stack_is_applied_by_the_command_that_the_message_names() {
    let case = repository();
    let denied = case.fails(4, "-C a -e prod plan --target volume.data");
    let command = remedy(&denied);
    assert_eq!(command, "-C a -e prod apply --target volume.data --override small --reason agreed");
    assert_eq!(
        remedy(&case.fails(1, "-C a validate -e prod")),
        "-C a -e prod apply --override small --reason agreed"
    );
    let any = remedy(&case.fails(1, "-C a validate"));
    assert!(any == "-C a -e dev apply --override small --reason agreed", "{any}");
    assert_eq!(remedy(&case.fails(4, "-C a -e prod apply --target volume.data --yes")), command);
    case.ok(&format!("{command} --yes"));
    let denied = case.fails(4, "-C a -e prod destroy --yes --confirm a");
    let command = remedy(&denied);
    assert_eq!(command, "-C a -e prod destroy --override kept --reason agreed");
    assert_eq!(remedy(&case.fails(4, "-C a -e prod plan --destroy")), command);
    case.ok(&format!("{command} --yes --confirm a")).says(&["Destroyed"]);
}

#[test]
fn a_denied_saved_plan_is_applied_by_the_command_that_the_message_names() {
    let case = repository();
    case.fails(4, "-C a -e prod plan -o held.plan");
    // The remedies of the plan and of its apply differ, and that is no new blocker.
    let command = remedy(&case.fails(4, "-C a -e prod apply held.plan"));
    assert_eq!(command, "-C a -e prod apply held.plan --override small --reason agreed");
    case.ok(&command).says(&["Applied: 1 done"]);
}

#[test]
fn denied_units_are_applied_by_the_command_that_the_message_names() {
    let case =
        repository().file("b/stead.yaml", STACK.replace("STACK", "b").replace("size: 20", "size: 5"));
    let denied = case.fails(4, "plan --all --stacks a -e dev");
    let command = remedy(&denied);
    assert_eq!(command, "-e dev apply --all --stacks a --override small --reason agreed");
    case.ok(&format!("{command} --yes")).says(&["1 applied"]);
    let root = case.path("").file_name().unwrap().to_string_lossy().into_owned();
    let denied = case.fails(4, &format!("destroy --all -e dev --yes --confirm {root}"));
    let command = remedy(&denied);
    assert_eq!(command, "-e dev destroy --all --override kept --reason agreed");
    case.ok(&format!("{command} --yes --confirm {root}"));
    assert!(case.cloud().list("/api/v1/volumes").is_empty());
    // A saved set: its own directory is the command.
    case.fails(4, "plan --all -o plans");
}

#[test]
fn each_form_of_a_denial_has_its_level_and_its_remedy() {
    let case = repository();
    case.edit("a/stead.yaml", "kept: { on", "fixed: { on: volume, level: mandatory, deny: \"${self.size > 18}\", message: Never. }\n  kept: { on");
    let reports = "--report md=a.md --report html=a.html --report sarif=a.sarif --report junit=a.xml --report codequality=a.json";
    case.fails(4, &format!("-C a -e dev plan {reports}"));
    let lifted = "stead -C a -e dev apply --override small";
    for file in ["a.md", "a.html", "a.sarif", "a.xml", "a.json"] {
        let text = std::fs::read_to_string(case.path(file)).unwrap();
        for words in ["overridable", "mandatory", "nothing overrides it", lifted] {
            assert!(text.contains(words), "{file}: {words}\n{text}");
        }
    }
}
