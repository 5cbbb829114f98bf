//! Table tests of the world.
