"""Seriatim beside its peers: the same rows, the same machine, in turns. `make bench` runs it."""
