//! One device: ready nodes in, batches out.

mod scheduler;
