//! Text to `Stack`: files → `Document` → names, variables and expressions → checks.

mod budget;
pub mod codes;
pub mod discover;
pub mod document;
pub mod kdl;
pub mod load;
pub mod lock;
pub mod stack;
pub mod syntax;
pub mod text;
mod unique;
pub mod yaml;

mod attributes;
mod body;
mod compute;
mod cron;
mod digest;
mod expand;
mod files;
mod format;
mod header;
mod index;
mod lifecycle;
mod locals;
mod masks;
mod merge;
mod names;
mod order;
mod plain_entries;
mod problems;
mod resolver;
mod rules;
mod scalar;
mod template;
mod variable_type;
mod variables;
