//! The arithmetic, with a plain reference for each operation.
