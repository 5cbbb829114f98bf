//! The network: a request can be late or lost, and so can its response.

/// A request, and the response that its sender gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    pub fate: Fate,
    pub answer: Answer,
}

/// The progress of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Unused,
    /// It is decided on and not sent yet.
    Planned,
    /// It was sent and may still take effect.
    UnderWay,
    Effective,
    /// It never takes effect.
    Vain,
}

/// The outcome as its sender sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Awaited,
    Done,
    /// A complete response that refuses it.
    Refused,
    /// A timeout, a reset or a server error: the outcome is unknown.
    Unknown,
}

impl Request {
    pub const UNUSED: Self = Self { fate: Fate::Unused, answer: Answer::Awaited };

    pub fn is_under_way(self) -> bool {
        self.fate == Fate::UnderWay
    }

    /// Reports each possible next event: its label, the request afterwards, and whether it takes effect now.
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
