"""Search over the frozen catalogue: documents, the FTS5 contract, engines."""
