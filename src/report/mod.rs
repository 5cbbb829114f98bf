//! Plan, events, outcome and diagnostics → what people and programs see.
