"""Products at run time: typed view, price axes, price resolution, read-only store."""
