//! Memory with a shape.
