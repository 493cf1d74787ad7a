"""schemathesis over the served OpenAPI document: whatever it generates, answers are as the document says."""

import subprocess
import sys

import pytest
from places import ROOT
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


SAMPLE = ROOT / "shopsim_env" / "sample_release"


@pytest.mark.parametrize("part", ["--exclude-path-regex", "--include-path-regex"], ids=["shop", "rlve"])
def test_schemathesis_finds_nothing(small_release, tmp_path, part):
    pytest.importorskip("schemathesis")
    # The small release has too few products for goals of RLVE.
    release = SAMPLE if part.startswith("--in") else small_release
    with ServerProcess(release, "--slots", "200", "--log-level", "error") as server:
        command = [sys.executable, "-m", "schemathesis.cli", "run", f"{server.facts['url']}/openapi.json"]
        command += [part, "^/v1/rlve"]
        phases = "examples,coverage" if part.startswith("--in") else "examples,coverage,fuzzing"
        command += ["--checks", ",".join(CHECKS), "--phases", phases, "--seed", "1"]
        command += ["--max-examples", "5", "--generation-database", "none", "--suppress-health-check", "all"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300)
        assert done.returncode == 0, done.stdout[-8_000:] + done.stderr[-2_000:]
        assert server.call("GET", "/healthz")[1]["ready"]
