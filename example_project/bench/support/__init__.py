"""The suite of the support desk."""
