"""Fixtures that every kind of test may use."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builds import build, write_records
from hypothesis import settings
from places import SHARED_DATA
from rlve_shop import close_shelf, open_shelf

from shopsim_env.rlve.shelf import Shelf

# The same examples everywhere, and no deadline: a loaded machine must not fail a property.
settings.register_profile("project", derandomize=True, deadline=None, database=None)
settings.load_profile("project")


# Files that take minutes on one worker. They begin first, or the others wait for them at the end.
LONGEST = ("test_like_published.py", "test_server_document.py", "test_server_chaos.py", "test_browser.py")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Longest files first (with `--no-loadscope-reorder`, which keeps this order for the workers)."""
    place = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.name, len(LONGEST)))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder with published id lists and real records; they carry no licence and are not in the project."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"published and real records are not at {SHARED_DATA}")
    return SHARED_DATA


@pytest.fixture(scope="session", autouse=True)
def private_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Verification receipts of tests do not touch the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def small_release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of a few hand-written products, built through Dagster. Read only: copy it to alter it."""
    folder = tmp_path_factory.mktemp("small")
    report = build(folder, raw=write_records(folder / "raw.json.gz"))
    assert report.ok, report.problems
    return Path(report.release)


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    """The shop of `rlve_shop`, on which tools act. Episodes change nothing in it."""
    opened = open_shelf(tmp_path_factory.mktemp("shop"))
    yield opened
    close_shelf(opened)
