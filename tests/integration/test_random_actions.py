"""A small slice of `benchmarks.random_actions`: random play shows no canary, and the search works."""

import copy
import json
import logging
from pathlib import Path

import builds

from benchmarks.random_actions import FULL, KEPT, TOLD, Canaries, Findings, Listener, archives, plant, play
from shopsim_env import load_release

CANARIES = Canaries(
    told=(builds.CANARY_OPTION, builds.CANARY_ATTRIBUTE),
    full=(builds.CANARY_FULL,),
    kept=(builds.CANARY_UNKNOWN, builds.CANARY_USER),
)


def test_random_actions_show_no_canary(small_release: Path) -> None:
    with load_release(small_release) as release:
        findings = play(release, 1_200, 1, CANARIES)
    assert findings.clean, (findings.leaks, findings.faults)
    assert sum(findings.actions.values()) == 1_200
    assert findings.seen["observation"] + findings.seen["error"] >= 1_200
    surfaces = {"start", "observation", "state", "tool schema", "result", "trace line", "error", "repr"}
    assert set(findings.seen) >= surfaces
    assert set(findings.ends) <= {"purchase", "action_limit", "generation_length"}


def test_a_shown_word_is_found_on_every_surface_that_shows_it(small_release: Path) -> None:
    """The other way round: a word of public texts counts as a leak everywhere."""
    with load_release(small_release) as release:
        findings = play(release, 300, 2, Canaries((), (), ("营地灯",)))
    assert not findings.clean
    assert {"start", "observation", "state", "repr"} <= set(findings.leaks)


def test_log_lines_and_warnings_are_looked_at() -> None:
    findings = Findings()
    logger = logging.getLogger("canary")
    logger.addHandler(Listener(findings, ("geheim",)))
    logger.error("a %s", "Geheim")
    assert findings.leaks == {"log line": 1}
    assert not Findings().clean


def test_canaries_stand_in_every_private_field() -> None:
    records = builds.small_records()
    before = copy.deepcopy(records)
    planted = list(plant(records))
    assert records == before
    persona, standard = planted[0], planted[2]
    assert persona["instructions"][0]["instruction"].endswith(FULL)
    assert FULL not in standard["instructions"][0]["instruction"], "this text is public"
    for record in (persona, standard):
        assert KEPT in record["query"]
        assert TOLD in record["instructions"][0]["attributes"]
        assert record["instructions"][0]["instruction_options"][-1].startswith(TOLD)
    assert KEPT in json.dumps(persona["user_persona"])
    assert KEPT not in json.dumps({key: value for key, value in standard.items() if key not in PRIVATE})


PRIVATE = ("query", "answer", "instructions", "user_persona")


def test_the_sample_archive_gets_canaries(tmp_path: Path) -> None:
    found = dict(archives(tmp_path / "nowhere", tmp_path))
    assert list(found) == ["sample"]
    text = found["sample"].read_text(encoding="utf-8")
    assert text.count(TOLD) > 700
    assert len(json.loads(text)) == 800
