"""`shopsim rlve difficulty`: the table, the JSON document, wrong use."""

import json

import pytest

from shopsim_env.cli import main


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line.strip().startswith(("d ", *"0123456789"))]


def test_the_table(capsys):
    assert main(["rlve", "difficulty", "--to", "1"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0] == "All environments"
    shared, single = rows(out)[:3], rows(out)[3:]
    assert [" ".join(row) for row in shared] == [
        "d m k_rec T_max p_missing p_noise p_switch top_k eps_rank p_oos H_orders B_branch B_tool",
        "0 1 3 4 0.0954 0.0000 0.0455 200 0.0000 0.0000 1 1 1",
        "1 2 3 4 0.1669 0.0100 0.0715 190 0.0200 0.0500 1 1 1",
    ]
    assert [row[0] for row in single] == ["d", "0", "1"]
    found = dict(zip(single[0], single[1], strict=True))
    assert (found["cart_items"], found["cart_p_variant"], found["slack"]) == ("1", "0.0000", "0.5000")
    assert found["journey_turns"] == "8"  # two parts of four turns


def test_columns_stand_under_their_names(capsys):
    assert main(["rlve", "difficulty"]) == 0
    first = capsys.readouterr().out.split("\n\n")[0].splitlines()[1:]
    assert len(first) == 1 + 13, "levels 0 to 12"
    assert len({len(line) for line in first}) == 1


def test_the_document(capsys):
    assert main(["rlve", "difficulty", "--to", "4", "--json"]) == 0
    levels = json.loads(capsys.readouterr().out)["levels"]
    assert [level["d"] for level in levels] == [0, 1, 2, 3, 4]
    assert levels[4]["axes"]["p_missing"] == pytest.approx(0.528605, abs=1e-6)
    assert levels[4]["axes"]["T_max"] == 6
    assert levels[4]["environments"]["return_p_edge"] == pytest.approx(0.35)
    assert levels[4]["environments"]["journey_turns"] == 3 * 6


@pytest.mark.parametrize("to", ["-1", "10001"])
def test_a_last_difficulty_that_is_none(to, capsys):
    assert main(["rlve", "difficulty", "--json", "--to", to]) == 2
    shown = capsys.readouterr()
    assert json.loads(shown.out)["error"]["code"] == "bad_difficulty"
    assert shown.err == f"shopsim: bad_difficulty: --to: expected 0 to 10000, found {to}\n"


@pytest.mark.parametrize("words", [["rlve"], ["rlve", "nothing"], ["rlve", "difficulty", "--to", "x"]])
def test_wrong_words(words, capsys):
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    assert "usage: shopsim rlve" in capsys.readouterr().err


def test_curves_go_from_the_least_to_the_largest(capsys):
    assert main(["rlve", "difficulty", "--to", "12"]) == 0
    curves = capsys.readouterr().out.split("Curves over d = 0 to 12\n")[1].splitlines()
    found = {line.split()[0]: line.split(maxsplit=2)[1:] for line in curves}
    # k_rec = min(10, 3 + d // 3): 3, 4, 5, 6, 7; quarters of seven steps: 0, 2 (1.75), 4 (3.5), 5 (5.25), 7.
    assert found["k_rec"] == ["▁▁▁▃▃▃▅▅▅▆▆▆█", "3 to 7"]
    assert found["top_k"][1] == "80 to 200"


def test_one_level_has_flat_curves(capsys):
    assert main(["rlve", "difficulty", "--to", "0"]) == 0
    curves = capsys.readouterr().out.split("Curves over d = 0 to 0\n")[1].splitlines()
    assert {line.split()[1] for line in curves} == {"▁"}
