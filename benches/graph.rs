//! What the graph itself costs.

fn main() {}
