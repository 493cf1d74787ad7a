"""What is remembered changes nothing that is shown, and nothing that was handed out changes it."""

import json

from shop_world import LAMP, ODD, SmallRelease, shop_release

from shopsim_env.shop.env import ShopEnv
from shopsim_env.shop.observation import build_state
from shopsim_env.shop.pages import SearchResults
from shopsim_env.shop.shelf import Shelf, as_shelf, caches_of

ACTIONS = (
    "search[毛毡]",
    "click[next >]",
    "click[< prev]",
    "click[back to search]",
    "search[星野台灯]",
    f"click[{LAMP}]",
    "click[颜色分类=雾蓝]",
    "click[颜色分类=沙色]",
    "click[套装=单灯]",
    "click[buy now]",
)


class CountingRelease(SmallRelease):
    """Counts what pages ask of it."""

    asked: list[str]

    def search(self, query, top_k=150):
        self.asked.append(query)
        return super().search(query, top_k)


def played(env, spoil):
    """Every text and state; `spoil` changes what was handed out before the next step."""
    start = env.reset(3)
    shown = [(start.observation, json.dumps(start.observation_state))]
    for action in ACTIONS:
        step = env.step(action)
        shown.append((step.observation, json.dumps(step.observation_state), json.dumps(step.reward_detail)))
        if spoil:
            for value in step.observation_state.values():
                if isinstance(value, (list, dict)):
                    value.clear()
            step.observation_state.clear()
            step.reward_detail.clear()
    return shown


def nested_spoil(state):
    for product in state.get("products", []):
        product["title"] = "gone"
        product["key_attributes"].append("new")
    for values in state.get("available_options", {}).values():
        values.clear()
    state.get("selected_options", {}).clear()
    state.get("product", {}).clear()


def test_remembered_pages_are_equal_and_out_of_reach(release):
    caches_of(release).clear()
    first = played(ShopEnv(release), spoil=False)
    assert played(ShopEnv(release), spoil=True) == first
    env = ShopEnv(release)
    env.reset(3)
    for action in ACTIONS:
        nested_spoil(env.step(action).observation_state)
    assert played(ShopEnv(release), spoil=False) == first


def test_a_query_is_computed_once_for_all_episodes(tmp_path):
    release = CountingRelease(tmp_path)
    release.asked = []
    release.tasks = {}
    release.add(1, LAMP, "买台灯")
    for _ in range(3):
        env = ShopEnv(release)
        env.reset(1)
        env.step("search[毛毡]")
    assert release.asked == ["毛毡"]
    caches_of(release).queries.clear()
    env.reset(1)
    env.step("search[毛毡]")
    assert release.asked == ["毛毡", "毛毡"]
    release.close()


def test_releases_do_not_share(tmp_path):
    """The same asin is another product elsewhere."""
    record = {"asin": LAMP, "title": "另一个 台灯", "customization_options": {}}
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one, other = shop_release(tmp_path / "a"), SmallRelease(tmp_path / "b", [record])
    other.add(3, LAMP, "买台灯")
    titles = []
    for release in (one, other):
        env = ShopEnv(release)
        env.reset(3)
        env.step("search[台灯]")
        titles.append(env.step(f"click[{LAMP}]").observation_state["product"]["title"])
        release.close()
    assert titles == ["星野 便携 台灯", "另一个 台灯"]


def test_a_page_with_other_hits_for_the_same_words_is_another_page(release):
    shelf = Shelf(release)
    one = build_state(SearchResults("词", (LAMP,)), None, shelf)
    other = build_state(SearchResults("词", (ODD,)), None, shelf)
    assert [one["products"][0]["asin"], other["products"][0]["asin"]] == [LAMP, ODD]
    assert as_shelf(shelf) is shelf


def test_caches_die_with_their_release(tmp_path):
    release = SmallRelease(tmp_path)
    caches = caches_of(release)
    assert caches_of(release) is caches
    release.close()

    class Plain:
        __slots__ = ()

    assert caches_of(Plain()) is not None
