//! Where in a text a position falls, and what the schema has there. In: the text before the position. Out: the keys above
//! it and the type, keyword or block that they lead to. A text that cannot be parsed has a cursor, too.

pub(super) mod find;
pub(super) mod kdl;
pub(super) mod path_target;
pub(super) mod types;
pub(super) mod yaml;
