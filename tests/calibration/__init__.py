"""Tests of judges under test."""
