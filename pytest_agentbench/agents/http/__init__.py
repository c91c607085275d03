"""An agent behind an HTTP endpoint: what is posted each turn, and what its answer says."""
