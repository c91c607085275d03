"""Prober: what each tool needs, accepts and gives, found out by calling it; an identity card for each."""
