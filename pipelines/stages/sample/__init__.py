"""Our own sample archive in the raw schema: invented goods, shops, buyers and tasks, every one from a seed.

Public names: `generate_sample` (one row per product), `write_sample` and `write_like_published` (files).
What the planted faults are and how often: `faults`; how a record comes about: `plan` decides, `catalogue`,
`options`, `budgets`, `instructions` and `personas` make the parts, `build` joins them.
"""

from pipelines.stages.sample.build import SampleRow, generate_sample
from pipelines.stages.sample.like_published import write_like_published
from pipelines.stages.sample.writer import SampleFiles, write_sample

__all__ = ["SampleFiles", "SampleRow", "generate_sample", "write_like_published", "write_sample"]
