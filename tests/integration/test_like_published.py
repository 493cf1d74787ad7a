"""An archive with our texts in the published index structure must reproduce the published files.

Source: the published id lists; counts from the seed document.
"""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from builds import write_config
from places import ROOT

from pipelines.stages.published_json import PublishedJson
from shopsim_env.release import load_release

pytestmark = pytest.mark.published


# In a process of its own: as a user's build, and without the coverage tracer, which triples its time.
BUILD = """
import json, sys
from pathlib import Path
from builds import build
from pipelines.stages.sample.like_published import write_like_published
folder, lists, configs = map(Path, sys.argv[1:])
files = write_like_published(folder / "like-published.raw.json.gz", lists, 20261130)
report = build(
    folder,
    dataset="like-published",
    raw=files.archive,
    annotations=files.annotations,
    runtime_regex_all=False,
    configs_root=configs,
)
(folder / "report.json").write_text(json.dumps(report.as_dict()), encoding="utf-8")
"""


@pytest.fixture(scope="module")
def release_path(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole pipeline on 23,421 products, its search baseline apart (minutes with plain FTS5)."""
    folder = tmp_path_factory.mktemp("published")
    text = (ROOT / "configs" / "datasets" / "like-published.toml").read_text(encoding="utf-8")
    text = text.replace('splits = ["source/persona_eval", "project/test"]', "splits = []")
    configs = write_config(folder / "configs", "like-published", text)
    subprocess.run(
        [sys.executable, "-c", BUILD, folder, shared_data / "published", configs],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "tests")))},
        check=True,
    )
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert report["ok"], report["problems"]
    # Counts of the manifest, file hashes with both line ends, sizes of the source splits.
    assert [figure["status"] for figure in report["published"]] == ["ok"] * (8 + 4 + 5)
    return Path(report["release"] or "")


def test_published_counts(release_path: Path) -> None:
    with load_release(release_path) as release:
        counts = release.manifest["counts"]
        assert counts["products"] == 22726
        assert (counts["persona_tasks"], counts["standard_tasks"]) == (4526, 18200)
        assert counts["inactive_tasks"] == 695
        sizes = {name: len(ids) for name, ids in release.splits.items()}
    assert sizes["source/persona_eval"] == 1274
    assert sizes["source/standard_eval"] == 1381
    assert sizes["source/persona_train"] == 3252
    assert sizes["source/standard_train"] == 18093
    assert sizes["source/all_train"] == 21345
    assert (sizes["project/train"], sizes["project/val"], sizes["project/test"]) == (3726, 400, 400)


def test_exclusions_are_the_published_file(release_path: Path, shared_data: Path) -> None:
    ours = (release_path / "private/exports/catalog_exclusions.v2.json").read_bytes()
    published = (shared_data / "published" / "catalog_exclusions.v2.json").read_bytes()
    assert ours == published.replace(b"\r\n", b"\n")
    assert (
        PublishedJson.of(json.loads(ours)).crlf_sha256
        == "6ab0621015920a7c9ec2503d9264e892918ca4c43beb6c8b7f2bf7332499563f"
    )


def test_source_splits_are_the_published_file(release_path: Path, shared_data: Path) -> None:
    ours = (release_path / "private/exports/task_splits.cleaned.v2.json").read_bytes()
    packed = (shared_data / "published" / "task_splits.cleaned.v2.json.gz").read_bytes()
    assert ours == gzip.decompress(packed).replace(b"\r\n", b"\n")
    assert (
        PublishedJson.of(json.loads(ours)).crlf_sha256
        == "7dde253e9cdcb2b7d1e7802fb172437717955f018c7408905bdb8a475bfefe60"
    )
