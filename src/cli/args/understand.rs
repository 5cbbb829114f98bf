//! `render` and `eval`: what the configuration says once everything is resolved.

use clap::Args;

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
