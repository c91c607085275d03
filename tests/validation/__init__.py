"""Tests of validation/."""
