//! Values computed from a secret: no plan, comparison of plans or output reveals them.

use crate::case::{Case, Run};

/// Returns a stack with attributes that are computed from a secret.
fn stack(user_data: &str) -> String {
    format!(
        "stead: 1\nstack: web\nvars: {{ s: {{ type: secret }} }}\nvpc: {{ main: {{ cidr: 10.0.0.0/16 }} }}\n\
         app:\n  web:\n    type: web\n    repo: acme/web\n    branch: main\n    port: 8080\n    env_vars: {{ HOOK: {user_data} }}\n"
    )
}

fn with_secret(case: &Case, secret: &str, args: &str) -> Run {
    let mut command = case.command(args);
    command.env("STEAD_VAR_S", secret);
    Run::of(&command.output().unwrap())
}

/// Applies a first version, so that there is a ledger with a key.
fn applied(value: &str) -> Case {
    let case = Case::new().file("web.stead.yaml", stack(value)).emulator();
    let run = with_secret(&case, "Hunter2", "apply --yes");
    assert_eq!(run.code, 0, "{}", run.all());
    case
}

/// Returns the fingerprint of a plan, and the rest of its document that depends on the values.
fn planned(case: &Case, value: &str) -> (String, String) {
    case.write("web.stead.yaml", stack(value));
    let run = with_secret(case, "Hunter2", "plan --output json");
    assert_eq!(run.code, 0, "{}", run.all());
    let json = run.json();
    (json["fingerprint"].as_str().unwrap().to_owned(), json["summary"].to_string())
}

#[test]
fn a_plan_does_not_reveal_whether_a_guess_of_a_secret_is_right() {
    let case = applied("'${vars.s}'");
    let guesses = [
        "\"${vars.s == 'Hunter2' ? 'y' : 'n'}\"",
        "\"${vars.s == 'nope' ? 'y' : 'n'}\"",
        "\"${vars.s == vars.s ? 'y' : 'n'}\"",
    ];
    let plans = guesses.map(|guess| planned(&case, guess));
    assert!(plans[0].0 != plans[1].0 && plans[1].0 != plans[2].0 && plans[0].0 != plans[2].0, "{plans:?}");
    assert!(plans.iter().all(|(_, summary)| *summary == plans[0].1), "{plans:?}");
}

#[test]
fn only_an_unchanged_expression_yields_no_changes() {
    // Its value is that of the secret, which is in use: only for the right guess.
    let case = applied("$vars.s");
    for guess in ["\"${vars.s == 'Hunter2' ? vars.s : 'n'}\"", "\"${vars.s == 'nope' ? vars.s : 'n'}\""] {
        let (_, summary) = planned(&case, guess);
        assert!(summary.contains("\"update\":1"), "{guess}: {summary}");
    }
    // And back, when the expression was applied and its value is guessed.
    let case = applied("\"${vars.s == 'Hunter2' ? 'y' : 'n'}\"");
    for guess in ["y", "n", "$vars.s"] {
        let (_, summary) = planned(&case, guess);
        assert!(summary.contains("\"update\":1"), "{guess}: {summary}");
    }
    let again = with_secret(&applied("\"${vars.s == 'Hunter2' ? 'y' : 'n'}\""), "Hunter2", "plan");
    assert!(again.stdout.starts_with("No changes"), "{}", again.all());
}

#[test]
fn a_changed_live_value_is_still_noticed() {
    let case = applied("'x-${vars.s}'");
    let app = case.cloud().list("/api/v1/apps/services").remove(0);
    let env_vars = serde_json::json!({ "env_vars": { "HOOK": "somebody else's" } });
    case.cloud().mutate("app", app["id"].as_str().unwrap(), &env_vars);
    let run = with_secret(&case, "Hunter2", "drift --exit-code");
    assert_eq!(run.code, 3, "{}", run.all());
    run.says(&["env_vars.HOOK"]);
    assert!(!run.all().contains("somebody"), "{}", run.all());
}

#[test]
fn printed_keys_and_lengths_do_not_depend_on_a_secret() {
    let case = Case::new().emulator();
    let text = |value: &str| stack("x").replace("env_vars: { HOOK: x }", &format!("env_vars: {value}"));
    let shown = |value: &str, secret: &str| {
        case.write("web.stead.yaml", text(value));
        let run = with_secret(&case, secret, "plan");
        assert_eq!(run.code, 0, "{}", run.all());
        // The first line has the time that the reading took.
        run.stdout.split_once('\n').unwrap().1.to_owned()
    };
    for value in [
        "\"${vars.s == 'Hunter2' ? {'YES': ''} : {}}\"",
        "\"${vars.s == 'Hunter2' ? {'YES': 'a', 'MORE': 'b'} : {'NO': 'c'}}\"",
        "\"${{vars.s: 'x'}}\"",
    ] {
        let (right, wrong) = (shown(value, "Hunter2"), shown(value, "other"));
        assert_eq!(right, wrong, "{value}");
        assert!(!right.contains("YES") && !right.contains("Hunter2"), "{right}");
    }
}

#[test]
fn an_output_does_not_reveal_a_secret() {
    let digits = "['0','1','2','3','4','5','6','7','8','9','a','e','n','r','t','u','H','z']";
    let output = format!("\"${{vars.s.split('').map(c, {digits}.filter(x, x <= c))}}\"");
    let case = Case::new().emulator();
    let mut seen = Vec::new();
    for secret in ["Hunter2", "other"] {
        case.write("web.stead.yaml", format!("{}outputs: {{ o: {output} }}\n", stack("x")));
        let run = with_secret(&case, secret, "plan --output json");
        assert_eq!(run.code, 0, "{}", run.all());
        seen.push(run.json()["outputs"].clone());
    }
    assert_eq!(seen[0], seen[1]);
}

#[test]
fn the_error_does_not_reveal_which_of_many_expressions_fails() {
    let case = Case::new();
    let text = |guesses: [&str; 3]| {
        let outputs: Vec<String> = guesses
            .iter()
            .enumerate()
            .map(|(n, guess)| format!("  o{n}: \"${{1 / (vars.s == '{guess}' ? 0 : 1)}}\"\n"))
            .collect();
        format!("{}outputs:\n{}", stack("x"), outputs.concat())
    };
    let mut seen = Vec::new();
    for guesses in [["Hunter2", "b", "c"], ["a", "Hunter2", "c"], ["a", "b", "Hunter2"]] {
        case.write("web.stead.yaml", text(guesses));
        let run = with_secret(&case, "Hunter2", "validate --output json");
        assert_eq!(run.code, 1, "{}", run.all());
        seen.push(run.stdout);
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[1], seen[2]);
}

#[test]
fn a_policy_is_not_evaluated_on_a_secret() {
    let policy = "policy: { p: { on: app, deny: \"${self.env_vars.HOOK == 'Hunter2'}\", message: M } }\n";
    let case = Case::new().file("web.stead.yaml", format!("{}{policy}", stack("$vars.s"))).emulator();
    let seen = ["Hunter2", "other"].map(|secret| {
        let run = with_secret(&case, secret, "plan");
        (run.code, run.stdout.split_once('\n').unwrap().1.to_owned())
    });
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[0].0, 4, "{seen:?}");
}

#[test]
fn recording_an_equivalent_expression_requires_the_secret() {
    let case = applied("'x-${vars.s}'");
    let same = |secret: &str| with_secret(&case, secret, "secret same app.web.env_vars");
    case.write("web.stead.yaml", stack("\"${'x-' + vars.s}\""));
    with_secret(&case, "Hunter2", "plan").says(&["~ app.web"]);
    let before = case.cloud().last();
    let run = same("Hunter2");
    assert_eq!(run.code, 0, "{}", run.all());
    run.says(&["Recorded the expression of app.web.env_vars"]);
    with_secret(&case, "Hunter2", "plan").says(&["No changes"]);
    assert_eq!(case.cloud().mutations_since(before), Vec::<String>::new());
    let run = same("Hunter2");
    assert_eq!(run.code, 1, "{}", run.all());
    run.says(&["the ledger has this expression already"]);
    // Somebody else's change of the live value is still noticed.
    let app = case.cloud().list("/api/v1/apps/services").remove(0);
    let hand = serde_json::json!({ "env_vars": { "HOOK": "by hand" } });
    case.cloud().mutate("app", app["id"].as_str().unwrap(), &hand);
    assert_eq!(with_secret(&case, "Hunter2", "drift --exit-code").code, 3);
    // Another value is not recorded, and neither is one that cannot be read.
    for (value, secret, why) in [
        ("\"${'y-' + vars.s}\"", "Hunter2", "its value differs from the last applied one"),
        ("\"${'x-' + vars.s + ''}\"", "Hunter3", "its value differs from the last applied one"),
        ("x-Hunter2", "Hunter2", "it is not computed from a secret"),
    ] {
        case.write("web.stead.yaml", stack(value));
        let run = same(secret);
        assert_eq!(run.code, 1, "{value}: {}", run.all());
        run.says(&[why]);
        with_secret(&case, secret, "plan").says(&["~ app.web"]);
    }
    for (args, says) in [
        ("secret same app.wbe.env_vars", "did you mean app.web"),
        ("secret same app.web.env_var", "Did you mean `env_vars`"),
        ("secret same web", "expected ADDRESS.ATTRIBUTE"),
    ] {
        let run = with_secret(&case, "Hunter2", args);
        assert_eq!(run.code, 64, "{args}: {}", run.all());
        run.says(&[says]);
    }
}
