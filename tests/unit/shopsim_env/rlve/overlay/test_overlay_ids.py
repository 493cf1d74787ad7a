"""Opaque ids and provenance: nothing resolves before it was shown, and only four sources show."""

import pytest

from shopsim_env.errors import UsageError
from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.overlay import SOURCES, OpaqueIds, Seen


def test_an_id_resolves_once_it_was_shown() -> None:
    ids = OpaqueIds(Draws("a"))
    name = ids.product_id(7)
    assert ids.number(name) is None, "asking for an id shows it to nobody"
    assert ids.show(7) == name
    assert ids.number(name) == 7
    assert ids.number("p_000000000000") is None


def test_ids_are_of_one_episode_and_do_not_depend_on_order() -> None:
    first, second, other = OpaqueIds(Draws("a")), OpaqueIds(Draws("a")), OpaqueIds(Draws("b"))
    names = [first.product_id(number) for number in range(1, 500)]
    assert [second.product_id(number) for number in reversed(range(1, 500))] == names[::-1]
    assert len(set(names)) == 499
    assert not set(names) & {other.product_id(number) for number in range(1, 500)}
    assert all(len(name) == 14 and name.startswith("p_") for name in names)


def test_two_products_never_share_an_id(monkeypatch: pytest.MonkeyPatch) -> None:
    # A code that does not tell products apart, but attempts.
    monkeypatch.setattr(Draws, "code", lambda self, *path: len(path) << 60)
    ids = OpaqueIds(Draws("a"))
    assert ids.product_id(1) != ids.product_id(2)


@pytest.mark.parametrize("source", SOURCES)
def test_each_source_makes_an_id_seen(source: str) -> None:
    """Case seen-sources."""
    seen = Seen()
    seen.add("x", source)
    seen.add("x", "customer")
    assert "x" in seen
    assert seen.source("x") == source
    assert (list(seen), len(seen)) == (["x"], 1)


def test_another_source_is_refused() -> None:
    seen = Seen()
    with pytest.raises(UsageError) as caught:
        seen.add("x", "get_product")
    assert caught.value.code == "unknown_source"
    assert ("x" in seen, seen.source("x")) == (False, None)
