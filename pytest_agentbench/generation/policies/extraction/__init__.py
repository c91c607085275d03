"""From a document to its policies."""
