//! `Style`: how text is shown, handed in by whoever knows the terminal; and `Role`: what a piece of
//! text is for, from which its colour follows.

use anstyle::{AnsiColor, Style as Ansi};

/// How text is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Escape codes for colour may be written.
    pub colour: bool,
    /// Columns of a line.
    pub width: usize,
    /// Characters beyond ASCII may be written for signs.
    pub unicode: bool,
    /// A row of a table keeps to one line, however long: what reads it is a program, or a pager.
    pub whole_rows: bool,
}

impl Style {
    /// The narrowest page that is laid out; a smaller terminal wraps by itself.
    pub const NARROWEST: usize = 40;

    /// Returns a style without colour.
    #[must_use]
    pub const fn plain(width: usize) -> Self {
        Self { colour: false, width, unicode: true, whole_rows: false }
    }

    /// Returns the sign in its Unicode or its ASCII form.
    #[must_use]
    pub const fn sign(self, sign: Sign) -> &'static str {
        let (unicode, ascii) = sign.unicode_and_ascii();
        if self.unicode { unicode } else { ascii }
    }
}

/// A sign with two forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// Between before and after.
    Arrow,
    /// Between facts.
    Dot,
    /// Something is left out.
    Ellipsis,
    /// A difference.
    Unequal,
    /// A refusal.
    Stop,
    /// Done.
    Tick,
    /// Failed.
    Cross,
    /// A warning.
    Bang,
    /// Not known to stead.
    Question,
    /// A replacement.
    Replace,
    /// An adoption.
    Adopt,
    /// stead lets go.
    Forget,
    /// A new address.
    Move,
}

impl Sign {
    const fn unicode_and_ascii(self) -> (&'static str, &'static str) {
        match self {
            Self::Arrow => ("→", "->"),
            Self::Dot => ("·", "|"),
            Self::Ellipsis => ("…", "..."),
            Self::Unequal => ("≠", "!="),
            Self::Stop => ("⊘", "X"),
            Self::Tick => ("✓", "ok"),
            Self::Cross => ("✗", "x"),
            Self::Bang => ("!", "!"),
            Self::Question => ("?", "?"),
            Self::Replace => ("±", "-+"),
            Self::Adopt => ("⇐", "<="),
            Self::Forget => ("∅", "o"),
            Self::Move => ("⇒", "=>"),
        }
    }
}

/// What a piece of text is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
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
    Warn,
    /// Something comes into being, or went well.
    Good,
    /// Something changes.
    Change,
}

impl Role {
    /// Returns the terminal's style of the role.
    #[must_use]
    pub const fn ansi(self) -> Ansi {
        let plain = Ansi::new();
        match self {
            Self::Plain => plain,
            Self::Strong => plain.bold(),
            Self::Faint => plain.dimmed(),
            Self::Danger => AnsiColor::Red.on_default().bold(),
            Self::Warn => AnsiColor::Yellow.on_default(),
            Self::Good => AnsiColor::Green.on_default(),
            Self::Change => AnsiColor::Cyan.on_default(),
        }
    }
}
