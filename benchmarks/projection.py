"""Projection onto the intersection of hyperplanes: closed form against the paper's cycle.

Run `python benchmarks/projection.py`. The transects paper (4.1.2) knows no closed form and projects
onto one hyperplane after the other, round after round. Both run in this process on one thread, on
as many attributes as the paper has; normals are correlated as attributes of faces are.
"""

from functools import partial

import numpy as np
from record import Run, grow
from threadpoolctl import threadpool_limits

from faceaudit.latents.transects import project, project_cyclic

LATENTS, DIMENSIONS, ATTRIBUTES, ROUNDS = (100, 1_000, 10_000), 512, 8, 50
SHARED = 0.7
"""Share of a common vector in every normal: a mean cosine of about one third."""


def planes(latents: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Latents (n, D), unit normals (K, D) and intercepts (K,)."""
    rng = np.random.default_rng(seed)
    normals = rng.standard_normal((ATTRIBUTES, DIMENSIONS))
    normals += SHARED * rng.standard_normal(DIMENSIONS)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return rng.standard_normal((latents, DIMENSIONS)), normals, rng.normal(0, 0.5, ATTRIBUTES)


def competitors(latents: int) -> dict[str, Run]:
    on = planes(latents)
    return {
        "project, closed form": Run(partial(project, *on)),
        f"project_cyclic, {ROUNDS} rounds": Run(partial(project_cyclic, *on, ROUNDS)),
    }


def main() -> None:
    w, normals, intercepts = planes(LATENTS[0])
    projected = (
        project(w, normals, intercepts),
        project_cyclic(w, normals, intercepts, ROUNDS),
    )
    off = [np.abs(one @ normals.T + intercepts).max() for one in projected]
    facts = {
        "dimensions": DIMENSIONS,
        "hyperplanes": ATTRIBUTES,
        "threads": 1,
        "largest distance left, closed form": f"{off[0]:.0e}",
        "largest distance left, cycle": f"{off[1]:.0e}",
    }
    with threadpool_limits(1):
        sizes = {latents: competitors(latents) for latents in LATENTS}
        grow("projection", "latents", sizes, facts, ["numpy"])


if __name__ == "__main__":
    main()
