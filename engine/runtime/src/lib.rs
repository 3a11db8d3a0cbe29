//! Who runs what, where and when: conductor, workers, batches.
