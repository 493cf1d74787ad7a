"""The one source of chance in the sample generator: generators seeded by a text."""

import random


def seeded(text: str) -> random.Random:
    """A generator whose draws depend on `text` alone, in every process and on every machine."""
    return random.Random(text)  # noqa: S311 - reproducible texts, not secrets
