"""Words for what tools do and for what they gave, English and French, and whether a text says only what is known."""
