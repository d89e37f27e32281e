"""Seeds, prototypes, variants and pairs against brute force and the paper's arithmetic."""

import numpy as np
import pandas as pd
import pytest
import torch

from helpers import faces, identities
from helpers.directions import Hyperplanes
from helpers.faces.parameters import ANCESTRY_REFERENCES, INDEX, visible_scores
from helpers.generators import load_generator
from helpers.identities.image_variants import LIGHTS, NEUTRAL, TARGETS


@pytest.fixture(scope="module")
def generator():
    return load_generator("known-truth")


@pytest.fixture(scope="module")
def codes(generator):
    return generator.sample(8, 5).numpy().astype(np.float64)


def prototype_frame(seeds):
    return pd.DataFrame(
        {
            "seed": np.repeat(np.arange(seeds) + 100, 6),
            "group": np.tile(identities.GROUPS, seeds),
        }
    )


# Groups


def test_groups_are_six_and_split_into_their_parts():
    ancestry, male = identities.split(identities.GROUPS)
    assert len(set(identities.GROUPS)) == 6
    assert ancestry.tolist() == [a for a in ANCESTRY_REFERENCES for _ in range(2)]
    assert male.tolist() == [False, True] * 3
    with pytest.raises(ValueError, match="row 1: unknown group 'martian'"):
        identities.split(["african male", "martian"])


def test_a_group_is_nearest_to_its_own_reference():
    points = identities.ancestry_point(identities.ANCESTRIES)
    assert identities.nearest_ancestry(points).tolist() == [0, 1, 2]
    scattered = np.random.default_rng(0).normal(size=(50, 2))
    references = np.array(list(ANCESTRY_REFERENCES.values()))
    expected = np.linalg.norm(scattered[:, None] - references, axis=2).argmin(1)
    np.testing.assert_array_equal(identities.nearest_ancestry(scattered), expected)


# Max-min selection


def brute_force(landmarks, n):
    chosen = [0]
    while len(chosen) < n:
        rest = [s for s in range(len(landmarks)) if s not in chosen]
        distance = [
            min(
                np.linalg.norm(landmarks[s, g] - landmarks[f, g])
                for f in chosen
                for g in range(landmarks.shape[1])
            )
            for s in rest
        ]
        chosen.append(rest[int(np.argmax(distance))])
    return chosen


@pytest.mark.parametrize("seed", range(5))
def test_max_min_selection_is_the_printed_algorithm(seed):
    landmarks = np.random.default_rng(seed).normal(size=(15, 3, 4, 2))
    for n in (1, 2, 8, 15):
        assert identities.max_min_selection(landmarks, n).tolist() == brute_force(landmarks, n)


def test_max_min_selection_takes_duplicates_last():
    landmarks = np.random.default_rng(0).normal(size=(6, 2, 5, 2))
    landmarks[3] = landmarks[0]
    chosen = identities.max_min_selection(landmarks, 6)
    assert chosen[-1] == 3 and sorted(chosen) == list(range(6))


def test_max_min_selection_rejects_what_it_cannot_use():
    landmarks = np.zeros((3, 2, 4, 2))
    with pytest.raises(ValueError, match="from 1 to the 3 seeds"):
        identities.max_min_selection(landmarks, 4)
    with pytest.raises(ValueError, match=r"not \(3, 2, 4\)"):
        identities.max_min_selection(landmarks[..., 0], 2)
    landmarks[2, 1, 0, 0] = np.nan
    with pytest.raises(ValueError, match="seed 2: not all are finite"):
        identities.max_min_selection(landmarks, 2)


# Pairs


@pytest.mark.parametrize("seeds", [8, 40])
def test_default_pairs_are_unique_and_as_many_as_stated(seeds):
    prototypes = prototype_frame(seeds)
    frame = identities.pairs(prototypes, seed=1)
    n = len(prototypes)
    assert frame["kind"].value_counts().to_dict() == {"positive": 16 * n, "negative": 51 * n}
    unordered = np.sort(frame[["first", "second"]], axis=1)
    assert len(np.unique(unordered, axis=0)) == len(frame)
    assert (frame["first"] != frame["second"]).all()


@pytest.mark.parametrize("seeds", [8, 100])
def test_paper_pairs_have_the_papers_counts(seeds):
    prototypes = prototype_frame(seeds)
    frame = identities.pairs(prototypes, paper=True, seed=1)
    positive, negative = (frame[frame["kind"] == kind] for kind in ("positive", "negative"))
    assert (len(positive), len(negative)) == (120 * seeds, 360 * seeds)  # 12,000 and 36,000 of 100
    trivial = positive[positive["first"] == positive["second"]]
    assert len(trivial) == len(positive) / 5
    assert set(trivial["attribute"].value_counts()) == {len(prototypes)}
    times = negative.groupby(["first", "second"]).size()
    assert set(times[times.index.get_level_values("second") % 17 == 0]) == {4}
    assert set(times[times.index.get_level_values("second") % 17 != 0]) == {1}
    assert len(positive.drop_duplicates(["first", "second"])) == 17 * len(prototypes)


@pytest.mark.parametrize("paper", [False, True])
def test_pairs_agree_with_the_images_they_point_to(paper):
    prototypes = prototype_frame(8).sample(frac=1, random_state=0, ignore_index=True)
    index = identities.image_index(prototypes)
    frame = identities.pairs(prototypes, paper=paper, seed=1)
    first, second = index.iloc[frame["first"]], index.iloc[frame["second"]]
    assert (first["attribute"] == "prototype").all()
    assert (frame["group"].to_numpy() == first["group"].to_numpy()).all()
    assert (frame["group"].to_numpy() == second["group"].to_numpy()).all()
    assert (frame["step"].to_numpy() == second["step"].to_numpy()).all()
    varied = second["attribute"].to_numpy() != "prototype"
    assert (frame["attribute"].to_numpy() == second["attribute"].to_numpy())[varied].all()
    for side, rows in (("first", first), ("second", second)):
        assert (frame[f"seed_{side}"].to_numpy() == rows["seed"].to_numpy()).all()
        assert (frame[f"prototype_{side}"].to_numpy() == rows["prototype"].to_numpy()).all()
    same = frame["prototype_first"] == frame["prototype_second"]
    assert (same == (frame["kind"] == "positive")).all()


def test_all_groups_compare_the_same_seeds_and_use_each_equally():
    frame = identities.pairs(prototype_frame(9), seed=4)
    negative = frame[frame["kind"] == "negative"]
    used = [
        set(zip(part["seed_first"], part["seed_second"], strict=True))
        for _, part in negative.groupby("group")
    ]
    assert all(pairs == used[0] for pairs in used) and len(used[0]) == 27
    assert set(negative.groupby("prototype_second").size()) == {51}
    other = identities.pairs(prototype_frame(9), seed=5)
    assert not other.equals(frame) and identities.pairs(prototype_frame(9), seed=4).equals(frame)


def test_pairs_need_prototypes_that_differ():
    with pytest.raises(ValueError, match="has 6 prototypes; .* at least 7"):
        identities.pairs(prototype_frame(6), seed=1)
    assert len(identities.pairs(prototype_frame(6), 2, seed=1)) == 36 * (16 + 34)
    twice = pd.concat([prototype_frame(8), prototype_frame(1)])
    with pytest.raises(ValueError, match="seed 100 has two prototypes of group 'african female'"):
        identities.pairs(twice, seed=1)
    with pytest.raises(ValueError, match="no column .*group"):
        identities.pairs(prototype_frame(8)[["seed"]], seed=1)


def test_the_order_of_the_ring_has_a_default():
    prototypes = prototype_frame(8)
    pd.testing.assert_frame_equal(
        identities.pairs(prototypes), identities.pairs(prototypes, seed=0)
    )
    assert not identities.pairs(prototypes).equals(identities.pairs(prototypes, seed=1))


@pytest.mark.parametrize("column", ["seed", "group"])
def test_prototypes_without_a_group_or_seed_are_named(column):
    prototypes = prototype_frame(8).astype(object)
    prototypes.loc[5, column] = None
    for pairs in (identities.pairs, identities.cross_pairs):
        with pytest.raises(ValueError, match=f"column '{column}', row 5 is .*, the {column} of a"):
            pairs(prototypes, seed=1)
        with pytest.raises(ValueError, match="no prototypes"):
            pairs(prototypes.iloc[:0], seed=1)


def test_cross_pairs_differ_in_seed_and_group_and_visit_all_groups():
    prototypes = prototype_frame(10)
    frame = identities.cross_pairs(prototypes, 3, seed=2)
    assert len(frame) == len(prototypes) * 3 * 17
    assert (frame["seed_first"] != frame["seed_second"]).all()
    assert (frame["group"] != frame["group_second"]).all()
    assert frame.groupby(["group", "group_second"]).ngroups == 30
    assert not frame.duplicated(["first", "second"]).any()
    index = identities.image_index(prototypes)
    assert (index["group"].to_numpy()[frame["second"]] == frame["group_second"]).all()
    alone = prototypes[prototypes["group"] == "european male"]
    with pytest.raises(ValueError, match="at least two groups"):
        identities.cross_pairs(alone, seed=2)


# Traversal

OTHERS = {"age": 0.0, "smiling": 0.0, "skin_colour": None}


@pytest.fixture(scope="module")
def planes(generator):
    exact = identities.exact_planes(generator)
    normals, intercepts = generator.exact_hyperplanes(list(OTHERS))
    return Hyperplanes(
        (*exact.names, *OTHERS),
        np.vstack([exact.normals, normals]),
        np.concatenate([exact.intercepts, intercepts]),
    )


@pytest.fixture(scope="module")
def prototypes(codes, planes):
    return identities.prototypes(codes, planes, gender=0.8, ancestry=1.8, others=OTHERS)


def test_prototypes_lie_at_the_decision_values_asked_for(codes, planes, prototypes):
    latents, index = prototypes
    assert index["group"].tolist() == list(identities.GROUPS) * 8
    values = pd.DataFrame(planes.decision_values(latents), columns=planes.names)
    ancestry, male = identities.split(index["group"])
    np.testing.assert_allclose(values["gender"], np.where(male, 0.8, -0.8), atol=1e-9)
    np.testing.assert_allclose(values[["age", "smiling"]], 0, atol=1e-9)
    own = planes.select(["skin_colour"]).decision_values(codes)[:, 0]
    np.testing.assert_allclose(values["skin_colour"], np.repeat(own, 6), atol=1e-9)
    for row, name in enumerate(ancestry):
        others = [other for other in identities.ANCESTRIES if other != name]
        assert values.loc[row, name] == pytest.approx(1.8)
        assert values.loc[row, others[0]] == pytest.approx(values.loc[row, others[1]])
        assert values.loc[row, others[0]] < 0


def test_prototypes_look_as_intended_and_share_a_seeds_identity(generator, prototypes):
    latents, index = prototypes
    parameters = generator.parameters(torch.from_numpy(latents))
    place = parameters[:, [INDEX["ancestry_x"], INDEX["ancestry_y"]]]
    nearest = np.array(identities.ANCESTRIES)[identities.nearest_ancestry(place)]
    ancestry, male = identities.split(index["group"])
    assert (nearest == ancestry).all()
    assert ((parameters[:, INDEX["gender"]].numpy() > 0.5) == male).all()
    eyes = parameters[:, INDEX["eye_gap"]].reshape(8, 6)
    assert eyes.std(1).max() < 0.2 * eyes[:, 0].std()


def test_prototypes_reject_impossible_wishes(codes, planes):
    with pytest.raises(ValueError, match="above 0; got -1"):
        identities.prototypes(codes, planes, gender=-1, ancestry=1, others={})
    with pytest.raises(ValueError, match="no hyperplane of makeup"):
        identities.prototypes(codes, planes, gender=1, ancestry=1, others={"makeup": None})


def test_svms_from_true_labels_point_along_the_exact_normals(generator):
    codes = generator.sample(1500, 3)
    parameters = generator.parameters(codes)
    place = parameters[:, [INDEX["ancestry_x"], INDEX["ancestry_y"]]]
    fitted = identities.group_planes(
        codes, visible_scores(parameters)["gender"], identities.nearest_ancestry(place)
    )
    assert fitted.names == ("gender", *identities.ANCESTRIES)
    np.testing.assert_allclose(np.linalg.norm(fitted.normals, axis=1), 1)
    report = identities.label_leakage(generator, codes[:50], {"true": fitted})
    assert report["labels"].tolist() == ["true"] * 4 + ["exact"] * 4
    assert (report["angle"][:4] < 45).all() and (report["angle"][4:] < 1e-3).all()
    assert (report["accuracy"][:4] > 0.75).all()
    # Men's hair is shorter, as planted.
    assert (report.loc[report["plane"] == "gender", "hair_length"] < -0.05).all()


# Judging


def test_the_crowd_rejects_fakes_and_wrong_groups(generator, prototypes):
    latents, index = prototypes
    parameters = generator.parameters(torch.from_numpy(latents))
    parameters[:, INDEX["artefacts"]] = 0
    judged = identities.judge(parameters, index, 9, seed=1, stage="test")
    assert judged["accepted"].mean() > 0.9
    again = identities.judge(parameters[6:], index.iloc[6:], 9, seed=1, stage="test")
    pd.testing.assert_frame_equal(again, judged.iloc[6:])
    parameters[3, INDEX["artefacts"]] = 1  # a fake of the first seed
    parameters[10, INDEX["ancestry_x"]] *= -1  # and a prototype of the second in the wrong place
    parameters[10, INDEX["ancestry_y"]] = -0.6
    spoiled = identities.judge(parameters, index, 9, seed=1, stage="test")
    assert not spoiled["real"][3] and not spoiled["agrees"][10]
    kept = identities.candidates(spoiled)
    assert not {0, 1} & set(kept)
    assert set(kept) == set(identities.candidates(judged)) - {0, 1}


# Variants and heads


def test_variants_change_what_they_should_and_nothing_else(generator, prototypes):
    latents, index = prototypes
    directions = dict(zip(TARGETS, generator.exact_directions(["smiling", "age"]), strict=True))
    parameters, frame = identities.variants(generator, latents, index, directions)
    assert parameters.shape == (48 * 17, len(INDEX)) and len(frame) == len(parameters)
    pd.testing.assert_frame_equal(frame, identities.image_index(index))
    values = faces.to_frame(parameters)
    prototype = values[frame["attribute"] == "prototype"].set_axis(range(48))
    for name, value in NEUTRAL.items():
        np.testing.assert_allclose(prototype[name], value)
    touched = {
        "pose": ["yaw"],
        "light": ["light_azimuth", "light_elevation", "light_power"],
        "expression": ["smiling"],
        "age": ["age", "makeup", "facial_hair"],  # children wear neither
    }
    for attribute, columns in touched.items():
        part = values[frame["attribute"] == attribute]
        same = prototype.loc[np.repeat(np.arange(48), 4)].set_axis(part.index)
        moved = (part - same).abs().max()
        assert set(moved[moved > 1e-3].index) - {"artefacts"} <= set(columns)
        assert moved[columns[0]] > 0.1
    steps = {name: frame["attribute"] == name for name in touched}
    assert values[steps["pose"]]["yaw"].tolist() == [-30, -15, 15, 30] * 48
    for light, (azimuth, elevation) in LIGHTS.items():
        lit = values[steps["light"] & (frame["step"] == light)]
        assert (lit["light_azimuth"] == azimuth).all() and (lit["light_power"] == 0.7).all()
        assert (lit["light_elevation"] == elevation).all()
    assert set(LIGHTS) == set(identities.STEPS["light"])


def test_two_steps_of_expression_and_age_reach_the_papers_scores(generator, prototypes):
    latents, index = prototypes
    directions = dict(zip(TARGETS, generator.exact_directions(["smiling", "age"]), strict=True))
    parameters, frame = identities.variants(generator, latents, index, directions)
    for attribute, name in (("expression", "smiling"), ("age", "age")):
        score = parameters[:, INDEX[name]].numpy()
        last = score[(frame["attribute"] == attribute) & (frame["step"] == "2")]
        np.testing.assert_allclose(last, TARGETS[attribute], atol=0.02)
        # Steps are equally long in latent space.
        codes = np.log(score / (1 - score)).reshape(48, 17)
        place = 9 if attribute == "expression" else 13
        walk = np.insert(codes[:, place : place + 4], 2, codes[:, 0], axis=1)
        np.testing.assert_allclose(np.diff(walk), np.diff(walk)[:, :1].repeat(4, 1), atol=1e-3)


def test_a_walk_names_the_face_that_does_not_arrive():
    codes, direction = np.zeros((3, 2)), np.array([1.0, 0.0])
    codes[1, 1] = 1  # flat there
    rises = lambda w: np.where(w[:, 1] > 0, 0.0, w[:, 0])  # noqa: E731
    distance = identities.walk_to_score(codes[:1], direction, rises, 0.8)
    assert distance == pytest.approx(0.8, abs=0.05)
    with pytest.raises(ValueError, match="row 1 does not score 0.8"):
        identities.walk_to_score(codes, direction, rises, 0.8)
    with pytest.raises(ValueError, match="row 0 scores 0.0 or more already"):
        identities.walk_to_score(codes, direction, rises, 0.0)


def test_faces_at_a_target_have_no_step_left(generator):
    codes = generator.sample(200, 5).numpy()
    scores = faces.visible_scores(generator.parameters(torch.from_numpy(codes)))
    expected = (scores["smiling"] < TARGETS["expression"]) & (scores["age"] < TARGETS["age"])
    found = identities.below_targets(generator, codes)
    assert 0 < found.sum() < 200 and (found == expected.to_numpy()).all()


def test_whitening_leaves_the_head_and_nothing_else(generator, prototypes):
    parameters = identities.neutral(generator.parameters(torch.from_numpy(prototypes[0][:4])))
    plain = faces.render(parameters, 64)
    heads = identities.render_heads(parameters, 64).image
    mask = plain.head_mask[:, None].expand_as(plain.image)
    assert (heads[mask == 0] == 1).all() and (mask == 0).float().mean() > 0.2
    inside = mask == 1
    torch.testing.assert_close(heads[inside], plain.image[inside])
    assert (heads[:, :, :8, :8] == 1).all()  # a corner that no hair reaches
    with pytest.raises(ValueError, match="one mask"):
        identities.whiten(plain.image, plain.head_mask[:2])
    with pytest.raises(ValueError, match="float in"):
        identities.whiten((plain.image * 255).byte(), plain.head_mask)
