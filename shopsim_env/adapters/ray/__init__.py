"""The Shop's pool and RLVE's schedule as actors of a Ray cluster (extra `ray`).

`RayPool` is `EnvPool` over several processes or machines; `SharedSchedule` is one adaptive schedule for all
workers. Nothing here imports Ray before it is used.
"""

from shopsim_env.adapters.ray.pool import RayPool, home_of
from shopsim_env.adapters.ray.schedule import SharedSchedule

__all__ = ["RayPool", "SharedSchedule", "home_of"]
