"""What the wire says when a call fails: the package sends the text of an exception to the client as it is.

Belongs here: from any exception to one whose text may leave: a code, a sentence of ours, the failure kind.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from shopsim_env.errors import ShopSimError
from shopsim_env.server.http import refusal

LOG = logging.getLogger("shopsim_env.server")


class WireError(ShopSimError):
    """A refusal or a failure whose text is fit for the wire: `code: sentence (failure_kind …)`.

    `failure_kind` is set for failures of the infrastructure; a trainer drops the sample then.
    """

    def __init__(self, message: str, *, code: str, failure_kind: str | None = None) -> None:
        kind = "" if failure_kind is None else f" (failure_kind {failure_kind})"
        super().__init__(f"{code}: {message}{kind}", code=code)
        self.failure_kind = failure_kind


@contextmanager
def clean() -> Iterator[None]:
    """Lets nothing but `WireError` out; what nobody intended is logged without its text."""
    try:
        yield
    except WireError as error:
        _note(error)
        raise
    except Exception as error:
        sanitised = _sanitised(error)
        _note(sanitised)
        raise sanitised from None


def _note(error: WireError) -> None:
    """One line for each failure of the infrastructure, so that they can be counted."""
    if error.failure_kind is not None:
        facts = {"code": error.code, "failure_kind": error.failure_kind}
        LOG.warning("fault answered", extra={"facts": facts})


def _sanitised(error: Exception) -> WireError:
    problem = refusal(error)
    kind = getattr(error, "failure_kind", None)
    if kind is None and problem.status >= 500:
        kind = "env_crash"
    return WireError(str(problem), code=problem.code, failure_kind=kind)
