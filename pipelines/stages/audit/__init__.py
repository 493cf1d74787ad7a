"""The audit: what is wrong with each product and task, and how far a task says what it grades.

Pure functions over the raw and the cleaned archive. `codes` is the closed table of reason codes; one module
per family finds them; `labels` says what can be derived from the shown text. Nothing here changes a product.
"""
