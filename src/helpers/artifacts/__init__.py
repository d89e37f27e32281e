"""What stages leave on disk, what it was made from, and how it is read again."""

from helpers.artifacts.stage import (
    MANIFEST,
    RESULTS,
    ArtifactError,
    Stage,
    atomic,
    incomplete,
    load,
    root,
)
