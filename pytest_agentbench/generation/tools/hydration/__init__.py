"""Hydration: a walk becomes the turns of a draft, by real calls made in one fresh environment."""
