//! What can happen to a request: it is late, it is lost, or its answer is.

/// A request, and what its sender will see of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    pub fate: Fate,
    pub answer: Answer,
}

/// Where a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Unused,
    /// Its sender has decided on it; it has not left.
    Planned,
    /// It has left, and may still take effect.
    UnderWay,
    Effective,
    /// It never takes effect.
    Vain,
}

/// What its sender sees of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Awaited,
    Done,
    /// A complete answer that says no.
    Refused,
    /// A timeout, a reset, a server's error: nobody can tell.
    Unknown,
}

impl Request {
    pub const UNUSED: Self = Self { fate: Fate::Unused, answer: Answer::Awaited };

    pub fn is_under_way(self) -> bool {
        self.fate == Fate::UnderWay
    }

    /// Tells what can happen next: what it is, the request after it, and whether it takes effect now.
    pub fn happens(self, tell: &mut impl FnMut(&'static str, Self, bool)) {
        let told = |answer| if self.answer == Answer::Awaited { answer } else { self.answer };
        match self {
            Self { fate: Fate::UnderWay, answer } => {
                tell("the request takes effect", Self { fate: Fate::Effective, answer }, true);
                let refused = Self { fate: Fate::Vain, answer: told(Answer::Refused) };
                tell("the service refuses", refused, false);
                let lost = Self { fate: Fate::Vain, answer: told(Answer::Unknown) };
                tell("the request is lost", lost, false);
                if answer == Answer::Awaited {
                    let given_up = Self { answer: Answer::Unknown, ..self };
                    tell("the sender gives up while the request is under way", given_up, false);
                }
            }
            Self { fate: Fate::Effective, answer: Answer::Awaited } => {
                tell("the answer arrives", Self { answer: Answer::Done, ..self }, false);
                tell("the answer is lost", Self { answer: Answer::Unknown, ..self }, false);
            }
            _ => {}
        }
    }
}
