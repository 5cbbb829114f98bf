//! `TextStyle`: how text is shown, handed in by whoever knows the terminal; and `TextRole`: what a piece of
//! text is for, from which its colour follows.

use anstyle::{AnsiColor, Style as Ansi};

/// How text is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextStyle {
    /// Escape codes for colour may be written.
    pub colour: bool,
    /// Columns of a line.
    pub width: usize,
    /// Characters beyond ASCII may be written for signs.
    pub unicode: bool,
    /// A row of a table keeps to one line, however long: what reads it is a program, or a pager.
    pub whole_rows: bool,
}

impl TextStyle {
    /// The narrowest page that is laid out; a smaller terminal wraps by itself.
    pub const MIN_WIDTH: usize = 40;

    /// Returns a style without colour.
    #[must_use]
    pub const fn plain(width: usize) -> Self {
        Self { colour: false, width, unicode: true, whole_rows: false }
    }

    /// Returns the sign in its Unicode or its ASCII form.
    #[must_use]
    pub const fn sign(self, sign: Symbol) -> &'static str {
        let (unicode, ascii) = sign.unicode_and_ascii();
        if self.unicode { unicode } else { ascii }
    }
}

/// A sign with two forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symbol {
    /// Between before and after.
    Arrow,
    /// Between facts.
    Dot,
    /// Something is left out.
    Ellipsis,
    /// A difference.
    NotEqual,
    /// A refusal.
    Blocked,
    /// Done.
    Tick,
    /// Failed.
    Cross,
    /// A warning.
    Warning,
    /// Not known to stead.
    Unknown,
    /// A replacement.
    Replace,
    /// An adoption.
    Adopt,
    /// stead lets go.
    Forget,
    /// A new address.
    Move,
}

impl Symbol {
    const fn unicode_and_ascii(self) -> (&'static str, &'static str) {
        match self {
            Self::Arrow => ("→", "->"),
            Self::Dot => ("·", "|"),
            Self::Ellipsis => ("…", "..."),
            Self::NotEqual => ("≠", "!="),
            Self::Blocked => ("⊘", "X"),
            Self::Tick => ("✓", "ok"),
            Self::Cross => ("✗", "x"),
            Self::Warning => ("!", "!"),
            Self::Unknown => ("?", "?"),
            Self::Replace => ("±", "-+"),
            Self::Adopt => ("⇐", "<="),
            Self::Forget => ("∅", "o"),
            Self::Move => ("⇒", "=>"),
        }
    }
}

/// What a piece of text is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TextRole {
    /// Nothing special.
    #[default]
    Plain,
    /// A heading or a name to look at.
    Strong,
    /// Less important than the rest.
    Faint,
    /// Something may be lost.
    Danger,
    /// Worth a look.
    Warning,
    /// Something comes into being, or went well.
    Success,
    /// Something changes.
    Change,
}

impl TextRole {
    /// Returns the terminal's style of the role.
    #[must_use]
    pub const fn ansi(self) -> Ansi {
        let plain = Ansi::new();
        match self {
            Self::Plain => plain,
            Self::Strong => plain.bold(),
            Self::Faint => plain.dimmed(),
            Self::Danger => AnsiColor::Red.on_default().bold(),
            Self::Warning => AnsiColor::Yellow.on_default(),
            Self::Success => AnsiColor::Green.on_default(),
            Self::Change => AnsiColor::Cyan.on_default(),
        }
    }
}
