"""What decides about a closed run: matching, explanations, checks, metrics, and the judgement. No I/O, no model."""
