"""What the endpoints of `/v1` do, apart from HTTP: checked fields in, JSON values out.

Belongs here: calls of the pool, waiting in the event loop, the log of what happened. Who may call what is in
`guard`, syntax in `strict_json` and `fields`, routes in `operations`.
"""

import logging
from typing import Any

from shopsim_env.cache import BoundedCache
from shopsim_env.errors import TaskError
from shopsim_env.pool import EpisodeRequest, Lease, LeasePool
from shopsim_env.pool.reception import Reception
from shopsim_env.release import Release
from shopsim_env.reward.option import OPTION_RULES
from shopsim_env.server import answers
from shopsim_env.server.bodies import ENVIRONMENT
from shopsim_env.server.opening import Gone, open_when_free
from shopsim_env.server.rlve_service import RlveService
from shopsim_env.shop.anchor import start_key
from shopsim_env.shop.env import TASK_MODES, Step
from shopsim_env.shop.served import encode
from shopsim_env.versions import ACTION_LIMITS, ENVIRONMENT_VERSION, OBSERVATION_VERSION, component_versions

LOG = logging.getLogger("shopsim_env.server")
_KEPT_STARTS = 2_048


class Service:
    """The endpoints over one pool. For one event loop; `rlve` has those of RLVE."""

    def __init__(self, release: Release, pool: LeasePool, rlve: RlveService | None = None) -> None:
        self.release = release
        self._tasks = len(release.tasks)  # health must answer while the files cannot be read
        self.pool = pool
        self.rlve = rlve or RlveService(release)
        self.ready = True
        self._personas: frozenset[int] | None = None
        self._starts: BoundedCache[tuple[Any, ...], bytes] = BoundedCache(_KEPT_STARTS)

    def pools(self) -> dict[str, Reception]:
        """The pools by the prefix of their metrics; that of RLVE once it was used."""
        found: dict[str, Reception] = {"": self.pool}
        if self.rlve.leases is not None:
            found["rlve_"] = self.rlve.leases
        return found

    async def reset(self, fields: dict[str, Any], gone: Gone) -> bytes:
        """Opens an episode, when there is a slot."""
        (lease,) = await self.open(fields, gone)
        return self._opened(lease, fields)

    def reset_now(self, fields: dict[str, Any]) -> bytes:
        """Opens an episode without waiting; for a pool that has room."""
        lease = self.pool.open(episode_request(fields))
        self._log_open(lease)
        return self._opened(lease, fields)

    async def group(self, fields: dict[str, Any], gone: Gone) -> bytes:
        """Opens a group of identical starts, when there are enough slots."""
        leases = await self.open(fields, gone, n=fields["n"], group=True)
        first, start = leases[0], leases[0].start
        group = {
            "group_id": first.group,
            "anchor": start_key(start.task_instruction, start.user_persona, start.observation_state),
            "members": [answers.holding(lease, self.pool.ttl_s) for lease in leases],
        }
        return answers.joined(encode(group)[1:-1], self._start(first), self._private(first, fields))

    def step(self, lease_id: str, fields: dict[str, Any]) -> bytes:
        """Plays one action."""
        step = self.pool.step(
            lease_id, fields["action"], fence=fields["fence"], request_id=fields["request_id"]
        )
        return self._played(lease_id, step)

    def terminate(self, lease_id: str, fields: dict[str, Any]) -> bytes:
        """Ends the episode from outside."""
        step = self.pool.terminate(
            lease_id, fields["reason"], fence=fields["fence"], request_id=fields["request_id"]
        )
        return self._played(lease_id, step)

    def look(self, lease_id: str) -> bytes:
        """The episode as it stands: the answer of its reset and the latest step."""
        return self._whole(self.pool.use(lease_id))

    def heartbeat(self, lease_id: str, fields: dict[str, Any]) -> dict[str, Any]:
        """Keeps the lease."""
        return answers.holding(self.pool.use(lease_id, fields["fence"]), self.pool.ttl_s)

    def take_over(self, lease_id: str) -> bytes:
        """Shuts out whoever used the lease so far, and looks."""
        lease = self.pool.take_over(lease_id)
        LOG.info("lease taken over", extra={"facts": {"slot": lease.slot, "fence": lease.fence}})
        return self._whole(lease)

    def trace(self, lease_id: str) -> bytes:
        """The line of the episode's trace, so far."""
        return self.pool.trace(lease_id).line()

    def give_back(self, lease_id: str, fence: int | None) -> bytes:
        """Releases the lease."""
        return b'{"released":true}' if self.pool.give_back(lease_id, fence) else b'{"released":false}'

    def give_back_all(self) -> dict[str, Any]:
        """Releases every lease."""
        count = self.pool.give_back_all()
        LOG.warning("all leases released", extra={"facts": {"leases": count}})
        return {"released": count}

    def health(self) -> dict[str, Any]:
        """Whether the server takes episodes, and how full it is."""
        pool = self.pool
        return {
            "ready": self.ready,
            "environment_slots": pool.slots,
            "free_slots": pool.free_slots,
            "running_episodes": pool.running,
            "waiting": pool.waiting,
            "lease_ttl_s": pool.ttl_s,
            "tasks": self._tasks,
            "release": self.release.id,
            "environment_version": ENVIRONMENT_VERSION,
            "observation_version": OBSERVATION_VERSION,
            "primary_reward": "r_strict",
        }

    def about(self) -> dict[str, Any]:
        """What is served: release, versions, splits, modes."""
        counts = self.release.manifest["counts"]
        return {
            "id": self.release.id,
            "versions": component_versions(),
            "counts": counts,
            "splits": {name: len(ids) for name, ids in sorted(self.release.splits.items())},
            "task_modes": list(TASK_MODES),
            "interaction_modes": dict(ACTION_LIMITS),
            "option_match": list(OPTION_RULES),
            "environment_options": sorted(ENVIRONMENT),
        }

    def tasks(self, fields: dict[str, Any]) -> dict[str, Any]:
        """A page of the task list: ids and labels, no texts."""
        if fields["split"] is None:
            ids = tuple(self.release.tasks)
        else:
            splits = self.release.splits
            if fields["split"] not in splits:
                raise TaskError(f"split: expected one of {sorted(splits)}", code="unknown_split")
            ids = splits[fields["split"]]
        ids = self._filtered(ids, fields["persona"], fields["find"])
        shown = ids[fields["offset"] : fields["offset"] + fields["limit"]]
        rows = [self.release.tasks[task_id] for task_id in shown]
        return {
            "total": len(ids),
            "tasks": [
                {"task_id": row.task_id, "has_persona": row.has_persona, "labels": list(row.labels)}
                for row in rows
            ],
        }

    def _filtered(self, ids: tuple[int, ...], persona: str | None, find: str) -> tuple[int, ...]:
        if persona is not None:
            if self._personas is None:
                self._personas = self.release.tasks.with_persona()
            ids = tuple(task_id for task_id in ids if (task_id in self._personas) is (persona == "yes"))
        return tuple(task_id for task_id in ids if find in str(task_id)) if find else ids

    async def open(
        self, fields: dict[str, Any], gone: Gone, *, n: int = 1, group: bool = False
    ) -> tuple[Lease, ...]:
        """The leases that the checked fields of a reset or group ask for, when there are slots."""
        request = episode_request(fields)
        leases = await open_when_free(self.pool, request, fields["wait_s"], gone, n=n, group=group)
        for lease in leases:
            self._log_open(lease)
        return leases

    def _log_open(self, lease: Lease) -> None:
        LOG.info(
            "episode opened",
            extra={"facts": {"slot": lease.slot, "fence": lease.fence, "task_id": lease.start.task_id}},
        )

    def _opened(self, lease: Lease, fields: dict[str, Any]) -> bytes:
        return answers.joined(self._holding(lease), self._start(lease), self._private(lease, fields))

    def _holding(self, lease: Lease) -> bytes:
        return answers.holding_bytes(lease, self.pool.ttl_s)

    def _start(self, lease: Lease) -> bytes:
        """What the reset showed. Kept for a while: rollouts of one task all begin alike."""
        seed = lease.seed if lease.start.interaction_mode == "multi_turn" else None
        key = (lease.start.task_id, seed, tool_kind(lease), *lease.env.options.values())
        start = self._starts.get(key)
        if start is None:
            start = answers.started(lease, tool_kind(lease), self.release.id)
            self._starts.put(key, start)
        return start

    def _private(self, lease: Lease, fields: dict[str, Any]) -> bytes:
        if not fields["private"]:
            return b""
        goal = answers.goal_block(self.release.private(), lease.start.task_id)
        return encode({"private": goal})[1:-1]

    def _whole(self, lease: Lease) -> bytes:
        last = b"null" if lease.last is None else answers.played(lease.last, tool_kind(lease))
        played = encode({"actions_played": len(lease.entries)})[1:-1]
        return answers.joined(self._holding(lease), self._start(lease), played, b'"last_step":' + last)

    def _played(self, lease_id: str, step: Step) -> bytes:
        lease = self.pool.peek(lease_id)
        if step.done:
            self.log_end(lease, step)
        return answers.played(step, tool_kind(lease))

    def log_end(self, lease: Lease, step: Step) -> None:
        """One line for an episode that ended."""
        LOG.info(
            "episode ended",
            extra={
                "facts": {
                    "slot": lease.slot,
                    "fence": lease.fence,
                    "task_id": lease.start.task_id,
                    "reason": step.termination_reason,
                    "reward": step.reward,
                    "actions": len(lease.entries),
                }
            },
        )


def episode_request(fields: dict[str, Any]) -> EpisodeRequest:
    """What the checked fields of a reset or group ask the pool for."""
    return EpisodeRequest(
        task_id=fields["task_id"],
        split=fields["split"],
        seed=fields["seed"],
        options={name: fields[name] for name in ENVIRONMENT},
        request_id=fields["request_id"],
        note=fields["tools"],
    )


def tool_kind(lease: Lease) -> str:
    """Which tool schemas the answers of a lease carry; the first word of its note."""
    return lease.note.partition(" ")[0] or "dynamic"
