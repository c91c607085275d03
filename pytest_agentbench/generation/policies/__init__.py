"""Scenarios from policies: extract, graph, sample, events with rows, expected calls; a file per stage."""
