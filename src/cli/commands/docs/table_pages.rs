//! Reference pages of the program's smaller tables: exit codes, settings, stores, report formats, limits and the
//! emulator's control calls.

use super::limit_rows::LIMITS;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::settings::rows::{SETTINGS, SettingRow, UNIT_RULE_KEYS};
use crate::emulator::control::CONTROL_CALLS;
use crate::guide::document::{
    Block, CodeBlock, Definition, ExampleKind, Inline, PageContent, parse_backticks,
};
use crate::guide::library::Page;
use crate::ledger::stores::location::FORMS;
use crate::report::review::ReviewFormat;

/// Returns the pages of all tables.
pub(super) fn table_pages() -> Vec<Page> {
    vec![exit_code_page(), setting_page(), store_page(), format_page(), limit_page(), control_page()]
}

fn page(address: &str, title: &str, summary: &str, keywords: &str, blocks: Vec<Block>) -> Page {
    let document = PageContent {
        title: title.to_owned(),
        summary: parse_backticks(summary),
        keywords: keywords.to_owned(),
        blocks,
    };
    Page::derived(address, document)
}

fn cell(text: &str) -> Vec<Inline> {
    parse_backticks(text)
}

fn code_cell(text: Option<String>) -> Vec<Inline> {
    text.map(Inline::Code).into_iter().collect()
}

fn exit_code_page() -> Page {
    let mut rows: Vec<_> = Exit::ALL
        .iter()
        .map(|exit| {
            vec![code_cell(Some(exit.code().to_string())), cell(exit.meaning()), cell(exit.guidance())]
        })
        .collect();
    rows.push(vec![cell("1 to 255"), cell(Exit::Job(1).meaning()), cell(Exit::Job(1).guidance())]);
    let head = vec![cell("Code"), cell("Meaning"), cell("When, and what to do")];
    page(
        "reference/exit-codes",
        "Exit codes",
        "The exit codes of all commands. They are a stable interface for scripts.",
        "exit code status return value script mean",
        vec![
            Block::Table { head, rows },
            Block::Paragraph(vec![
                Inline::text("With "),
                Inline::code("--output json"),
                Inline::text(", a command that fails prints a document with the key "),
                Inline::code("exit"),
                Inline::text(". How the codes of a pipeline fit together: "),
                Inline::link("how-to/review-in-ci", "Review changes in CI"),
                Inline::text("."),
            ]),
        ],
    )
}

fn setting_page() -> Page {
    let table = |rows: Vec<&SettingRow>| {
        let row = |row: &SettingRow| {
            let variable = row.variable.map(|name| match name {
                "STEAD_VAR_" => "STEAD_VAR_name".to_owned(),
                name => name.to_owned(),
            });
            vec![
                code_cell(row.flag.map(|flag| format!("--{flag}"))),
                code_cell(variable),
                code_cell(row.key.map(str::to_owned)),
                cell(row.text),
            ]
        };
        Block::Table {
            head: vec![cell("Flag"), cell("Variable"), cell("Key"), cell("What it sets")],
            rows: rows.into_iter().map(row).collect(),
        }
    };
    let example = "[profiles.default]\napi_url = \"https://api.example.com\"\nbackend = \"s3://ledgers/team\"\n\
        key_command = [\"pass\", \"show\", \"stead/key\"]\n\n[profiles.default.sources]\n\
        vault = [\"vault\", \"kv\", \"get\", \"-field=value\", \"secret/shop\"]\n\n[profiles.default.sinks]\n\
        vault = { command = [\"sh\", \"-c\", \"vault kv put secret/$STEAD_STACK/$STEAD_ADDRESS value=-\"], env = [\"VAULT_TOKEN\"] }";
    let mut blocks = vec![
        table(SETTINGS.iter().collect()),
        Block::heading(2, "settings.toml"),
        Block::Paragraph(cell(
            "The user's own file, `~/.config/stead/settings.toml`. It has profiles, which `-p` chooses. stead never reads settings from the files of a stack: they name the host that gets the API key, and programs to run. An unknown key is an error.",
        )),
        Block::Code(CodeBlock {
            language: "toml".to_owned(),
            file: Some("~/.config/stead/settings.toml".to_owned()),
            text: example.to_owned(),
            kind: ExampleKind::Plain,
        }),
    ];
    blocks.extend(unit_profile_blocks());
    blocks.extend([
        Block::heading(2, "Variables of other programs"),
        Block::Paragraph(cell(
            "`CI=true` disables prompts and animation. `NO_COLOR` and `TERM=dumb` disable colors. `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` configure a proxy; `SSL_CERT_FILE` and `SSL_CERT_DIR` the trusted authorities; `XDG_CONFIG_HOME`, `XDG_STATE_HOME` and `HOME` the user's directories; `KUBECONFIG` the file of `stead do kubeconfig --merge`; `GITHUB_TOKEN` or `GITLAB_TOKEN` the access of `stead ci`.",
        )),
    ]);
    page(
        "reference/settings",
        "Settings and environment variables",
        "Settings that do not belong to one command: flag, environment variable and key of `settings.toml`. A flag takes precedence over a variable, a variable over the profile.",
        "configuration profile settings.toml environment variables keys",
        blocks,
    )
}

/// The section about the profiles of units.
fn unit_profile_blocks() -> Vec<Block> {
    vec![
        Block::heading(2, "Profiles of units"),
        Block::Paragraph(vec![
            Inline::code("[[units]]"),
            Inline::text(" in the same file gives units a profile, for commands on one stack and with "),
            Inline::code("--all"),
            Inline::text(". The first rule that matches a unit counts. A profile that "),
            Inline::code("-p"),
            Inline::text(" or "),
            Inline::code("STEAD_PROFILE"),
            Inline::text(" names is used for all units. See "),
            Inline::link("how-to/many-stacks", "Plan and apply many stacks together"),
            Inline::text("."),
        ]),
        Block::Table {
            head: vec![cell("Key"), cell("Value")],
            rows: UNIT_RULE_KEYS
                .iter()
                .map(|(key, text)| vec![code_cell(Some((*key).to_owned())), cell(text)])
                .collect(),
        },
        Block::Code(CodeBlock {
            language: "toml".to_owned(),
            file: Some("~/.config/stead/settings.toml".to_owned()),
            text: "[profiles.prod]\nbackend = \"s3://ledgers-of-prod/infra\"\n\n[[units]]\nmatch = \"*/prod\"\nprofile = \"prod\""
                .to_owned(),
            kind: ExampleKind::Plain,
        }),
    ]
}

fn store_page() -> Page {
    let mut blocks = Vec::new();
    for form in FORMS {
        blocks.push(Block::Heading {
            level: 2,
            text: vec![Inline::code(form.pattern)],
            anchor: form.schemes.first().copied().unwrap_or_default().to_owned(),
        });
        blocks.push(Block::paragraph(form.summary));
        blocks.push(Block::paragraph(&format!("Needs: {}", form.needs)));
    }
    blocks.push(Block::Paragraph(vec![
        Inline::text("How to set one up: "),
        Inline::link("how-to/share-a-ledger", "Share a ledger in a team"),
        Inline::text("."),
    ]));
    page(
        "reference/stores",
        "Ledger stores",
        "The forms of `--backend`, `STEAD_BACKEND` and the key `backend`, and what each store needs.",
        "backend state storage lock",
        blocks,
    )
}

fn format_page() -> Page {
    let yes = |is: bool| cell(if is { "yes" } else { "no" });
    let row = |format: &ReviewFormat| {
        let has_problems = ReviewFormat::for_diagnostics().any(|other| other == *format);
        vec![
            code_cell(Some(format.name().to_owned())),
            cell(format.summary()),
            yes(format.has_outcome()),
            yes(has_problems),
        ]
    };
    let head = vec![
        cell("Format"),
        cell("Content"),
        cell("Shows the outcome of an apply"),
        cell("For `validate`"),
    ];
    page(
        "reference/report-formats",
        "Report formats",
        "The formats of `--report FORMAT=PATH`, which `plan`, `show`, `apply`, `destroy` and `drift` write besides their output, and some of which `validate` writes. Secrets are in none of them.",
        "export markdown html sarif junit prometheus picture svg",
        vec![Block::Table { head, rows: ReviewFormat::ALL.iter().map(row).collect() }],
    )
}

fn limit_page() -> Page {
    let mut blocks = Vec::new();
    let mut group = "";
    let mut entries = Vec::new();
    for limit in LIMITS {
        if limit.group != group {
            if !entries.is_empty() {
                blocks.push(Block::Definitions(std::mem::take(&mut entries)));
            }
            blocks.push(Block::heading(2, limit.group));
            group = limit.group;
        }
        entries.push(Definition::new(limit.name, &format!("`{}`. {}", (limit.value)(), limit.text)));
    }
    blocks.push(Block::Definitions(entries));
    page(
        "reference/limits",
        "Limits and defaults",
        "The limits and default values of the program, and how to change those that can be changed.",
        "timeout maximum size default deletion limit bounds",
        blocks,
    )
}

fn control_page() -> Page {
    let mut blocks = vec![Block::Paragraph(cell(
        "They need no API key, and answer programs on this machine only. The answer is `{\"success\": true, \"data\": …}`.",
    ))];
    for call in CONTROL_CALLS {
        let title = format!("{} /_emulator/{}", call.method, call.name);
        blocks.push(Block::Heading {
            level: 2,
            text: vec![Inline::code(title.as_str())],
            anchor: format!("{}-{}", call.method.to_lowercase(), call.name),
        });
        blocks.push(Block::paragraph(call.summary));
        let query = call.query.iter().map(|(name, text)| Definition::new(format!("?{name}="), text));
        if !call.query.is_empty() {
            blocks.push(Block::Definitions(query.collect()));
        }
        if let Some(body) = call.body {
            let text = format!("curl http://127.0.0.1:8377/_emulator/{} -d '{body}'", call.name);
            blocks.push(Block::code("sh", text, ExampleKind::Plain));
        }
    }
    page(
        "reference/emulator",
        "Control calls of the emulator",
        "The emulator's own calls below `/_emulator/`: request log, clock, faults, objects, export and import.",
        "fault injection mutate reset seed",
        blocks,
    )
}
