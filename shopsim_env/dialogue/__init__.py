"""Talking customers: what they know, what they have told, how they say it.

The disclosure ledger and the checks on wording serve any simulated customer; `facts`, `topics` and `shopper`
are the Shop's. Nothing here knows goals, pages, rewards or a network.
"""
