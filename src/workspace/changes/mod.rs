//! Which stacks differ from those at a base commit. In: what each stack's load read, and access to the base commit's
//! tree. Out: for each stack whether it changed, and the paths that changed. Pure: the caller reads files and Git.
//!
//! Loading a stack is a deterministic function of its reads: the content of a file, the names in a directory, the
//! absence of a file. Its first read does not depend on any other, and each later one only on the results of those
//! before it. So if every read of the present load has the same result at the base, a load at the base performs the
//! same reads, in the same order, with the same results, and yields the same stack. It cannot read a further path: the
//! first read that only the base's load performs would follow an earlier read with another result. Hence a stack is
//! unchanged if no recorded read differs, and nothing has to be loaded at the base.
//!
//! The reverse does not hold: a changed comment is a changed read, and the stack counts as changed. A read that
//! cannot be compared counts as changed, too. Variables, secrets, prices, live objects and the version of the program
//! are not reads, and change no stack.

pub mod base_tree;
pub mod compare;
pub mod merge_base;
pub mod recorded_reads;
