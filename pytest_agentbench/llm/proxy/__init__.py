"""The recording proxy: a loopback endpoint that records, replays, meters and budgets an agent in any language."""
