"""Product files (parquet, JSON lines, JSON) of English catalogues as a source of `raw_products`.

`source` reads rows, `mapping` makes a raw record of one, `read` joins them to the ingest, `quality` reports.
"""
