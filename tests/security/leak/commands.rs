//! Every command of the binary, as the leak harness runs it.

use crate::case::Case;

/// Any exit code.
pub const ANY: i32 = -1;

/// Command lines with their exit codes, on a stack that was applied. Commands that change the stack are after those
/// that only read.
pub const RUNS: &[(i32, &str)] = &[
    (0, "validate"),
    (0, "validate --report sarif=out/v.sarif --report junit=out/v.xml --report json=out/v.json"),
    (0, "fmt small.yaml"),
    (0, "render"),
    (0, "eval vars.by_env"),
    (0, "eval vars.by_file+vars.in_file"),
    (0, "explain vm.user_data"),
    (0, "docs first-stack"),
    (0, "docs secret"),
    (0, "graph"),
    (0, "why vm.web"),
    (0, "why app.web"),
    (0, "plan -v"),
    (0, "plan -vv"),
    (0, "plan --destroy -v"),
    (0, "plan -o out/saved.plan"),
    (0, "show out/saved.plan -v"),
    (0, "drift -v"),
    (0, "stacks"),
    (ANY, "runs"),
    (ANY, "runs show 4711"),
    (ANY, "runs cancel 4711"),
    (ANY, "runs dead 4711 5f0c2b1e --yes"),
    (ANY, "validate --all"),
    (ANY, "plan --all -v --report md=out/all.md --report sarif=out/all.sarif --report json=out/all.json"),
    (ANY, "plan --all -o out/set"),
    (ANY, "plan --all -v --report html=out/all.html --report prom=out/all.prom --output ndjson"),
    (
        ANY,
        "drift --all -v --report html=out/drift.html --report md=out/drift.md --report prom=out/drift.prom",
    ),
    (ANY, "drift --all --output json"),
    (ANY, "ls --all -o wide"),
    (ANY, "ls --all --output json"),
    (ANY, "cost --all -v"),
    (ANY, "cost --all --offline --output json"),
    (ANY, "fmt --all --check --diff"),
    (ANY, "test --all --output json"),
    (0, "stacks --graph svg"),
    (0, "ls -o wide"),
    (0, "ls --unmanaged"),
    (0, "get vm.web"),
    (0, "get app.web -v"),
    (0, "get database.shop.users.app"),
    (0, "get api_key.ci"),
    (ANY, "resolve"),
    (0, "whoami"),
    (ANY, "doctor"),
    (0, "catalog vm"),
    (ANY, "catalog update --check"),
    (0, "cost"),
    (ANY, "do connection database.shop"),
    (0, "do password database.shop.users.app"),
    (0, "do engines"),
    (0, "do deployments app.web"),
    (0, "do redeploy app.web --yes"),
    (0, "do reboot vm.web --yes"),
    (0, "output"),
    (ANY, "output --show"),
    (ANY, "output --all"),
    (0, "plan --report tfjson=out/plans/ --report prom=out/plan.prom"),
    (0, "history"),
    (0, "history show 1"),
    (0, "lock status"),
    (0, "state list -v"),
    (0, "state pull"),
    (ANY, "state verify"),
    (ANY, "state seal --yes"),
    (ANY, "state adopt-directory --yes"),
    (ANY, "do delete volume gone --confirm gone"),
    (0, "secret keygen --out out/identity"),
    (0, "secret get"),
    (ANY, "secret set vars.made"),
    (ANY, "secret same app.web.env_vars"),
    (ANY, "secret rekey --yes"),
    (0, "schema openapi"),
    (0, "completions bash"),
    (0, "man"),
    (0, "__complete 2 stead get vm."),
    (0, "version"),
    (ANY, "test"),
    (ANY, "import --all --observe"),
    (0, "ci init github"),
];

/// Commands that change the stack or destroy it, in this order.
pub const LAST: &[(i32, &str)] = &[
    (0, "apply --yes -v"),
    (ANY, "secret rotate vars.made --yes"),
    (ANY, "state repair"),
    (ANY, "lock break --reason stuck --yes"),
    (0, "mv vm.web vm.site --yes"),
    (0, "apply --yes"),
    (0, "rm app.web --keep --yes"),
    (0, "apply --yes"),
    (0, "login --key-stdin"),
    (0, "logout"),
    (0, "destroy --yes --confirm leak"),
    (0, "init fresh"),
    (0, "convert small.yaml"),
];

/// Commands that another test covers, and which.
const ELSEWHERE: &[(&str, &str)] = &[
    ("lsp", "leak: the language server"),
    ("emulator", "every case: the emulator is such a process"),
    ("recover", "leak: a lost ledger"),
    ("resolve adopt", "tests/cli/questions.rs: it needs a question"),
    ("resolve absent", "tests/cli/questions.rs"),
    ("resolve forget", "tests/cli/questions.rs"),
    ("resolve surplus", "tests/cli/questions.rs"),
    ("ci comment", "tests/cli/ci.rs: the reports that it posts are among those here"),
    ("ci reviewed", "tests/cli/ci.rs"),
    ("ci hook", "no secret, stack or service"),
    ("state push", "its input is the output of `state pull`"),
    ("state migrate", "tests/cli/canary.rs: addresses with passwords"),
    ("help", "no secret, stack or service"),
];

/// Returns the commands of the binary, by its own help: `state pull`, not `state`.
pub fn all() -> Vec<String> {
    let mut found = Vec::new();
    for name in listed("") {
        // An action of the service has a help of its own, made of the tables.
        let below = if matches!(&*name, "help" | "do") { Vec::new() } else { listed(&name) };
        let below: Vec<_> = below.into_iter().filter(|below| below != "help").collect();
        if below.is_empty() || name == "history" || name == "catalog" {
            found.push(name.clone());
        }
        found.extend(below.iter().map(|below| format!("{name} {below}")));
    }
    found
}

fn listed(command: &str) -> Vec<String> {
    let help = Case::new().run(&format!("{command} --help"));
    let lines = help.stdout.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    // A line that goes on is further in.
    let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect()
}

/// Returns whether a command is run here or covered elsewhere.
pub fn is_covered(command: &str) -> bool {
    let is_of = |args: &str| args == command || args.starts_with(&format!("{command} "));
    RUNS.iter().chain(LAST).any(|(_, args)| is_of(args))
        || ELSEWHERE.iter().any(|(known, _)| *known == command)
}
