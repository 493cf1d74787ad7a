"""A spaCy pipeline for tests, assembled here and saved to a folder; no trained weights."""

import warnings
from pathlib import Path
from typing import Any

with warnings.catch_warnings():
    # typer, which spaCy imports, still reads names that click deprecates
    warnings.simplefilter("ignore", DeprecationWarning)
    import spacy


def save_model(folder: Path, *, lang: str = "zh", tags: bool = True, **meta: Any) -> Path:
    """A pipeline without trained weights: single characters as tokens, parts of speech by a table."""
    nlp = spacy.blank(lang)
    if tags:
        ruler = nlp.add_pipe("attribute_ruler")
        patterns = [("杯", "NOUN"), ("华", "PROPN"), ("大", "ADJ"), ("LED", "NOUN")]
        for text, pos in patterns:
            ruler.add([[{"ORTH": text}]], {"POS": pos})
    nlp.meta.update({"name": "test_sm", "version": "3.8.0", **meta})
    nlp.to_disk(folder)
    return folder
