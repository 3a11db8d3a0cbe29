//! The whole, from outside.
