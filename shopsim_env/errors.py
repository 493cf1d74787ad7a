"""Every error that `shopsim_env` raises on purpose, under one root.

A message says what was expected, what was found and, where there is one, the command that mends it.
`code` is stable: programs branch on it, people read the message. Pipeline errors extend the same root
in `pipelines.errors`.

    ShopSimError
    ├── ReleaseError         a release is missing, incomplete, altered or of another version
    ├── SearchIndexError     the search index does not fit this code or this catalogue
    ├── TaskError            unknown, excluded or duplicate task, unknown split
    ├── EpisodeError         step before reset, step after the end
    ├── ObservationError     a state that must not be rendered
    ├── TraceError           a trace file or line that is not one, or an action that cannot be written down
    ├── SimulatorError       the endpoint behind a simulated customer failed
    ├── ModelError           the endpoint of the model that plays failed or refuses us
    ├── PoolError            no free slot, or a slot or lease that the caller does not have
    │   ├── CapacityError        no room on a server, also after waiting
    │   └── LeaseLostError       the lease of an episode is gone or somebody else's
    ├── ServiceError         a server cannot be reached, does not let us in, or failed
    ├── JournalError         the action log of a server cannot be used, read or written
    ├── ScheduleError        the state file of an adaptive schedule cannot be used, or is of something else
    ├── RunError             a recorded run or episode that is not there or cannot be read
    └── UsageError           a wrong argument of a public function or command
"""


class ShopSimError(Exception):
    """Root of all intended errors.

    Args:
        message: Full sentence for people.
        code: Stable identifier; each class has a default.
    """

    default_code = "shopsim_error"
    # Whether the caller asked for something that cannot be, rather than a check having failed; commands end
    # with exit code 2 then.
    wrong_use = False
    # For an infrastructure failure, which is never a reward: its name in the closed list of `Step`.
    failure_kind: str | None = None

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.code = code or self.default_code


class ReleaseError(ShopSimError):
    """A release cannot be trusted: names the file, what was expected and what was found."""

    default_code = "release_error"


class SearchIndexError(ShopSimError):
    """The search index does not match this version of the code or this catalogue."""

    default_code = "search_index_error"


class TaskError(ShopSimError):
    """A task id or split name that this release does not offer."""

    default_code = "task_error"
    wrong_use = True


class UnknownTaskError(TaskError, KeyError):
    """A task id that the release does not offer; also a KeyError, because tasks are a mapping."""

    default_code = "unknown_task"
    __str__ = Exception.__str__  # KeyError would print the repr


class EpisodeError(ShopSimError):
    """A call that the episode's life cycle does not allow; nothing was changed."""

    default_code = "episode_error"


class ObservationError(ShopSimError):
    """A state that must not be rendered: unknown page, wrong version or a private key."""

    default_code = "observation_error"


class PoolError(ShopSimError):
    """A pool without a free slot, or a slot or lease that the caller does not have; nothing was changed."""

    default_code = "pool_error"


class CapacityError(PoolError):
    """A client found no room, also after waiting as long as it was told to; nothing was changed."""

    default_code = "capacity"
    failure_kind = "capacity"


class LeaseLostError(PoolError):
    """The lease of a client's episode is gone or was taken over; the episode cannot go on here."""

    default_code = "lease_lost"
    failure_kind = "lease_lost"


class ServiceError(ShopSimError):
    """A server cannot be reached, answers with something else, does not let us in, or failed.

    Args:
        message: Full sentence for people.
        code: Stable identifier, such as `unreachable`, `timeout`, `bad_answer` or a code of the server.
        failure_kind: `timeout`, `env_crash` or `adapter`.
    """

    default_code = "unreachable"

    def __init__(self, message: str, *, code: str | None = None, failure_kind: str = "env_crash") -> None:
        super().__init__(message, code=code)
        self.failure_kind = failure_kind


class JournalError(ShopSimError):
    """The action log of a pool cannot be used, read or written."""

    default_code = "journal_error"


class ScheduleError(ShopSimError):
    """The state file of an adaptive schedule cannot be used, or is of another suite or other settings."""

    default_code = "schedule_error"


class TraceError(ShopSimError):
    """A trace file or line that cannot be read, or an action that no trace can hold exactly."""

    default_code = "trace_error"


class RunError(ShopSimError):
    """A recorded run, or an episode of one, that is not there or cannot be read."""

    default_code = "unreadable_run"


class SimulatorError(ShopSimError):
    """The language model behind a simulated customer cannot be reached or answers with something else."""

    default_code = "simulator_fault"


class ModelError(ShopSimError):
    """The endpoint of the model that plays cannot be reached, refuses us, or answers with something else.

    Args:
        message: Full sentence for people; never a key.
        code: `unreachable`, `timeout`, `broken_stream`, `bad_answer`, `status_…`, `unauthorized`,
            `unknown_model` or `context_length`.
        again: Whether the same request may come again.
        after_s: Seconds that the endpoint asks to wait.
    """

    default_code = "unreachable"

    def __init__(
        self, message: str, *, code: str | None = None, again: bool = False, after_s: float = 0.0
    ) -> None:
        super().__init__(message, code=code)
        self.again = again
        self.after_s = after_s


class UsageError(ShopSimError):
    """A wrong argument to a public function or command."""

    default_code = "usage_error"
    wrong_use = True
