"""What is kept of runs, and what it adds up to: store, results file, intervals, aggregation, gates."""
