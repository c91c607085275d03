"""Access to models: chat completions, structured output, retries, limits, usage and cost, cassettes, the proxy."""
