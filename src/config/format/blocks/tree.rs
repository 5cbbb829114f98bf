//! What is written: blocks of entries, and the text that they become.

/// Says whose line it is, to whoever asked for the text.
pub type LineMarker = usize;

/// A top-level block: `vm web`.
#[derive(Debug, Clone, PartialEq)]
pub struct PrintedBlock {
    /// The word that it stands under: its kind, or a block of the language.
    pub word: String,
    /// Its name.
    pub name: String,
    /// What stands in it.
    pub entries: Vec<PrintedEntry>,
    /// Whose line it is.
    pub mark: LineMarker,
}

/// A key and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct PrintedEntry {
    /// The key.
    pub key: String,
    /// The value.
    pub value: PrintedValue,
    /// Whose line it is.
    pub mark: LineMarker,
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum PrintedValue {
    /// A text as it is meant: quoted where it must be, `$` doubled.
    Text(String),
    /// `$vm.web`, or an expression.
    Reference(String),
    /// A number.
    Number(String),
    /// Yes or no.
    Bool(bool),
    /// The service's default.
    Null,
    /// Values in order.
    List(Vec<PrintedValue>),
    /// Entries.
    Map(Vec<PrintedEntry>),
}

/// A text, and whose lines they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MarkedText {
    /// The text.
    pub text: String,
    /// By line, the first being 0: the mark of what stands there.
    pub marks: Vec<LineMarker>,
}

impl MarkedText {
    /// Adds a line.
    pub(super) fn push_line(&mut self, depth: usize, text: &str, mark: LineMarker) {
        for _ in 0..depth {
            self.text.push_str("  ");
        }
        self.text.push_str(text);
        self.text.push('\n');
        self.marks.push(mark);
    }

    /// Puts a line of its own before everything.
    #[must_use]
    pub fn prepend_header(mut self, head: &str) -> Self {
        let lines = head.lines().count();
        self.text.insert_str(0, head);
        self.marks.splice(0..0, std::iter::repeat_n(LineMarker::MAX, lines));
        self
    }
}
