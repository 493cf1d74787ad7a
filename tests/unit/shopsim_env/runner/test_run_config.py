"""The file of a run, its plan and its fingerprint."""

import json

import pytest

from shopsim_env.errors import UsageError
from shopsim_env.runner.config import read_config
from shopsim_env.runner.plan import (
    differences,
    episode_id,
    episode_seed,
    fingerprint,
    make_plan,
    runtime_facts,
)

LEAST = """
[run]
name = "a"
[tasks]
split = "project/test"
[model]
name = "m"
base_url = "http://127.0.0.1:1/v1"
"""
VERSIONS = {"environment": "v9"}


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "configs" / "run.toml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write


def plan(config, ids=(3, 5, 8)):
    return make_plan(config, "release", VERSIONS, ids)


def test_seeds_are_the_first_four_bytes_of_a_hash():
    # printf '7:3:0' | sha256sum gives 03a95102..., and '0:12:5' gives 92e5c8ab...
    assert episode_seed(7, 3, 0) == 0x03A95102
    assert episode_seed(0, 12, 5) == 0x92E5C8AB
    assert episode_id({"task_id": 3, "sample_id": 12}) == "task-000003__sample-012"


def test_defaults_are_written_out_and_paths_begin_at_the_file(write, tmp_path):
    config = read_config(write(LEAST))
    assert config.folder == tmp_path / "configs" / "runs" / "a"
    assert config.environment == {
        "task_mode": "persona",
        "interaction_mode": "single_turn",
        "option_match": "anchored",
        "max_actions": 30,
        "page_size": 20,
        "observation_style": "full",
        "max_invalid": None,
        "persona_view": "default",
    }
    assert plan(config)["jobs"] == [
        {"task_id": task_id, "sample_id": 0, "seed": episode_seed(0, task_id, 0), "split": "project/test"}
        for task_id in (3, 5, 8)
    ]
    multi = read_config(write(LEAST + '[environment]\ninteraction_mode = "multi_turn"\n'))
    assert multi.environment["max_actions"] == 40


def test_what_is_in_the_plan_and_what_is_not(write):
    first = plan(read_config(write(LEAST)))
    how = (
        LEAST.replace("[tasks]", "concurrency = 99\ngrace_s = 1\nstop_after_failures = 5\n[tasks]").replace(
            "127.0.0.1:1", "example.org"
        )
        + 'stream = true\ntimeout_s = 3\ngive_up_s = 4\napi_key_env = "KEY"\n'
        + '[environment]\nserver = "http://127.0.0.1:5700"\nwait_s = 3\n'
    )
    assert fingerprint(plan(read_config(write(how)))) == fingerprint(first)
    assert runtime_facts(read_config(write(how)))["base_url"] == "http://example.org/v1"
    for changed, line in (
        (LEAST + "temperature = 0.5\n", "model.temperature: null recorded, 0.5 wanted"),
        (LEAST + "[model.extra_body]\ntop_k = 5\n", 'model.extra_body: null recorded, {"top_k":5} wanted'),
        (LEAST + "[environment]\npage_size = 5\n", "environment.page_size: 20 recorded, 5 wanted"),
        (LEAST + '[prompt]\ntools = "static"\n', 'prompt.tools: "dynamic" recorded, "static" wanted'),
        (LEAST + "[tasks.x]\n", None),
    ):
        if line is None:
            with pytest.raises(UsageError, match="expected only"):
                read_config(write(changed))
            continue
        other = plan(read_config(write(changed)))
        assert fingerprint(other) != fingerprint(first)
        assert differences(first, other) == [line]
    assert differences(first, plan(read_config(write(LEAST)), (3, 5))) == [
        "jobs: 3 recorded, 2 wanted, 2 of them the same"
    ]


def test_samples_are_drawn_by_the_seed_and_repeats_are_numbered(write):
    text = LEAST.replace('split = "project/test"', "ids = [1, 2, 3, 4, 5, 6]\nsample = 3\nrepeats = 2")
    first, again = (plan(read_config(write(text)), range(1, 7))["jobs"] for _ in range(2))
    assert first == again
    assert [job["sample_id"] for job in first] == [0, 1] * 3
    assert len({job["task_id"] for job in first}) == 3
    other = plan(read_config(write(text.replace('name = "a"', 'name = "a"\nseed = 1'))), range(1, 7))["jobs"]
    assert [job["task_id"] for job in other] != [job["task_id"] for job in first]
    with pytest.raises(UsageError, match="at most 2"):
        plan(read_config(write(text)), (1, 2))


def test_an_own_prompt_has_an_own_name(write, tmp_path):
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "mine.txt").write_text("买一件东西。\n", encoding="utf-8")
    own = LEAST + '[prompt]\nfile = "mine.txt"\nid = "mine-1"\n'
    config = read_config(write(own))
    assert (config.prompt.text, config.prompt_facts["id"]) == ("买一件东西。", "mine-1")
    assert config.prompt_facts["sha256"] == config.prompt.sha256
    for wrong in (own.replace('id = "mine-1"\n', ""), own.replace("mine.txt", "none.txt")):
        with pytest.raises(UsageError, match=r"prompt\."):
            read_config(write(wrong))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LEAST.replace('name = "a"', ""), "run: expected the field 'name'"),
        (LEAST.replace('"a"', '"../a"'), "name: expected text that matches"),
        (LEAST.replace('split = "project/test"', ""), "either split or ids"),
        (LEAST.replace("[tasks]", "[tasks]\nids = [1]"), "either split or ids"),
        (LEAST.replace('split = "project/test"', "ids = [1, 1]"), "none twice"),
        (LEAST.replace('split = "project/test"', 'ids = ["1"]'), "a list of integers from 0"),
        (LEAST.replace("[run]", "[run]\nconcurrency = 0"), "concurrency: expected an integer from 1"),
        (LEAST.replace("[run]", '[run]\nseed = "x"'), "seed: expected an integer, found str"),
        (LEAST + "[environment]\nsplit = 1\n", "environment: expected only"),
        (LEAST + '[environment]\nserver = "http://a"\nrelease = "b"\n', "found both"),
        (LEAST + "[server]\n", "expected only the tables"),
        (LEAST + "extra_body = 3\n", "extra_body: expected a table"),
        (LEAST + "extra_body = {a = nan}\n", "finite"),
        (LEAST.replace("http://", "http://user:pass@"), "base_url: expected text that matches"),
        ("[run\nkey = 'sk-SECRET'", "expected TOML"),
    ],
)
def test_a_wrong_file_is_refused_by_name(write, text, said):
    with pytest.raises(UsageError) as found:
        read_config(write(text))
    assert said in str(found.value)
    assert "run.toml" in str(found.value)
    assert "sk-SECRET" not in str(found.value)


def test_a_key_in_the_file_is_refused_and_not_shown(write):
    with pytest.raises(UsageError) as found:
        read_config(write(LEAST + 'api_key = "sk-SECRET"\n'))
    assert "'api_key'" in str(found.value)
    assert "sk-SECRET" not in str(found.value)
    with pytest.raises(UsageError, match="expected the file"):
        read_config("nowhere.toml")


def test_a_plan_is_json(write):
    made = plan(read_config(write(LEAST)))
    assert json.loads(json.dumps(made)) == made
