"""A first look at a suite's agent: does it build and answer, what of it can be seen, do its conversations leak?"""
