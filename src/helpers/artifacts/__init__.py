"""What stages leave on disk, what it was made from, and how it is read again."""

from helpers.artifacts.manifests import RESULTS, ArtifactError, atomic, root, sweep, why_stale
from helpers.artifacts.stage import Stage, load
