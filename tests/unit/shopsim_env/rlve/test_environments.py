"""Environments and collections: the lists typed in, nesting, refusals."""

import pytest

from shopsim_env.errors import UsageError
from shopsim_env.rlve.environments import COLLECTIONS, ENVIRONMENTS, collection, environment

EIGHT = {"PD", "SUB", "CART", "RETURN", "STATUS", "POLICY", "BUNDLE", "JOURNEY"}


def test_the_eight_environments():
    assert set(ENVIRONMENTS) == EIGHT
    assert environment("CART") == "cart building"


def test_collections_that_begin_with_cart_building():
    assert collection("C1") == ("CART",)
    assert collection("C2") == ("CART", "PD")
    assert collection("C4") == ("CART", "PD", "SUB", "RETURN")
    assert collection("C8") == ("CART", "PD", "SUB", "RETURN", "STATUS", "POLICY", "BUNDLE", "JOURNEY")


def test_collections_in_the_order_of_the_published_code():
    assert collection("R1") == ("PD",)
    assert collection("R2") == ("PD", "SUB")
    assert collection("R4") == ("PD", "SUB", "CART", "RETURN")
    assert collection("R8") == ("PD", "SUB", "CART", "RETURN", "STATUS", "POLICY", "BUNDLE", "JOURNEY")


def test_there_are_no_others_and_none_can_be_added():
    assert list(COLLECTIONS) == ["C1", "C2", "C4", "C8", "R1", "R2", "R4", "R8"]
    with pytest.raises(TypeError):
        COLLECTIONS["C3"] = ("PD",)


def test_a_list_of_ids_is_a_collection():
    assert collection(["CART"]) == ("CART",)
    assert collection(name for name in ("STATUS", "PD")) == ("STATUS", "PD")


@pytest.mark.parametrize(
    ("chosen", "code", "words"),
    [
        ("C3", "unknown_collection", "C1, C2, C4, C8, R1, R2, R4, R8"),
        ("c1", "unknown_collection", "found 'c1'"),
        ("CART", "unknown_collection", "or a list of environment ids"),
        (["CART", "SHOP"], "unknown_environment", "found 'SHOP'"),
        ([1], "unknown_environment", "found 1"),
        ([], "bad_collection", r"found \[\]"),
        (["PD", "PD"], "bad_collection", "none twice"),
    ],
)
def test_what_is_no_collection_is_refused(chosen, code, words):
    with pytest.raises(UsageError, match=words) as caught:
        collection(chosen)
    assert caught.value.code == code


@pytest.mark.parametrize("env_id", ["", "cart", "C1"])
def test_an_unknown_environment_is_refused(env_id):
    with pytest.raises(UsageError, match="expected one of PD, SUB") as caught:
        environment(env_id)
    assert caught.value.code == "unknown_environment"
