"""Which of the remedies that the transects paper names takes a classifier's errors away?

The paper (section 6.1) says that counting errors would have engineers add pictures of dark-skinned
women, and that its experiment would have them add short-haired women and long-haired men, and
children, teens and seniors. Here they are tried: classifiers of gender are trained on as many faces
each, drawn from the CelebA-like population as it is and as each remedy changes it. What skin and
hair do to errors is measured by intervention on the same faces for all; errors by age are counted
on faces of all ages. It takes twenty minutes of one core; networks stay in `build/remedies`.
"""

from dataclasses import replace

import pandas as pd
from record import write_rows

from faceaudit.utils.formatting import with_minus
from faceworld import do, networks, populations, raters
from faceworld.rendering import render_to_store
from faceworld.scorecard import truth
from helpers.artifacts import lineage

ORIGIN = "celeba-like"
DARK_WOMEN = {"dark": (0.6, 0.22)}
HAIR = {"women_short": (0.4, 0.4), "men_long": 0.4}
AGES = {"age": None}  # uniform over the range
REMEDIES = {
    "as it is": {},
    "more dark-skinned women": DARK_WOMEN,
    "more short-haired women and long-haired men": HAIR,
    "more children, teens and seniors": AGES,
    "the last two together": HAIR | AGES,
}
SEEDS, N_TRAIN, EPOCHS, SIZE = range(1, 6), 10_000, 7, 64
N_TRUTH, N_AGES = 1000, 6000
DOSES = {"skin_colour": (0.17, 0.89), "hair_length": (0.165, 0.70), "gender": (0.085, 0.845)}
HELD = {"facial_hair": 0.03, "makeup": 0.12}
GROUPS = {"children and teens": (0, 0.28), "adults": (0.28, 0.72), "seniors": (0.72, 1)}
GENDERS = ("women", "men")
WORK = lineage.ROOT / "build" / "remedies"


def drawn(name: str, changed: dict, n: int, seed: int) -> populations.Sample:
    """Faces of the origin with some of its settings changed."""
    populations.POPULATIONS[name] = replace(populations.POPULATIONS[ORIGIN], **changed)
    return populations.sample(name, n, seed)


def trained(name: str, seed: int) -> networks.AuditedModel:
    people = drawn(f"remedy: {name}", REMEDIES[name], N_TRAIN, seed)
    place = WORK / f"{name.replace(' ', '-')}-{seed}"
    pictures = place.with_suffix(".npy")
    images = render_to_store(people.parameters, SIZE, pictures)
    labels = people.frame["gender"].to_numpy()
    path = place.with_suffix(".safetensors")
    model = networks.train_classifier(images, labels, path, seed=seed, epochs=EPOCHS)
    for part in WORK.glob(f"{pictures.name}*"):
        part.unlink()
    return model


def under_do(model: networks.AuditedModel, base) -> dict[str, float]:
    """Effects in points, and the worst cell's errors in percent."""
    errors = truth.errors_under_do(
        lambda images: networks.predict(model, images),
        base,
        DOSES,
        size=SIZE,
        path=WORK / "truth.npy",
    ).mean(axis=0)  # skin, hair, gender
    women, men = errors[..., 0], errors[..., 1]
    return {
        "women: dark − light skin": 100 * (women[1] - women[0]).mean(),
        "women: short − long hair": 100 * (women[:, 0] - women[:, 1]).mean(),
        "men: long − short hair": 100 * (men[:, 1] - men[:, 0]).mean(),
        "worst of eight cells": 100 * errors.max(),
    }


def by_age(model: networks.AuditedModel, people: populations.Sample) -> dict[str, float]:
    """Errors in percent by age and gender, on faces whose other attributes are the origin's."""
    images = render_to_store(people.parameters, SIZE, WORK / "ages.npy")
    male = people.frame["gender"].to_numpy()
    wrong = (networks.predict(model, images) > 0.5) != male
    age = people.frame["age"]
    return {
        f"{group}, {GENDERS[gender]}": 100 * wrong[age.between(*ends) & (male == gender)].mean()
        for group, ends in GROUPS.items()
        for gender in (0, 1)
    }


def main() -> None:
    WORK.mkdir(parents=True, exist_ok=True)
    base = populations.sample(ORIGIN, N_TRUTH, seed=1000).parameters
    base = do(base[raters.loose_hair(base)], **HELD)
    everybody = drawn("all ages", AGES, N_AGES, seed=1001)
    told = {}
    for name in REMEDIES:
        found = pd.DataFrame(
            under_do(model, base) | by_age(model, everybody)
            for model in (trained(name, seed) for seed in SEEDS)
        )
        pairs = zip(found.mean(), found.std(), strict=True)
        told[name] = dict(
            zip(
                found, (with_minus(with_minus(f"{m:.1f} ± {s:.1f}")) for m, s in pairs), strict=True
            )
        )
    rows = [{"what": what, **row.to_dict()} for what, row in pd.DataFrame(told).iterrows()]
    facts = {
        "trainings of each": len(SEEDS),
        "faces learnt from": f"{N_TRAIN:,}",
        "faces under intervention": len(base),
        "faces of all ages": f"{N_AGES:,}",
        "±": "standard deviation over trainings",
    }
    write_rows("remedies", facts, rows, ["torch", "numpy"])


if __name__ == "__main__":
    main()
