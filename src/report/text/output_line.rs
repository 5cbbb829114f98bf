//! An output of a plan as a reviewer reads it: its sign, its values before and after, why it changes, and who reads it. Each
//! format escapes the parts for itself.

use super::phrases;
use super::style::{Symbol, TextStyle};
use crate::model::address::{Address, Name};
use crate::model::values::value::Value;
use crate::plan::model::output::{OutputAction, OutputCause, PlannedOutput};

/// How many resources or readers are named before the rest is counted.
const MAX_NAMES: usize = 8;

/// Length limit in characters of a value, unless all of it is wanted.
const MAX_VALUE_CHARS: usize = 200;

/// The parts of an output for display; none is escaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputLine<'a> {
    /// The sign of what happens to it, as of a resource.
    pub sign: &'static str,
    /// Its name.
    pub name: &'a str,
    /// The values before and after, or the one that it has or had.
    pub values: String,
    /// Why it changes, and who reads it; empty if there is nothing to say.
    pub notes: String,
}

impl<'a> OutputLine<'a> {
    /// Returns the parts of an output that changes. `is_whole` leaves nothing out.
    #[must_use]
    pub fn new(output: &'a PlannedOutput, is_whole: bool, style: TextStyle) -> Self {
        let most = if is_whole { usize::MAX } else { MAX_VALUE_CHARS };
        let short = |text: String| phrases::shorten_text(text, most, style);
        let shown = |value: &Option<Value>| value.as_ref().map(phrases::format_value).unwrap_or_default();
        let values = match (&output.before, &output.after) {
            (Some(before), Some(after)) if output.cause.is_some() => {
                let (before, after) = phrases::distinguish_values(before, after);
                format!("{} {} {}", short(before), style.sign(Symbol::Arrow), short(after))
            }
            (before, None) => short(shown(before)),
            (_, after) => short(shown(after)),
        };
        let sign = match output.action() {
            OutputAction::Keep => " ",
            OutputAction::Add => "+",
            OutputAction::Change => "~",
            OutputAction::Remove => "-",
        };
        let names = if is_whole { usize::MAX } else { MAX_NAMES };
        Self { sign, name: &output.name, values, notes: describe_notes(output, names) }
    }

    /// Returns the parts of an output after an apply that recorded this value for it; `None`: no value of it was known.
    /// `is_complete` is whether the apply made all its steps: only then are removed outputs dropped.
    #[must_use]
    pub fn of_run(
        output: &'a PlannedOutput,
        recorded: Option<&Value>,
        is_complete: bool,
        (is_whole, style): (bool, TextStyle),
    ) -> Self {
        let kept = PlannedOutput { after: output.before.clone(), cause: None, ..output.clone() };
        let (actual, note) = match (&output.after, recorded) {
            (Some(_), Some(value)) if output.before.as_ref() == Some(value) => (kept, ""),
            (Some(_), Some(value)) => (PlannedOutput { after: Some(value.clone()), ..kept }, ""),
            (None, _) if is_complete => return Self::new(output, is_whole, style),
            (_, _) if output.before.is_some() => (kept, "not changed by this run"),
            (_, _) => (kept, "not recorded: its value is not known after this run"),
        };
        let cause = output.cause.filter(|_| actual.after != actual.before);
        let actual = PlannedOutput { cause, ..actual };
        let OutputLine { sign, values, notes, .. } = OutputLine::new(&actual, is_whole, style);
        let notes =
            [note, &notes].into_iter().filter(|note| !note.is_empty()).collect::<Vec<_>>().join("; ");
        Self { sign, name: &output.name, values, notes }
    }
}

/// Returns why an output changes, where its values do not say it, and the units that read it.
fn describe_notes(output: &PlannedOutput, most: usize) -> String {
    let mut notes = Vec::new();
    match output.cause {
        // An unknown value names what it waits for, and a new one has not changed.
        Some(OutputCause::Upstream) if !output.is_unknown() && output.before.is_some() => {
            let verb = if output.because.len() == 1 { "changes" } else { "change" };
            let names = phrases::join_words(output.because.iter().map(Address::as_str), most);
            notes.push(format!("because {names} {verb}"));
        }
        Some(OutputCause::Outside) if output.after.as_ref().is_some_and(Value::is_secret) => {
            notes.push("it has another secret value".to_owned());
        }
        Some(OutputCause::Outside) => notes.push("what it reads changed outside of this stack".to_owned()),
        Some(OutputCause::Config | OutputCause::Upstream) | None => {}
    }
    if !output.readers.is_empty() {
        let names = phrases::join_words(output.readers.iter().map(Name::as_str), most);
        notes.push(format!("read by {names}"));
    }
    if !output.possible_readers.is_empty() {
        let names = phrases::join_words(output.possible_readers.iter().map(Name::as_str), most);
        notes.push(format!("may be read by {names}, whose configuration has errors"));
    }
    notes.join("; ")
}
