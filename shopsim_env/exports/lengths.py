"""How long the texts of recorded runs are, in tokens of a given tokenizer, characters or bytes.

Belongs here: counting and percentiles. Texts are counted as they are: what a chat template adds around
messages and tools is not in the figures.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from shopsim_env.canonical import ordered_json
from shopsim_env.errors import UsageError
from shopsim_env.exports.recorded import Episode, Message
from shopsim_env.runs.rows import table
from shopsim_env.runs.rows import text as text_of

CHARS, UTF8_BYTES = "chars", "utf8-bytes"
PARTS: Final = ("start", "observation", "tools", "answer", "reasoning", "episode", "answers_per_episode")
Counting = Callable[[str], int]


def counting(tokenizer: str) -> Counting:
    """How texts are counted.

    Args:
        tokenizer: `chars`, `utf8-bytes`, or a `tokenizer.json` or the folder that holds one.

    Raises:
        UsageError: the tokenizers package is missing (code `missing_extra`); no such file, or one that it
            does not read (code `no_tokenizer`).
    """
    if tokenizer == CHARS:
        return len
    if tokenizer == UTF8_BYTES:
        return lambda text: len(text.encode("utf-8", "surrogatepass"))
    path = Path(tokenizer)
    file = path / "tokenizer.json" if path.is_dir() else path
    if not file.is_file():
        raise UsageError(
            f"--tokenizer: expected {CHARS}, {UTF8_BYTES}, or a tokenizer.json, found none at {path}",
            code="no_tokenizer",
        )
    return _of_package(file)


def _of_package(file: Path) -> Counting:
    try:
        import tokenizers
    except ImportError as error:
        message = "a tokenizer file needs the tokenizers package; install 'shopsim[export]'."
        raise UsageError(message, code="missing_extra") from error
    try:
        loaded = tokenizers.Tokenizer.from_file(str(file))
    except Exception as error:  # the package raises Exception itself
        raise UsageError(
            f"{file}: expected a tokenizer.json, found a file that cannot be read as one", code="no_tokenizer"
        ) from error
    loaded.no_truncation()
    return lambda text: len(loaded.encode(text, add_special_tokens=False).ids)


@dataclass
class Lengths:
    """Lengths by part, held as how often each occurs.

    `start` is all messages before the first answer; `observation` one page; `tools` the schemas that one
    answer had; `answer` its content and calls; `episode` the sum of start, answers and what came back,
    without tools and reasoning.
    """

    count: Counting
    found: dict[str, Counter[int]] = field(default_factory=dict)

    def add(self, episode: Episode) -> None:
        """Counts one episode."""
        start = sum(self._message(message) for message in episode.start)
        self._note("start", start)
        whole = start
        for answer in episode.answers:
            state = table(answer.step.get("observation_state"))
            observation = self.count(text_of(answer.step.get("observation")))
            self._note("observation", observation)
            self._note(f"observation of {text_of(state.get('page_type')) or 'unknown'}", observation)
            self._note("tools", self.count(ordered_json(answer.tools)))
            self._note("reasoning", self.count(text_of(table(answer.step.get("model")).get("reasoning"))))
            spoken = self._message(answer.message)
            self._note("answer", spoken)
            whole += spoken + sum(self._message(reply) for reply in answer.replies)
        self._note("answers_per_episode", len(episode.answers))
        self._note("episode", whole)

    def table(self) -> dict[str, dict[str, float]]:
        """Number, mean, p50, p90, p99 and maximum of each part."""
        order = {name: place for place, name in enumerate(PARTS)}
        names = sorted(self.found, key=lambda name: (order.get(name.partition(" of ")[0], len(order)), name))
        return {name: summary(self.found[name]) for name in names}

    def _note(self, part: str, length: int) -> None:
        self.found.setdefault(part, Counter())[length] += 1

    def _message(self, message: Message) -> int:
        content = message.get("content")
        length = self.count(content if isinstance(content, str) else ordered_json(content) if content else "")
        calls = message.get("tool_calls")
        return length + (self.count(ordered_json(calls)) if calls else 0)


def profile(episodes: Iterable[Episode], count: Counting) -> dict[str, dict[str, float]]:
    """The table of lengths of all episodes."""
    lengths = Lengths(count)
    for episode in episodes:
        lengths.add(episode)
    return lengths.table()


def summary(found: Mapping[int, int]) -> dict[str, float]:
    """Figures of a distribution: percentiles by nearest rank, so each is a length that occurs."""
    total = sum(found.values())
    ordered = sorted(found.items())
    figures: dict[str, float] = {
        "count": total,
        "mean": math.fsum(length * often for length, often in ordered) / total,
    }
    for name, percent in (("p50", 50), ("p90", 90), ("p99", 99)):
        figures[name] = _nearest_rank(ordered, -(-total * percent // 100))
    figures["max"] = ordered[-1][0]
    return figures


def _nearest_rank(ordered: list[tuple[int, int]], rank: int) -> int:
    seen = 0
    for length, often in ordered:
        seen += often
        if seen >= rank:
            return length
    raise ValueError(f"rank {rank} of {seen}")
