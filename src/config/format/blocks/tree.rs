//! What is written: blocks of entries, and the text that they become.

/// Says whose line it is, to whoever asked for the text.
pub type Mark = usize;

/// A top-level block: `vm web`.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// The word that it stands under: its kind, or a block of the language.
    pub word: String,
    /// Its name.
    pub name: String,
    /// What stands in it.
    pub entries: Vec<Entry>,
    /// Whose line it is.
    pub mark: Mark,
}

/// A key and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// The value.
    pub value: Printed,
    /// Whose line it is.
    pub mark: Mark,
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum Printed {
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
    List(Vec<Printed>),
    /// Entries.
    Map(Vec<Entry>),
}

/// A text, and whose lines they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// The text.
    pub text: String,
    /// By line, the first being 0: the mark of what stands there.
    pub marks: Vec<Mark>,
}

impl Page {
    /// Adds a line.
    pub(super) fn push_line(&mut self, depth: usize, text: &str, mark: Mark) {
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
        self.marks.splice(0..0, std::iter::repeat_n(Mark::MAX, lines));
        self
    }
}
