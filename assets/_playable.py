"""Staged parts of the release to come, for what plays tasks before there is a release."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assets._inputs import all_splits, inactive
from pipelines.resources.workspace import Workspace
from pipelines.stages.nouns import TitleNouns, read_nouns
from pipelines.stages.playable import PlayableParts, write_playable


def playable_parts(work: Workspace, nouns: TitleNouns) -> PlayableParts:
    """Verified artifacts that an episode depends on."""
    return PlayableParts(
        catalog=work.store.path("search_index"),
        search_arrays=work.store.path("search_arrays"),
        title_nouns=nouns.nouns,
        cleaned=work.store.path("cleaned_v2"),
        splits=all_splits(work),
        inactive_tasks=inactive(work),
    )


@contextmanager
def staged(work: Workspace) -> Iterator[Path]:
    """A folder of staged parts that is gone afterwards."""
    root = work.store.root / f".staged-{os.getpid()}"
    # A killed process of the same number may have left one.
    shutil.rmtree(root, ignore_errors=True)
    try:
        write_playable(playable_parts(work, read_nouns(work.store.path("title_nouns"))), root)
        yield root
    finally:
        shutil.rmtree(root, ignore_errors=True)
