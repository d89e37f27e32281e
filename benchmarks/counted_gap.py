"""How far the parts of the counted gap hang on the seed: skin, hair length, other differences.

For each seed the portraits of chapter 1 are drawn and labelled anew, and the networks of chapter 2
are trained anew, at the size of the laptop's profile. Then the counted women are given the skin,
the hair length, and both, of light- and of dark-skinned women, as in chapter 11. That chapter reads
the record of twenty seeds, `results/counted_gap.json`, and gives the interval in which another seed
is expected. Five more seeds are recorded apart, and no interval is computed from them: the chapter
counts how many of them have all Shapley shares within these intervals.

It takes three minutes of one core a seed. Every finished seed is recorded at once, and a recorded
seed is not run again: the same command goes on from there. Its networks stay in
`build/counted_gap`, for `counted_people.py`. Remove the records and the networks after a change of
the code. Networks and counted women are those of `seeds.py`, seed by seed.
"""

import json

import numpy as np
from joblib import delayed
from record import RESULTS, write_rows

import facerender
from faceaudit.effects import error_rates
from faceaudit.utils.parallel import cpu_count
from faceworld import crowd, networks, populations
from faceworld.networks import AuditedModel
from faceworld.rendering import render_to_store
from faceworld.scorecard import counted_gap
from helpers.artifacts import lineage
from helpers.parallel import processes

SEEDS = {"counted_gap": range(1, 21), "counted_gap_held_out": range(21, 26)}
"""Record → its seeds."""
AUDITED = ("celeba-like", "fairface-like")
COUNTING = "01_observational_audit"
"""Whose raters label the portraits."""
SETTINGS = lineage.load_profile("laptop")
WORK = lineage.ROOT / "build" / "counted_gap"
PACKAGES = ["torch", "numpy"]
Row = dict[str, str | float]


def trained(seed: int) -> dict[str, AuditedModel]:
    """The networks of chapter 2, from other faces and other first weights."""
    made = {}
    for name in AUDITED:
        people = populations.sample(name, SETTINGS.n_train, seed)
        made[name] = networks.train_classifier(
            render_to_store(people.parameters, SETTINGS.image_size, WORK / f"{seed}_people.npy"),
            people.frame["gender"].to_numpy(),
            WORK / f"{seed}_{name}.safetensors",
            seed=seed,
            epochs=SETTINGS.epochs,
        )
    return made


def parts_of_gap(seed: int) -> list[Row]:
    """What the gap of a seed is made of, in points: a row for each network."""
    portraits = populations.sample("ppb-like", SETTINGS.n_test, seed)
    visible = facerender.visible_scores(portraits.parameters)
    image_ids = [f"ppb_{item:05d}" for item in portraits.frame["item"]]
    seen = crowd.perceived(visible.set_axis(image_ids))
    answers = crowd.annotate(seen, SETTINGS.n_raters, seed=seed, stage=COUNTING)
    scores = crowd.mean_scores(answers)
    is_woman = error_rates.majority(scores["gender"]).eq(0).to_numpy(copy=True)
    skin = error_rates.discretize(scores["skin_colour"], *error_rates.STRATA["skin_colour"])
    women, group = portraits.parameters[is_woman], skin[is_woman].astype(str).to_numpy()
    donors = counted_gap.draw_donors(group, seed)
    faces = {"as they are": women}
    faces |= {one: counted_gap.give(women, donors, one) for one in counted_gap.SETS}
    audited, rows = trained(seed), []
    # A woman whom a network calls a man is an error; the raters' label stays.
    errors: dict[str, dict] = {name: {} for name in audited}
    for one, parameters in faces.items():
        pictures = render_to_store(parameters, SETTINGS.image_size, WORK / f"{seed}_women.npy")
        for name, network in audited.items():
            errors[name][one] = (networks.predict(network, pictures) > 0.5).astype(float)
    for name, of_network in errors.items():
        as_they_are = of_network.pop("as they are")
        changes = {one: np.diff(error.reshape(-1, 2))[:, 0] for one, error in of_network.items()}
        table = counted_gap.take_apart(changes, as_they_are, group, donors)
        points = (100 * table["estimate"]).to_dict()
        rows.append({"what": what(seed, name), **points})
    for pictures in WORK.glob(f"{seed}_*.npy*"):
        pictures.unlink()
    return rows


def of_seed(seed: int) -> tuple[int, list[Row]]:
    """A seed and its rows, which come in the order in which processes finish them."""
    return seed, parts_of_gap(seed)


def what(seed: int, name: str) -> str:
    """What a row of the record is called."""
    return f"seed {seed:02d}, {name}"


def keep(record: str, rows: list[Row]) -> None:
    """Add the rows of a seed to a record."""
    rows = sorted([*recorded(record), *rows], key=lambda row: row["what"])
    seeds = len(rows) // len(AUDITED)
    facts: dict[str, str | int] = {"seeds": seeds, "planned": len(SEEDS[record])}
    write_rows(record, facts, rows, PACKAGES)


def recorded(record: str) -> list[Row]:
    """Rows of the seeds that were run before."""
    path = RESULTS / f"{record}.json"
    return json.loads(path.read_text(encoding="utf-8"))["rows"] if path.is_file() else []


def main() -> None:
    WORK.mkdir(parents=True, exist_ok=True)
    record_of = {seed: record for record, seeds in SEEDS.items() for seed in seeds}
    known = {row["what"] for record in SEEDS for row in recorded(record)}
    missing = [seed for seed in record_of if what(seed, AUDITED[0]) not in known]
    pool = processes(cpu_count(), return_as="generator_unordered")
    for seed, rows in pool(delayed(of_seed)(seed) for seed in missing):
        keep(record_of[seed], rows)


if __name__ == "__main__":
    main()
