//! Seeded fault schedules: one number says what is applied, what goes wrong and when; an oracle that
//! sees everything says whether a promise was broken.

mod actor;
mod network;
mod oracle;
mod people;
mod process;
mod regressions;
mod runner;
mod schedule;
mod shelf;
mod stacks;
mod store;
mod story;
mod universe;
