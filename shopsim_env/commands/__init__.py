"""Runtime commands of `shopsim`, one module each, without rules of their own.

Each has `register(subparsers)` and a handler that returns the exit code.
"""
