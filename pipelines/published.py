"""A finished release against the published figures of a data set: `shopsim published RELEASE`."""

from pathlib import Path

from pipelines.errors import ConfigError
from pipelines.resources.paths import CONFIGS
from pipelines.settings import load_dataset
from pipelines.stages.published_figures import Figure, compare_figures
from pipelines.stages.release import PUBLISHED_NAMES
from shopsim_env.errors import ReleaseError
from shopsim_env.release import load_release
from shopsim_env.release.layout import EXPORTS_FOLDER


def compare_release(path: Path, dataset: str | None = None, *, configs: Path = CONFIGS) -> list[Figure]:
    """Compares the exports of a release with published figures.

    Args:
        path: A whole release; verified first.
        dataset: Data set whose `[published]` figures count; None takes the release's own.
        configs: Root of the configuration.

    Raises:
        ReleaseError: A public copy, which holds no exports.
        ConfigError: The data set has no published figures (code `no_published_figures`).
    """
    with load_release(path) as release:
        name = dataset or str(release.manifest["dataset"])
        if release.manifest["public_copy"]:
            raise ReleaseError(
                f"{path}: a public copy holds no exports to compare. Give the full release from which it was "
                "made, data/releases/NAME/current after a build.",
                code="public_copy",
            )
        figures = load_dataset(configs, name).published
        files = {file: release.path / EXPORTS_FOLDER / file for file in PUBLISHED_NAMES}
        found = compare_figures(figures, files)
    if not found:
        raise ConfigError(
            f"data set {name!r}: has no [published] figures; name one that has, as --dataset paper",
            code="no_published_figures",
        )
    return found
