"""A client of `POST /api/shop_agent`, written from the description of the published service alone.

It imports nothing of this project: what it believes about keys, statuses and answers is what a trainer of the
published environment believes.
"""

import http.client
import json
from typing import Any


class PublishedError(Exception):
    def __init__(self, status: int, body: Any) -> None:
        super().__init__(f"{status} {body}")
        self.status = status
        self.body = body


class PublishedClient:
    """One lease at a time, as the published client: it drops its ids even when a release fails."""

    def __init__(self, host: str, port: int) -> None:
        self._wire = http.client.HTTPConnection(host, port, timeout=30)
        self._env_idx: int | None = None
        self._lease_id: str | None = None
        self.task: dict[str, Any] = {}

    def reset(self, idx: int, *, if_persona: bool = False, interaction_mode: str = "single_turn") -> Any:
        result = self._post(action="reset", idx=idx, if_persona=if_persona, interaction_mode=interaction_mode)
        for key in (
            "task_instruction",
            "observation",
            "observation_state",
            "env_idx",
            "lease_id",
            "user_persona",
        ):
            if key not in result:
                raise PublishedError(200, f"the answer lacks {key}")
        self._env_idx, self._lease_id, self.task = result["env_idx"], result["lease_id"], result
        return result

    def interact(self, response: str) -> Any:
        result = self._post(action="interact", response=response, **self._lease())
        if "observation" not in result or "observation_state" not in result:
            raise PublishedError(200, "the answer lacks the page")
        return result

    def terminate(self, reason: str) -> Any:
        return self._post(action="terminate", termination_reason=reason, **self._lease())

    def release(self) -> Any:
        lease = self._lease()
        self._env_idx = self._lease_id = None
        return self._post(action="release_one", **lease)

    def close(self) -> None:
        self._wire.close()

    def _lease(self) -> dict[str, Any]:
        return {"env_idx": self._env_idx, "lease_id": self._lease_id}

    def _post(self, **body: Any) -> Any:
        self._wire.request(
            "POST", "/api/shop_agent", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        answer = self._wire.getresponse()
        content = json.loads(answer.read())
        if answer.status != 200 or "error" in content:
            raise PublishedError(answer.status, content)
        return content["result"]


def play_episode(client: PublishedClient, idx: int, number: int, *, persona: bool) -> Any:
    """Searches the visible text, opens a product, chooses every axis, buys; the last answer."""
    start = client.reset(idx, if_persona=persona)
    assert start["idx"] == idx
    assert start["task_mode"] == ("persona" if persona else "standard")
    assert (start["user_persona"] == {}) or persona
    assert start["observation"].startswith("页面：搜索首页\n")
    state = client.interact(f"search[{start['task_instruction']}]")["observation_state"]
    assert state["page_type"] == "search_results"
    offered = [product["asin"] for product in state["products"]]
    assert [text for text in state["actions"] if text in offered] == offered
    answer = client.interact(f"想好了。\nAction: click[{offered[number % len(offered)]}]")
    while answer["observation_state"]["missing_option_axes"]:
        assert (answer["done"], answer["over"], answer["reward"]) == (False, False, 0)
        assert (answer["reward_detail"], answer["purchase"], answer["goal"]) == ({}, {}, {})
        axis = answer["observation_state"]["missing_option_axes"][0]
        values = [text for text in answer["observation_state"]["actions"] if text.startswith(f"{axis}=")]
        answer = client.interact(f"click[{values[number % len(values)]}]")
        assert (answer["message"], answer["action_feedback"]["valid"]) == ("Continue interaction", True)
    assert client.interact("click[没有的东西]")["message"] == "Invalid action"
    answer = client.interact("click[buy now]")
    assert (answer["done"], answer["over"], answer["termination_reason"]) == (True, True, "purchase")
    assert answer["observation_state"]["page_type"] == "terminal"
    assert answer["reward"] == answer["reward_detail"]["r_strict"]
    assert answer["purchase"]["asin"] == offered[number % len(offered)]
    assert set(answer["purchase"]) == {
        *(
            "asin",
            "category",
            "name",
            "product_category",
            "instruction_text",
            "attributes",
            "price",
            "options",
        )
    }
    assert answer["goal"] == {}, "private"
    client.release()
    return answer
