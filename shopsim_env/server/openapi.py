"""The OpenAPI 3.1 document, made from the table of operations, the fields and the answer schemas."""

from typing import Any

from shopsim_env.server.bodies import EXAMPLES, LEASE_PATTERN
from shopsim_env.server.fields import schema_of
from shopsim_env.server.operation import Operation
from shopsim_env.server.operations import OPERATIONS
from shopsim_env.server.problems import STATUSES, TITLES
from shopsim_env.server.rlve_bodies import RLVE_EXAMPLES
from shopsim_env.server.schemas import ANSWERS
from shopsim_env.versions import __version__


def document() -> dict[str, Any]:
    """The document as JSON values."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "shopsim",
            "version": __version__,
            "summary": "Shopping episodes and conversations with customers, for agents over HTTP",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        # Empty first: on loopback no token is needed.
        "security": [{}, {"bearer": []}],
        "paths": paths,
        "components": {
            "schemas": ANSWERS,
            "securitySchemes": {
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "needed unless the server listens on loopback without a token",
                }
            },
        },
    }


def _operation(operation: Operation) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "responses": {
            "200": {
                "description": "done",
                "content": {
                    "application/json": {"schema": {"$ref": f"#/components/schemas/{operation.answer}"}}
                },
            },
            **_refusals(operation),
        },
    }
    if operation.admin:
        found["security"] = [{"bearer": []}]
    parameters = _parameters(operation)
    if parameters:
        found["parameters"] = parameters
    if operation.body is not None:
        schema = schema_of(operation.body, {**EXAMPLES, **RLVE_EXAMPLES}[operation.example])
        found["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return found


def _parameters(operation: Operation) -> list[dict[str, Any]]:
    parameters: list[dict[str, Any]] = []
    if "{lease_id}" in operation.path:
        schema = {"type": "string", "pattern": f"^{LEASE_PATTERN}$"}
        parameters.append({"name": "lease_id", "in": "path", "required": True, "schema": schema})
    for name, field in operation.query.items():
        kind = {**field.kind(), **({} if field.default is None else {"default": field.default})}
        parameters.append({"name": name, "in": "query", "description": field.about, "schema": kind})
    return parameters


def _refusals(operation: Operation) -> dict[str, Any]:
    codes = [*operation.all_codes, "internal"]
    if "{lease_id}" in operation.path:
        codes.append("out_of_range")
    by_status: dict[int, list[str]] = {}
    for code in dict.fromkeys(codes):
        by_status.setdefault(STATUSES[code], []).append(code)
    return {
        str(status): {
            "description": f"{TITLES[status]}: {', '.join(found)}",
            "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status, found in sorted(by_status.items())
    }
