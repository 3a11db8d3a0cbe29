//! What runs in what order: nodes, walks, partitions and streaming edges. Pure.
