"""A release: its manifest, its verification, and the only way to open one.

The pipeline writes releases with the layout and table definitions kept here; the runtime reads nothing else.
"""

from shopsim_env.release.opening import Release, load_release

__all__ = ["Release", "load_release"]
