"""Many episodes over one release in one process, without any web in it.

`EnvPool` is for a trainer that lives in the process: numbered slots, batched calls. `LeasePool` is for
strangers: leases that expire, fencing numbers, a fair queue, an action log. The server wraps the latter.
"""

from shopsim_env.pool.lease import EpisodeRequest, Lease
from shopsim_env.pool.leases import LeasePool
from shopsim_env.pool.slots import EnvPool, Group, Started

__all__ = ["EnvPool", "EpisodeRequest", "Group", "Lease", "LeasePool", "Started"]
