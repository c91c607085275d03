"""The APIs by which models are asked: what of a request decides its answer, how answers come, are kept and replay."""
