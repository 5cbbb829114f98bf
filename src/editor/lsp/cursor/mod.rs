//! What a position in a text is about. In: the text before the position. Out: the keys above it, and the type, keyword
//! or block of the schema that they lead to. A text that cannot be parsed has a cursor, too.

pub(super) mod find;
pub(super) mod kdl;
pub(super) mod path_target;
pub(super) mod types;
pub(super) mod yaml;
