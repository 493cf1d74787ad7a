"""The Shop world as an OpenEnv 0.10 server (extra `openenv`): one shared pool behind the socket protocol.

Belongs here: what the wire asks and gets. `asking`, `tasks`, `session` and `gate` know nothing of the package
`openenv`; `models`, `environment` and `app` need it. Rules of the shop are in `shopsim_env.shop`, of leases
in `shopsim_env.pool`. `openenv.yaml`, `Dockerfile` and `validation/` make this folder an OpenEnv package.
"""
