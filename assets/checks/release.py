"""What must hold of the published release."""

from collections.abc import Iterator

from assets.checks.blocking import blocking_check
from pipelines.resources.workspace import Workspace
from shopsim_env.errors import ShopSimError
from shopsim_env.release import load_release


@blocking_check("release", artifact=False)
def release_verifies(work: Workspace) -> Iterator[str]:
    """The published folder re-hashes, its rows give its id, and the runtime opens it."""
    root = (work.out or work.releases / "current").resolve()
    try:
        load_release(root, verify="full").close()
    except ShopSimError as error:
        yield str(error)
