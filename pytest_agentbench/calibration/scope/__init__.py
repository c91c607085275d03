"""SCOPE: rubrics discovered from labelled conversations, stage by stage."""
