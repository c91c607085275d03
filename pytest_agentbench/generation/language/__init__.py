"""The words of generated users: plain phrases, or a model, held by the same guard."""
