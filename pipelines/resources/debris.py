"""What a killed build leaves behind, and its removal: hidden temporary files that nothing ever reads.

Called with the build lock held. Files of a living process are left alone: a run in the Dagster UI holds no
lock.
"""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

# Every temporary name of artifacts, their descriptions and release folders holds the number of its process.
_ARTIFACT = re.compile(r"\..+\.(\d+)\.building.*|\.staged-(\d+)|.+\.(\d+)\.tmp")
_RELEASE = re.compile(r"\.building-(\d+)|\.current-(\d+)")


def remove_debris(artifacts: Path, releases: Path) -> list[str]:
    """Removes temporary files and folders of processes that are gone.

    Args:
        artifacts: Artifact folder of one data set.
        releases: Folder in which its releases are put.

    Returns:
        Names of what was removed.
    """
    removed = []
    for path in [*_found(artifacts, _ARTIFACT), *_found(releases, _RELEASE)]:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
        removed.append(path.name)
    return removed


def _found(root: Path, pattern: re.Pattern[str]) -> Iterator[Path]:
    for path in sorted([*root.glob("*"), *(root / "meta").rglob("*")]):
        match = pattern.fullmatch(path.name)
        if match and not _lives(int(next(filter(None, match.groups())))):
            yield path


def _lives(process: int) -> bool:
    if process == os.getpid():
        return False  # a killed process of the same number: this one has written nothing yet
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
