//! Every setting, read once and checked.
