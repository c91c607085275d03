"""Scenarios from tools: probe, type, graph, weigh, walk, hydrate, criticise; a file per stage, in that order."""
