"""Reads run folders and trace files for people: listing, index, figures, one episode (docs/runs.md).

Belongs here: everything about recorded runs that is not HTTP. Nothing here writes.
"""
