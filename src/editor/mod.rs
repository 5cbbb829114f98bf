//! What the tables say, for editors and readers: schemas and reference texts.
