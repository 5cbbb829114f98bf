//! Reading and editing the state from outside the API: for tests and for the console page.

pub(super) mod inspect;
pub(super) mod mutate;
