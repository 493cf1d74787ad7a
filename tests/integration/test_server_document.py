"""schemathesis over the served OpenAPI document: whatever it generates, answers are as the document says."""

import subprocess
import sys

import pytest
from servers import ServerProcess

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "unsupported_method",
    "use_after_free",
)


def test_schemathesis_finds_nothing(small_release, tmp_path):
    pytest.importorskip("schemathesis")
    with ServerProcess(small_release, "--slots", "200", "--log-level", "error") as server:
        command = [sys.executable, "-m", "schemathesis.cli", "run", f"{server.facts['url']}/openapi.json"]
        command += ["--checks", ",".join(CHECKS), "--phases", "examples,coverage,fuzzing", "--seed", "1"]
        command += ["--max-examples", "5", "--generation-database", "none", "--suppress-health-check", "all"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300)
        assert done.returncode == 0, done.stdout[-8_000:] + done.stderr[-2_000:]
        assert server.call("GET", "/healthz")[1]["ready"]
