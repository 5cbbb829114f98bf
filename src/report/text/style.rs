//! `TextStyle`: how to print text; the caller, which knows the terminal, passes it in. `TextRole`: the purpose of a
//! piece of text, which determines its color.

use anstyle::{AnsiColor, Style as Ansi};

/// How text is printed: color, width and character set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextStyle {
    /// Whether to write escape codes for color.
    pub colour: bool,
    /// Width of a line in columns.
    pub width: usize,
    /// Whether to use non-ASCII characters for signs.
    pub unicode: bool,
    /// Whether a table row stays on one line, whatever its length, because a program or pager reads it.
    pub whole_rows: bool,
}

impl TextStyle {
    /// Minimum width of the layout in columns; a narrower terminal wraps the lines itself.
    pub const MIN_WIDTH: usize = 40;

    /// Returns a style without color, with Unicode signs, that wraps table rows.
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

/// A sign with a Unicode form and an ASCII form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symbol {
    /// Separates the values before and after.
    Arrow,
    /// Separates facts on a line.
    Dot,
    /// Marks omitted text or items.
    Ellipsis,
    /// Marks a difference or drift.
    NotEqual,
    /// Marks a refusal or a blocker.
    Blocked,
    /// Marks something that is done.
    Tick,
    /// Marks something that failed.
    Cross,
    /// Marks a warning for the reader.
    Warning,
    /// Marks an object that stead does not manage.
    Unknown,
    /// Marks the replacement of an object.
    Replace,
    /// Marks the adoption of an object.
    Adopt,
    /// Marks a resource that stead forgets.
    Forget,
    /// Marks a move to a new address.
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

/// The purpose of a piece of text, which determines its color.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TextRole {
    /// Ordinary text without emphasis.
    #[default]
    Plain,
    /// A heading, or an important name.
    Strong,
    /// Less important than the rest.
    Faint,
    /// Something that may be lost.
    Danger,
    /// Something that the reader should check.
    Warning,
    /// Something is created or succeeded.
    Success,
    /// Something that is changed in place.
    Change,
}

impl TextRole {
    /// Returns the terminal style for the role.
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
