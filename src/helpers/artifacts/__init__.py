"""What stages leave on disk, what it was made from, and how it is read again."""

from helpers.artifacts.manifests import (
    MANIFEST,
    RESULTS,
    ArtifactError,
    root,
    why_stale,
)
from helpers.artifacts.stage import Stage, atomic, load, sweep
