//! `render`, `eval`, `explain`, `graph` and `why`: understanding a configuration, and what it is made of.

use clap::{Args, ValueEnum};

/// `render`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Examples:\n  stead render -e prod\n  stead render --why vm.web.a.plan\n  \
    stead render --output json")]
pub struct Render {
    /// Only this resource or value, with everything that decided it: file, variable, environment, module
    #[arg(long, value_name = "PATH")]
    pub why: Option<String>,
}

/// `eval`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead eval '$locals.host'\n  stead eval -e prod 'vars.nodes.size() + 1'\n  \
    stead eval 'values(vm.web).map(v, v.name)'\n\nUnknown and secret values are shown as such."
)]
pub struct Eval {
    /// A reference ($vars.x), or an expression with or without ${ and }
    #[arg(value_name = "EXPR", allow_hyphen_values = true)]
    pub expression: String,
}

/// `explain`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead explain database\n  stead explain database.plan\n  stead explain app.autoscaling.min_replicas\n  \
    stead explain R0301\n  stead explain lifecycle.protect\n  stead explain cidr_subnet\n  stead explain data_loss\n\nWithout a subject, everything is listed that can be asked for."
)]
pub struct Explain {
    /// A kind, KIND.ATTRIBUTE, a word of the language, a function, or a code of a diagnostic or a plan
    #[arg(value_name = "SUBJECT")]
    pub subject: Option<String>,
}

/// `graph`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Examples:\n  stead graph\n  stead graph --format svg > stack.svg\n  \
    stead graph --focus database.main --depth 1\n  stead graph --format dot | dot -Tpng > stack.png")]
pub struct Graph {
    /// How it is drawn [default: tree]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<Drawing>,
    /// Only this resource, what it waits for and what waits for it
    #[arg(long, value_name = "ADDRESS")]
    pub focus: Option<String>,
    /// At most so many steps away from the focus
    #[arg(long, value_name = "N", requires = "focus")]
    pub depth: Option<usize>,
}

/// How a graph is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Drawing {
    /// Each resource, and below it what it waits for.
    Tree,
    /// A Mermaid flowchart, for Markdown.
    Mermaid,
    /// Graphviz.
    Dot,
    /// A picture.
    Svg,
}

/// `why`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead why vm.web.a\n  stead why vm.web.a --plan prod.plan\n  stead why database.main --output json"
)]
pub struct Why {
    /// The resource
    #[arg(value_name = "ADDRESS")]
    pub address: String,
    /// A saved plan: why it changes there
    #[arg(long, value_name = "FILE")]
    pub plan: Option<std::path::PathBuf>,
}
