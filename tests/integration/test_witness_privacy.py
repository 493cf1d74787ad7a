"""An action list that searches a private text is in one private file, and nowhere that others look."""

import json
from pathlib import Path

import builds
import dagster as dg
import pytest
from builds import config, record, task, write_records

from pipelines.build import BuildReport, run_build
from pipelines.report import build_lines
from shopsim_env.release import load_release
from shopsim_env.release.layout import PRIVATE_FOLDER, WITNESSES
from shopsim_env.shop.env import ShopEnv

FULL = f"想买一盏营地灯，{builds.CANARY_FULL}"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, BuildReport]:
    """The shown text finds nothing, so the list has to search the private one."""
    folder = tmp_path_factory.mktemp("private")
    gold = record(
        "700000000001",
        "星野 营地灯 可充电",
        user_persona={"用户标签": ["露营"]},
        instructions=[task(FULL, "随便看看")],
    )
    other = record("700000000002", "云杉 帐篷", instructions=[task("想要防水帐篷")])
    raw = write_records(folder / "raw.json.gz", [gold, other])
    (folder / "home").mkdir()
    with dg.DagsterInstance.local_temp(
        str(folder / "home"), overrides={"telemetry": {"enabled": False}}
    ) as instance:
        report = run_build(config(folder, raw=raw), instance=instance)
    assert report.ok, report.problems
    return folder, report


def test_the_list_holds_the_private_text(built: tuple[Path, BuildReport]) -> None:
    with load_release(built[1].release) as release:
        witness = release.private().witness(0, "persona")
        assert (witness.grades, witness.found_by) == (("W1",), "full")
        assert witness.actions[0] == f"search[{FULL}]"


def test_run_history_reports_and_public_files_do_not(built: tuple[Path, BuildReport]) -> None:
    folder, report = built
    release = Path(report.release or "").resolve()
    assert builds.CANARY_FULL in (release / WITNESSES).read_text(encoding="utf-8")
    history = [path for path in (folder / "home").rglob("*") if path.is_file()]
    public = [
        path
        for path in release.rglob("*")
        if path.is_file() and not path.relative_to(release).as_posix().startswith(PRIVATE_FOLDER)
    ]
    assert history
    assert public
    for path in history + public:
        data = path.read_bytes()
        assert builds.CANARY_FULL.encode() not in data, path
    printed = json.dumps(report.as_dict(), ensure_ascii=False) + "\n".join(build_lines(report))
    assert builds.CANARY_FULL not in printed


def test_no_episode_shows_grade_reason_or_list(built: tuple[Path, BuildReport]) -> None:
    with load_release(built[1].release) as release:
        env = ShopEnv(release)
        start = env.reset(0)
        step = env.step("search[露营]")
        shown = repr(start) + repr(step) + json.dumps([env.tools(), dict(step.info)], ensure_ascii=False)
        assert builds.CANARY_FULL not in shown
        assert not any(word in shown for word in ("W1", "found_by", "witness"))
