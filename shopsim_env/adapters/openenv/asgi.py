"""`uvicorn shopsim_env.adapters.openenv.asgi:app`: the server from environment variables.

Belongs here: reading them. SHOPSIM_RELEASE (a folder, else the sample), SHOPSIM_SLOTS, SHOPSIM_LEASE_TTL,
SHOPSIM_TOKEN, SHOPSIM_HOST: the address that uvicorn listens on, loopback by default; others need a token.
"""

import os

from shopsim_env.adapters.openenv.app import make_app
from shopsim_env.release import load_release
from shopsim_env.server.guard import make_guard

app = make_app(
    load_release(os.environ.get("SHOPSIM_RELEASE") or None),
    make_guard(os.environ.get("SHOPSIM_HOST", "127.0.0.1"), os.environ.get("SHOPSIM_TOKEN"), None),
    slots=int(os.environ.get("SHOPSIM_SLOTS", "64")),
    ttl_s=float(os.environ.get("SHOPSIM_LEASE_TTL", "900")),
)
