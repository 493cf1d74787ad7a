"""`shopsim export` on real runs: what gets into files, what is refused, and what can never get in."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import builds
import pyarrow.parquet as pq
import pytest
from recorded_runs import broken, buyer, call, played, renamed, run_of, stumbling, with_reward

from shopsim_env import Release, load_release
from shopsim_env.cli import main
from shopsim_env.client.local import LocalClient
from shopsim_env.exports.held_out import Guard
from shopsim_env.exports.recorded import Recording
from shopsim_env.exports.sft import SftOptions, sft_rows
from shopsim_env.runner import Rollout
from shopsim_env.shop.anchor import anchor_key
from shopsim_env.shop.tools import static_tools, tools_for

Answer = dict[str, Any]
CANARIES = (
    builds.CANARY_FULL,
    builds.CANARY_OPTION,
    builds.CANARY_ATTRIBUTE,
    builds.CANARY_UNKNOWN,
    builds.CANARY_USER,
)


@pytest.fixture(scope="module")
def release() -> Iterator[Release]:
    with load_release() as opened:
        yield opened


@pytest.fixture(scope="module")
def train(release: Release) -> int:
    return release.splits["project/train"][0]


@pytest.fixture
def export(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, Answer, list[Any]]]:
    """Runs a command with `--out`; exit code, the printed document, the rows."""

    def run(*words: object, name: str = "out.jsonl") -> tuple[int, Answer, list[Any]]:
        out = tmp_path / name
        code = main(["export", *map(str, words), "--out", str(out), "--json"])
        rows = []
        if out.exists() and out.suffix == ".jsonl":
            rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
        return code, json.loads(capsys.readouterr().out), rows

    return run


def test_task_rows_begin_as_a_rollout_does(release: Release, export: Any) -> None:
    code, said, rows = export("tasks", "--split", "project/val", "--seed", 3)
    ids = release.splits["project/val"]
    assert (code, said["counts"]["rows"], [row["task_id"] for row in rows]) == (0, len(ids), list(ids))
    with LocalClient(release, slots=1) as client:
        for row in rows:
            about = row["extra_info"]
            options = {"seed": about["seed"], "prompt": about["prompt"], "tools": "static"}
            with Rollout.open(client, row["task_id"], **options, **about["environment"]) as rollout:
                assert row["prompt"] == rollout.messages
                assert json.loads(row["tools"]) == rollout.tools == static_tools()
    assert list(json.loads(rows[0]["tools"])[0]["function"]) == ["name", "description", "parameters"]
    assert {row["extra_info"]["release"] for row in rows} == {release.id}
    assert [row["extra_info"]["index"] for row in rows] == list(range(len(ids)))


def test_parquet_holds_the_same_rows_and_the_same_bytes_every_time(export: Any, tmp_path: Path) -> None:
    words = ("tasks", "--split", "project/test", "--interaction-mode", "multi_turn", "--max-actions", 9)
    rows = export(*words)[2]
    first, second = (export(*words, name=name)[1]["sha256"] for name in ("one.parquet", "two.parquet"))
    assert first == second
    file = pq.ParquetFile(tmp_path / "one.parquet")
    assert file.read().to_pylist() == rows
    assert b"pandas" not in (file.schema_arrow.metadata or {})
    assert {row["extra_info"]["environment"]["max_actions"] for row in rows} == {9}
    assert {len(json.loads(row["tools"])) for row in rows} == {3}  # search, click, ask_shopper


def test_wrong_task_files_are_refused(export: Any, tmp_path: Path) -> None:
    assert export("tasks", "--split", "project/none")[1]["error"]["code"] == "unknown_split"
    twice = ("--split", "project/val", "--split", "project/val")
    assert export("tasks", *twice)[1]["error"]["code"] == "duplicate_task"
    code, said, _ = export("tasks", "--split", "project/val", name="rows.csv")
    assert (code, said["error"]["code"]) == (2, "usage_error")
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_not_replaced_unasked(
    export: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out.jsonl").write_text("mine")
    code = main(["export", "tasks", "--split", "project/val", "--out", str(tmp_path / "out.jsonl")])
    assert code == 2
    assert "file_exists" in capsys.readouterr().err
    assert (tmp_path / "out.jsonl").read_text() == "mine"
    assert export("tasks", "--split", "project/val", "--force")[0] == 0
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]


def test_bad_answers_are_masked_or_their_episodes_dropped(
    release: Release, train: int, tmp_path: Path, export: Any
) -> None:
    clean = played(release, train, 0, buyer())
    stumble = stumbling([{"content": "我想想"}, call("click", value="没有这个")])
    # On the home page there is no click tool: the second answer is a protocol error as well.
    home = played(release, train, 1, stumble)
    refused = played(
        release, train, 2, stumbling([call("search", query="精华液"), call("click", value="没有")])
    )
    run = run_of(tmp_path / "run", clean, home, refused)

    code, said, rows = export("sft", run)
    assert (code, said["counts"]["masked"]) == (0, 3)
    marks = [[item["train"] for item in row["messages"] if item["role"] == "assistant"] for row in rows]
    assert all(marks[0])
    assert marks[1] == [False, False] + [True] * len(clean["steps"])
    assert marks[2][:2] == [True, False]
    assert all(marks[2][2:])
    for row, record in zip(rows, (clean, home, refused), strict=True):
        told = [{name: item[name] for name in item if name != "train"} for item in row["messages"]]
        assert told == record["conversation"][:-1]  # the page after the purchase teaches nothing
        assert row["turn_tools"] == [step["tools"] for step in record["steps"]]
        assert row["tools"] == static_tools()

    code, said, rows = export("sft", run, "--bad", "drop", "--force")
    assert [row["sample_id"] for row in rows] == [0]
    assert said["counts"]["bad_dropped"] == 2


def test_rows_per_turn_hold_what_the_model_had(
    release: Release, train: int, tmp_path: Path, export: Any
) -> None:
    record = played(release, train, 0, stumbling([{"content": "我想想"}]))
    rows = export("sft", run_of(tmp_path / "run", record), "--rows", "turn", "--reasoning", "keep")[2]
    assert [row["turn"] for row in rows] == list(range(2, len(record["steps"]) + 1))
    for row in rows:
        step = record["steps"][row["turn"] - 1]
        assert row["tools"] == step["tools"] == tools_for(step["observation_state"])
        *before, last = row["messages"]
        assert (last["role"], last["train"]) == ("assistant", True)
        assert last["reasoning_content"] == step["model"]["reasoning"] == f"想法{row['turn']}"
        assert step["observation"] in before[-1]["content"] or row["turn"] == 2
        assert not any(item.get("train") for item in before)
    assert "reasoning_content" not in json.dumps(export("sft", tmp_path / "run", "--force")[2])


def test_schemas_have_their_keys_in_the_order_in_which_they_are_sent(
    release: Release, train: int, tmp_path: Path
) -> None:
    record = json.loads(json.dumps(played(release, train, 0, buyer()), sort_keys=True))
    recording = Recording([run_of(tmp_path / "run", record)])
    (episode,) = recording.episodes(recording.places(), "sft")
    for answer, step in zip(episode.answers, record["steps"], strict=True):
        assert json.dumps(answer.tools) == json.dumps(tools_for(step["observation_state"]))


def test_only_good_episodes_become_examples(
    release: Release, train: int, tmp_path: Path, export: Any
) -> None:
    record = played(release, train, 0, buyer())
    rewards = (0.0, 0.4, 0.5, 1.0)
    run = run_of(
        tmp_path / "run", *(with_reward(renamed(record, n), reward) for n, reward in enumerate(rewards))
    )
    _, said, rows = export("sft", run, "--min-reward", 0.5)
    assert [row["reward"] for row in rows] == [0.5, 1.0]
    assert [row["success"] for row in rows] == [False, True]
    assert said["counts"]["low_reward"] == 2
    code, said, _ = export("sft", run, "--min-reward", 2, name="none.jsonl")
    assert (code, said["error"]["code"]) == (1, "nothing_to_export")
    assert not (tmp_path / "none.jsonl").exists()


@pytest.mark.parametrize("kind", ["sft", "groups", "preferences"])
def test_held_out_tasks_stay_out_unless_asked_for(
    kind: str, release: Release, train: int, tmp_path: Path, export: Any
) -> None:
    records = []
    for task_id in (train, release.splits["project/test"][0]):
        record = played(release, task_id, 0, buyer())
        records += [with_reward(record, 1.0), with_reward(renamed(record, 1), 0.0)]
    run = run_of(tmp_path / "run", *records)
    code, said, rows = export(kind, run)
    assert (code, said["error"]["code"], rows) == (1, "held_out", [])
    assert "project/test" in said["error"]["message"]
    code, said, rows = export(kind, run, "--split", "project/train")
    assert (code, {row["task_id"] for row in rows}, said["counts"]["other_split"]) == (0, {train}, 2)
    code, _, rows = export(kind, run, "--split", "project/test", "--force")
    assert (code, {row["task_id"] for row in rows}) == (0, {records[-1]["job"]["task_id"]})
    # The families overlap: a split of the other one does not open what is held out.
    family = next(
        name
        for name in ("source/persona_train", "source/persona_eval")
        if records[-1]["job"]["task_id"] in release.splits[name]
    )
    code, said, _ = export(kind, run, "--split", family, "--force")
    assert (code, said["error"]["code"]) == (1, "held_out")
    assert export(kind, run, "--held-out", "no/split", "--force")[1]["error"]["code"] == "unknown_split"


def test_episodes_of_another_release_are_refused(
    release: Release, train: int, tmp_path: Path, export: Any
) -> None:
    record = played(release, train, 0, buyer())
    record["provenance"]["release"] = "f" * 64
    code, said, _ = export("sft", run_of(tmp_path / "run", record))
    assert (code, said["error"]["code"]) == (1, "other_release")


def test_tasks_that_repeat_a_held_out_text_are_named(small_release: Path, tmp_path: Path) -> None:
    with load_release(small_release) as small:
        run = run_of(tmp_path / "run", played(small, 2, 0, buyer()), played(small, 0, 0, buyer()))
        places = Recording([run]).places()
        assert Guard(small, held_out=("source/standard_train",)).near_tasks(places) == [2]
        assert Guard(small, held_out=("source/persona_train",)).near_tasks(places) == [0]


def test_a_group_counts_what_has_no_result(release: Release, train: int, tmp_path: Path, export: Any) -> None:
    record = played(release, train, 0, buyer())
    members = [with_reward(record, 1.0), *(broken(record, number) for number in range(1, 10))]
    code, said, (group,) = export("groups", run_of(tmp_path / "run", *members))
    assert (code, group["size"], group["without_result"]) == (0, 1, 9)
    assert (group["mean"], group["std"], group["zero_variance"]) == (1.0, 0.0, True)
    assert [member["advantage"] for member in group["members"]] == [0.0]
    counts = said["counts"]
    assert (counts["failed"], counts["members"], counts["zero_variance"], counts["single"]) == (9, 1, 1, 1)


def test_groups_are_of_one_start(release: Release, train: int, tmp_path: Path, export: Any) -> None:
    record = played(release, train, 0, buyer())
    other_page = played(release, train, 3, buyer(), page_size=5)
    other_prompt = renamed(record, 4)
    other_prompt["provenance"] = {**record["provenance"], "prompt": {"id": "en-v1", "tools": "dynamic"}}
    run = run_of(
        tmp_path / "run",
        with_reward(record, 1.0),
        with_reward(renamed(record, 1), 0.5),
        with_reward(renamed(record, 2), 0.0),
        other_page,
        other_prompt,
    )
    said, groups = export("groups", run)[1:]
    assert [group["size"] for group in groups] == [3, 1, 1]
    assert [member["advantage"] for member in groups[0]["members"]] == [0.5, 0.0, -0.5]
    assert (groups[0]["mean"], groups[0]["std"], groups[0]["zero_variance"]) == (0.5, 0.5, False)
    assert said["counts"]["groups"] == 3
    first = groups[0]["members"][0]["steps"]
    assert [step["anchor"] for step in first] == [
        anchor_key(step["observation_state"]) for step in record["steps"]
    ]
    assert [step["action"] for step in first] == [step["action"] for step in record["steps"]]
    scaled = export("groups", run, "--scale", "--force")[2]
    assert [member["advantage"] for member in scaled[0]["members"]] == [1.0, 0.0, -1.0]


def test_pairs_are_of_one_start_and_never_of_broken_episodes(
    release: Release, train: int, tmp_path: Path, export: Any
) -> None:
    record = played(release, train, 0, buyer())
    rewards = {0: 0.25, 1: 1.0, 2: 0.0, 3: 1.0, 4: 0.2}
    members = [with_reward(renamed(record, number), reward) for number, reward in rewards.items()]
    run = run_of(tmp_path / "run", *members, broken(record, 5))
    said, pairs = export("preferences", run, "--pairs", 5)[1:]
    # Best with worst; the first of equal ones; the middle one stays alone.
    assert [(pair["chosen_episode_id"][-3:], pair["rejected_episode_id"][-3:]) for pair in pairs] == [
        ("001", "002"),
        ("003", "004"),
    ]
    assert [pair["margin"] for pair in pairs] == [1.0, 0.8]
    assert said["counts"]["failed"] == 1
    for pair in pairs:
        assert pair["prompt"] == record["conversation"][:2]
        assert pair["prompt"][-1]["role"] == "user"
        assert pair["chosen"][0]["role"] == pair["chosen"][-1]["role"] == "assistant"
    assert len(export("preferences", run, "--pairs", 5, "--margin", 0.9, "--force")[2]) == 1
    assert export("preferences", run, "--margin", 0, "--force")[1]["error"]["code"] == "usage_error"


def test_lines_that_are_no_episodes_are_counted(release: Release, train: int, tmp_path: Path) -> None:
    record = played(release, train, 0, buyer())
    odd = [
        {**renamed(record, 1), "conversation": []},
        {**renamed(record, 2), "conversation": [1, 2, 3]},
        {**renamed(record, 3), "steps": record["steps"][:-1]},
        {**renamed(record, 4), "conversation": record["conversation"][2:]},
        {**renamed(record, 5), "note": "\ud800"},
        {"schema": "other", "task_id": 1},
    ]
    run = run_of(tmp_path / "run", record, *odd)
    with (run / "traces.jsonl").open("ab") as stream:
        stream.write(b'{"schema": "shopsim-epi')
    recording = Recording([run])
    rows = list(sft_rows(recording.episodes(recording.places(), "sft"), SftOptions(), recording.counts))
    assert [row["sample_id"] for row in rows] == [0]
    counts = recording.counts
    assert (counts["without_messages"], counts["unreadable"], counts["unfinished_line"]) == (5, 1, 1)


def test_the_last_line_of_an_episode_counts(
    release: Release, train: int, tmp_path: Path, export: Any
) -> None:
    record = played(release, train, 0, buyer())
    run = run_of(tmp_path / "run", broken(record, 0), with_reward(record, 1.0))
    said, rows = export("sft", run)[1:]
    assert [row["reward"] for row in rows] == [1.0]
    assert said["counts"]["replaced"] == 1


def test_lengths(release: Release, train: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = played(release, train, 0, buyer())
    run = run_of(tmp_path / "run", record)
    for unit, count in (("chars", len), ("utf8-bytes", lambda text: len(text.encode()))):
        assert main(["export", "lengths", str(run), "--tokenizer", unit, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)["lengths"]
        pages = sorted(count(step["observation"]) for step in record["steps"])
        assert (found["observation"]["max"], found["observation"]["count"]) == (pages[-1], len(pages))
        assert found["start"]["p50"] == sum(count(item["content"]) for item in record["conversation"][:2])
        assert found["answers_per_episode"]["max"] == len(record["steps"])
    assert main(["export", "lengths", str(run)]) == 0
    assert "observation of search_results" in capsys.readouterr().out
    assert main(["export", "lengths", str(run), "--tokenizer", str(tmp_path / "no.json")]) == 2
    assert "no_tokenizer" in capsys.readouterr().err
    assert main(["export", "lengths", str(tmp_path / "nothing")]) == 2


def test_no_export_holds_a_private_text(small_release: Path, tmp_path: Path) -> None:
    """The full text, options and attributes of a persona task are private; canaries stand in all of them."""
    with load_release(small_release) as small:
        one = played(small, 0, 0, buyer())
        run = run_of(tmp_path / "run", with_reward(one, 1.0), with_reward(renamed(one, 1), 0.0))
    where = ("--release", str(small_release))
    assert (
        main(
            ["export", "tasks", "--split", "source/persona_train", *where, "--out", str(tmp_path / "t.jsonl")]
        )
        == 0
    )
    words = ("tasks", "--split", "source/persona_train", *where, "--out", str(tmp_path / "t.parquet"))
    assert main(["export", *words]) == 0
    for kind in ("sft", "groups", "preferences"):
        assert main(["export", kind, str(run), *where, "--out", str(tmp_path / f"{kind}.jsonl")]) == 0
    texts = [path.read_text(encoding="utf-8") for path in sorted(tmp_path.glob("*.jsonl"))]
    texts.append(json.dumps(pq.read_table(tmp_path / "t.parquet").to_pylist(), ensure_ascii=False))
    assert len(texts) == 5
    assert all("找一盏营地灯" in text for text in (texts[1], texts[2], texts[3], texts[4]))
    for text in texts:
        for canary in CANARIES:
            assert canary not in text
