"""Blocking asset checks: what must hold before anything downstream may run.

One module per asset module. A passed check leaves a receipt for the very bytes that it saw; `release` takes
no artifact without its receipts (see `assets.checks.blocking`).
"""
