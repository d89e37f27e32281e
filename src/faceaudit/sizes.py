"""Smaller sizes of the shipped example, for a first look and for continuous integration."""

from __future__ import annotations

from faceaudit.parts import KnownTruth
from faceaudit.specification import Specification
from helpers.artifacts import profiles


def capped(specification: Specification, profile: str) -> Specification:
    """An audit with no more faces than a profile has, under a name of its own.

    The plan, the images and the report lie in other folders than those of the audit at its own
    size, and both say that the sizes were cut.

    Args:
        specification: of an audit in the face world.
        profile: "smoke", "laptop" or "paper".

    Returns:
        The audit itself where it is no larger than the profile.

    Raises:
        ValueError: no such profile, or an audit that makes no faces.

    Example:
        >>> one = Specification(
        ...     name="mine", question="?", axes=["gender"],
        ...     design={"tolerance": 0.1, "transects": 400},
        ... )
        >>> small = capped(one, "smoke")
        >>> small.name, small.design.transects, small.generator.base_faces
        ('mine-smoke', 40, 48)
        >>> small.note
        'It has 40 faces in place of 400, and 48 in place of 400 for the known truth.'
    """
    sizes = profiles.load(profile)
    generator, design = specification.generator, specification.design
    made = specification.kind == "classification" and specification.images is None
    if not made or not isinstance(generator, KnownTruth) or design.transects is None:
        raise ValueError(
            f"{specification.path}: a profile sets the sizes of audits in the face world that name "
            "their number of faces (design.transects); this one keeps its own, leave --profile out"
        )
    faces = min(design.transects, sizes.n_transects)
    base = min(generator.base_faces, sizes.n_truth)
    if (faces, base) == (design.transects, generator.base_faces):
        return specification
    found = specification.model_copy(
        update={
            "name": f"{specification.name}-{profile}",
            "design": design.model_copy(update={"transects": faces}),
            "generator": generator.model_copy(update={"base_faces": base}),
        }
    )
    found._note = (
        f"It has {faces} faces in place of {design.transects}, and {base} in place of "
        f"{generator.base_faces} for the known truth."
    )
    return found
