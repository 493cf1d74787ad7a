"""A cluster of two workers on this machine; nothing here is collected where Ray is not installed."""

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

collect_ignore_glob = [] if find_spec("ray") else ["test_*.py"]

HERE = Path(__file__).parent
WORKERS = 2
CORES = 2
STORE = 80 << 20


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """A head without cores and two nodes with two each, on loopback and without a dashboard."""
    from shopsim_env.adapters.ray import cluster as ours

    with pytest.MonkeyPatch.context() as patch:
        # What a user has by calling ours first; the cluster of the tests is older than that.
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        # Workers import this checkout, and the functions of `worker_functions`.
        found = [str(HERE.parents[2]), str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
        patch.setenv("PYTHONPATH", os.pathsep.join(found))
        from ray.cluster_utils import Cluster

        # Ray takes 127.0.0.1 for "this machine" and puts its outer address in place; not so the others.
        head = {"num_cpus": 0, "include_dashboard": False, "node_ip_address": "127.0.0.2"}
        made = Cluster(initialize_head=True, head_node_args={**head, "object_store_memory": STORE})
        try:
            for number in range(WORKERS):
                address = f"127.0.0.{number + 3}"
                made.add_node(num_cpus=CORES, node_ip_address=address, object_store_memory=STORE)
            patch.setenv("RAY_ADDRESS", made.address)
            ours.connected()
            yield made
        finally:
            if find_spec("ray"):
                import ray

                ray.shutdown()
            made.shutdown()
