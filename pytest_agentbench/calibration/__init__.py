"""Judges under test: labelled situations, rubrics learned from them, and how far a judge agrees with the labels."""
