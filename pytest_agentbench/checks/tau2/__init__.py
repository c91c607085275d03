"""τ²-bench's reward, beside our own verdict and never mixed with it."""
