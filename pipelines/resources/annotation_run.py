"""Opens what a paid run needs, in the order that is safe: key, cache lock, cached answers, endpoint.

Shared by the command `shopsim annotate` and the asset `price_annotations`.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pipelines.resources.annotator import Annotator, Progress, RunReport
from pipelines.resources.llm import ChatEndpoint, read_key
from pipelines.settings import AnnotationSettings
from pipelines.stages.annotation.cache import Answers, Identity, read_answers
from pipelines.stages.annotation.cache_file import CacheFile
from pipelines.stages.annotation.importing import Imported, import_answers
from pipelines.stages.annotation.persona_tasks import PersonaTask
from pipelines.stages.annotation.plan import Plan, make_plan


@dataclass(frozen=True)
class AnnotationJob:
    """The persona tasks of one archive, the cache of their answers and the settings to ask under.

    Args:
        settings: Endpoint, limits, expiry.
        cache: Cache file.
        source_archive_sha256: Hash of the archive that the tasks are from.
        tasks: Eligible persona tasks.
        skip: Tasks left to the run-time parser.
        max_requests: Cap in instructions; None: no cap.
    """

    settings: AnnotationSettings
    cache: Path
    source_archive_sha256: str
    tasks: Sequence[PersonaTask]
    skip: frozenset[int] = field(default=frozenset())
    max_requests: int | None = None

    @property
    def identity(self) -> Identity:
        """What answers of this job are recorded under."""
        return Identity.of(self.source_archive_sha256, self.settings)

    def read(self) -> Answers:
        """The answers that the cache holds."""
        return read_answers(self.cache, self.identity, self.tasks, expires_days=self.settings.expires_days)

    def plan(self, answers: Answers) -> Plan:
        """What a run would ask."""
        return make_plan(self.tasks, answers, self.settings, skip=self.skip, max_requests=self.max_requests)

    @contextmanager
    def annotator(self, progress: Progress = lambda _report, _total: None) -> Iterator[Annotator]:
        """An annotator with the cache locked and the endpoint open; `report` stays readable afterwards.

        Raises:
            ConfigError: no key in the environment, or the cache is being written.
        """
        key = read_key(self.settings)
        with CacheFile(self.cache) as cache, ChatEndpoint(self.settings, key) as endpoint:
            yield Annotator(self.settings, self.identity, endpoint, cache, progress)

    def run(self, annotator: Annotator) -> RunReport:
        """Asks what is missing; answers are read once more, now that nobody else adds any.

        Raises:
            ShopSimError: an error that ended the run; what was in flight is stored.
        """
        return annotator.run(self.tasks, self.read(), skip=self.skip, max_requests=self.max_requests)

    def import_file(self, path: Path) -> Imported:
        """Appends the usable answers of an older cache or an audit file.

        Raises:
            ConfigError: no such file, another format, or the cache is being written.
        """
        with CacheFile(self.cache) as cache:
            imported = import_answers(path, self.identity, self.tasks, self.read())
            cache.append(*imported.lines)
        return imported
