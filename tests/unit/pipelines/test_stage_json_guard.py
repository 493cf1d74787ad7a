"""What the JSON scanner would swallow or choke on is found first, with its place, however the text is cut."""

import itertools
import random
import tracemalloc
from pathlib import Path

import pytest

from pipelines.errors import DatasetError
from pipelines.stages.json_archive import iter_array
from pipelines.stages.json_guard import MAX_DEPTH, GuardFault, JsonGuard


def verdict(*pieces: bytes) -> tuple[str, int] | None:
    guard = JsonGuard()
    try:
        for piece in pieces:
            guard.feed(piece)
    except GuardFault as fault:
        return fault.code, fault.offset
    return None


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        (rb'["\ud800"]', 2),
        (rb'["a\ud800b"]', 3),
        (rb'["\udc00\ud800"]', 2),
        (rb'["\ud83d\ude00\ude00"]', 14),
        (rb'["\ud83d\n"]', 2),
        (rb'{"\uD83D": 1}', 2),
        (rb'["\\\ud800"]', 4),
    ],
)
def test_an_unpaired_surrogate_has_a_place(text: bytes, offset: int) -> None:
    assert verdict(text) == ("unpaired_surrogate", offset)
    assert verdict(*(bytes([byte]) for byte in text)) == ("unpaired_surrogate", offset)


@pytest.mark.parametrize(
    "text",
    [
        rb'["\ud83d\ude00"]',
        rb'["\\ud800 \\\\ud800"]',
        rb'["\u00e9\ud7ff\ue000"]',
        rb'["\"[[[[", "\\"]',
        b'["' + b"[{" * MAX_DEPTH + b'"]',
        b"[" * MAX_DEPTH + b"]" * MAX_DEPTH,
        b"[" + b"{}," * (2 * MAX_DEPTH) + b"{}]",
    ],
)
def test_sound_text_passes(text: bytes) -> None:
    assert verdict(text) is None
    assert verdict(*(bytes([byte]) for byte in text)) is None


def test_one_level_too_many_is_refused_where_it_opens() -> None:
    text = b'["[\\"[", ' + b"[" * MAX_DEPTH + b"]" * MAX_DEPTH + b"]"
    assert verdict(text) == ("nested_too_deeply", text.index(b" [") + MAX_DEPTH)


def test_the_cut_of_the_pieces_does_not_matter() -> None:
    dice = random.Random(7)  # noqa: S311
    words = [
        b"a",
        rb"\\",
        rb"\"",
        rb"\u0041",
        rb"\ud83d\ude00",
        rb"\n",
        b"[",
        b'", "',
        rb"\ud83d",
        rb"\ude00",
    ]
    for _ in range(300):
        text = b'["' + b"".join(dice.choices(words, (9, 3, 3, 3, 3, 3, 3, 3, 1, 1), k=9)) + b'"]'
        cuts = [0, *sorted(dice.choices(range(len(text)), k=4)), len(text)]
        pieces = (text[start:stop] for start, stop in itertools.pairwise(cuts))
        assert verdict(*pieces) == verdict(text), text


def test_the_archive_reader_names_record_field_and_byte(tmp_path: Path) -> None:
    path = tmp_path / "raw.json"
    path.write_bytes(rb'[{"a": 1}, {"b": {"c": ["x", "\ud800"]}}]')
    with pytest.raises(DatasetError, match=r"record 1, field 'b\.c\[1\]'.* at byte 30 ") as caught:
        list(iter_array(path))
    assert caught.value.code == "unpaired_surrogate"


def test_a_million_levels_cost_no_memory(tmp_path: Path) -> None:
    """The scanner alone took gigabytes at a hundred thousand."""
    path = tmp_path / "raw.json"
    path.write_bytes(b"[" * 1_000_000)
    tracemalloc.start()
    with pytest.raises(DatasetError) as caught:
        list(iter_array(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert caught.value.code == "nested_too_deeply"
    assert peak < 50_000_000
