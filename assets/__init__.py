"""Dagster assets: wiring only. Each reads its inputs, calls one stage and reports what was written.

Modules by group: catalog, annotations, cleaned, splits, search, rlve, release; checks are in `assets.checks`.
"""
