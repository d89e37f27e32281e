from .manifests import RESULTS as RESULTS
from .manifests import ArtifactError as ArtifactError
from .manifests import root as root
from .manifests import sweep as sweep
from .manifests import why_stage_is_stale as why_stage_is_stale
from .stage import Stage as Stage
from .stage import load as load
