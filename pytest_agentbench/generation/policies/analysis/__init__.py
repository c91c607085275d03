"""What entries of a document mean for a machine: rules proposed by a model, held against the service, for review."""
