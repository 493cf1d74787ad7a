"""The HTTP service over a `LeasePool` (extra `server`): native `/v1` and the published `/api/shop_agent`.

Who owns what is decided in `shopsim_env.pool`; here are bytes, statuses, tokens and the running of a
process. One event loop, no threads. Importing this package loads nothing; `app` and `running` need
starlette and uvicorn.
"""
