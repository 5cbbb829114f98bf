//! Tests of the precedence of flags, variables and profiles, and invalid settings.

use super::*;

fn merge(flags: GlobalArgs, variables: &EnvVariables) -> Result<Settings, SettingsError> {
    super::merge(flags, variables, &Profiles::none("settings.toml"))
}

fn variables(given: &[(&str, &str)]) -> EnvVariables {
    given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn settings_without_flags_and_variables_have_defaults() {
    let settings = merge(GlobalArgs::default(), &EnvVariables::new()).unwrap();
    assert_eq!(settings.dir, PathBuf::from("."));
    assert_eq!((settings.output, settings.color), (OutputFormat::Text, ColorChoice::Auto));
    assert_eq!(settings.cloud, CloudEndpoint::Unset);
    assert!(!settings.no_input && !settings.ci && !settings.quiet && !settings.verbose);
}

#[test]
fn environment_variables_are_overridden_by_flags() {
    let given = variables(&[
        ("STEAD_ENV", "prod"),
        ("STEAD_DIR", "infra"),
        ("STEAD_OUTPUT", "json"),
        ("STEAD_COLOR", "never"),
        ("STEAD_PROJECT", "p1"),
        ("STEAD_BACKEND", "file:/x"),
        ("STEAD_VAR_Office", "203.0.113.0/24"),
        ("STEAD_VAR_FILE", "a.yaml"),
        ("STEAD_API_KEY", " key \n"),
        ("STEAD_VERBOSE", "1"),
        ("CI", "woodpecker"),
    ]);
    let settings = merge(GlobalArgs::default(), &given).unwrap();
    assert_eq!(settings.env.as_deref(), Some("prod"));
    assert_eq!(settings.dir, PathBuf::from("infra"));
    assert_eq!((settings.output, settings.color), (OutputFormat::Json, ColorChoice::Never));
    assert_eq!(settings.env_vars.keys().collect::<Vec<_>>(), ["office"]);
    assert_eq!(settings.var_files, [PathBuf::from("a.yaml")]);
    assert_eq!(settings.api_key, Some(Secret::new("key")));
    assert!(settings.ci && settings.no_input && settings.verbose);
    assert!(!settings.very_verbose);
    let levels = [("2", true, true), ("1", true, false), ("0", false, false)];
    for (text, verbose, very) in levels {
        let settings = merge(GlobalArgs::default(), &variables(&[("STEAD_VERBOSE", text)])).unwrap();
        assert_eq!((settings.verbose, settings.very_verbose), (verbose, very), "{text}");
    }
    let flags = GlobalArgs {
        env: Some("dev".into()),
        output: Some(OutputFormat::Text),
        var_files: vec!["b.yaml".into()],
        quiet: true,
        ..GlobalArgs::default()
    };
    let settings = merge(flags, &given).unwrap();
    assert_eq!(settings.env.as_deref(), Some("dev"));
    assert_eq!(settings.output, OutputFormat::Text);
    assert_eq!(settings.var_files, [PathBuf::from("b.yaml")]);
    assert!(settings.quiet && !settings.verbose);
    assert!(!format!("{settings:?}").contains("key "), "a key is never shown");
}

#[test]
fn flags_override_variables_and_variables_override_the_profile() {
    let profiles = Profiles::parse(
        "s.toml",
        "[profiles.work]\napi_url = 'https://p.example.com'\nenv = 'p'\nproject = 'p'\nbackend = 'p'\nca_file = 'p'\nkey_command = ['p']",
    )
    .unwrap();
    let get = |flags: GlobalArgs, given: &[(&str, &str)]| {
        let settings = super::merge(flags, &variables(given), &profiles).unwrap();
        let text = |name: Option<Name>| name.map(|name| name.to_string());
        let path = |path: Option<PathBuf>| path.map(|path| path.display().to_string());
        let CloudEndpoint::Remote(url) = settings.cloud else { return vec![] };
        vec![
            Some(url),
            text(settings.env),
            text(settings.project),
            settings.backend,
            path(settings.ca_file),
        ]
    };
    let some = |texts: [&str; 5]| texts.map(|text| Some(text.to_owned())).to_vec();
    let by_variables = [
        ("STEAD_PROFILE", "work"),
        ("STEAD_API_URL", "https://v.example.com"),
        ("STEAD_ENV", "v"),
        ("STEAD_PROJECT", "v"),
        ("STEAD_BACKEND", "v"),
        ("STEAD_CA_FILE", "v"),
    ];
    let flags = GlobalArgs {
        api_url: Some("https://f.example.com".to_owned()),
        env: Some("f".into()),
        project: Some("f".into()),
        ca_file: Some("f".into()),
        ..GlobalArgs::default()
    };
    let named = GlobalArgs { profile: Some("work".into()), ..GlobalArgs::default() };
    assert_eq!(get(named, &[]), some(["https://p.example.com", "p", "p", "p", "p"]));
    assert_eq!(
        get(GlobalArgs::default(), &by_variables[..1]),
        some(["https://p.example.com", "p", "p", "p", "p"])
    );
    assert_eq!(
        get(GlobalArgs::default(), &by_variables),
        some(["https://v.example.com", "v", "v", "v", "v"])
    );
    assert_eq!(get(flags, &by_variables), some(["https://f.example.com", "f", "f", "v", "f"]));
    assert!(get(GlobalArgs::default(), &[]).is_empty(), "no profile holds by itself but the default one");
    let none = super::merge(GlobalArgs::default(), &variables(&[("STEAD_PROFILE", "wrk")]), &profiles);
    assert!(none.unwrap_err().to_string().contains("did you mean `work`"));
}

#[test]
fn the_cloud_endpoint_is_selected_by_flags_variables_and_profile() {
    let at = |url: &str| CloudEndpoint::Remote(url.to_owned());
    let local = GlobalArgs { cloud: Some(CloudChoice::Local), ..GlobalArgs::default() };
    let url = GlobalArgs { api_url: Some("https://api.example.com/".into()), ..GlobalArgs::default() };
    let both = variables(&[("STEAD_CLOUD", "local"), ("STEAD_API_URL", "https://env.example.com")]);
    let only_url = variables(&[("STEAD_API_URL", "https://env.example.com")]);
    let table = [
        (local.clone(), &only_url, CloudEndpoint::Local),
        (url, &both, at("https://api.example.com")),
        (GlobalArgs::default(), &both, CloudEndpoint::Local),
        (GlobalArgs::default(), &only_url, at("https://env.example.com")),
    ];
    for (flags, variables, cloud) in table {
        assert_eq!(merge(flags, variables).unwrap().cloud, cloud);
    }
}

#[test]
fn a_key_is_sent_only_to_safe_addresses() {
    for url in ["https://a.example.com/base", "http://127.0.0.1:8377", "http://[::1]:1", "http://localhost"]
    {
        assert!(check_address(url).is_ok(), "{url}");
    }
    for url in [
        "http://example.com",
        "http://127.0.0.1.example.com",
        "http://localhost.example.com",
        "ftp://x",
        "api.example.com",
        "https://",
        "https://me:secret@example.com",
        "https:me:secret@example.com",
        "me:secret@example.com",
        "https://secret@example.com",
        "https://example.com?token=secret",
        "https://example.com#secret",
        "http://127.0.0.1@example.com",
        "https://example.com?x",
        "https://exa mple.com",
    ] {
        let error = check_address(url).unwrap_err().to_string();
        assert!(!error.contains("secret"), "{error}");
    }
}

#[test]
fn an_invalid_value_lists_the_valid_ones() {
    let error =
        |name, value| merge(GlobalArgs::default(), &variables(&[(name, value)])).unwrap_err().to_string();
    assert_eq!(error("STEAD_OUTPUT", "xml"), "STEAD_OUTPUT is `xml`; it can be text, json, ndjson");
    assert_eq!(error("STEAD_NO_INPUT", "maybe"), "STEAD_NO_INPUT is `maybe`; it can be 1 or 0");
    let twice = GlobalArgs {
        vars: vec![("a".into(), "1".into()), ("a".into(), "2".into())],
        ..GlobalArgs::default()
    };
    assert_eq!(merge(twice, &EnvVariables::new()).unwrap_err(), SettingsError::Twice("a".into()));
}
