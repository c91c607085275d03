"""τ²-bench's own domains as environments: from a checkout of τ²-bench, or from `inspect_evals`; nothing is copied."""
