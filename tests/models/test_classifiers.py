"""Audited models: deterministic, resumable training and safe storage."""

import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from helpers import models
from helpers.artifacts import lineage, weights
from helpers.models import checkpoints, classifiers, training


def toy(n, seed=0, men=0.5):
    """Images in which men are a little redder: learnable in seconds."""
    generator = np.random.default_rng(seed)
    labels = (generator.random(n) < men).astype(int)
    images = generator.integers(60, 180, (n, 3, 16, 16))
    images[:, 0] += 40 * labels[:, None, None]
    return images.astype(np.uint8), labels


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "toy.safetensors"
    return models.train(*toy(1200), path, seed=3, epochs=3, held_out=toy(100, seed=1)), path


def test_first_weights_are_seeded_and_leave_the_global_generator_alone(trained):
    state = torch.random.get_rng_state()
    settings = [replace(trained[0].training, seed=seed) for seed in (1, 1, 2)]
    first, same, other = (checkpoints.fresh(models.AuditedModel, s).head.weight for s in settings)
    assert torch.equal(first, same) and not torch.equal(first, other)
    assert torch.equal(state, torch.random.get_rng_state())


def test_training_learns_and_reports_its_curve(trained):
    model, _ = trained
    assert model.curve["epoch"].tolist() == [1, 2, 3]
    assert model.curve["held_out_accuracy"].iloc[-1] > 0.9
    assert model.curve["held_out_loss"].notna().all()


def test_prediction_is_a_probability_independent_of_the_batch(trained):
    model, _ = trained
    images, labels = toy(90, seed=2)
    score = models.predict(model, images)
    assert score.dtype == np.float64 and score.shape == (90,)
    assert ((score > 0.5) == labels).mean() > 0.9
    np.testing.assert_allclose(score, models.predict(model, images, batch=7), atol=1e-5)
    assert models.predict(model, images[:0]).shape == (0,)


def test_interrupted_training_ends_where_the_uninterrupted_does(trained, tmp_path, monkeypatch):
    _, reference = trained
    path = tmp_path / "toy.safetensors"
    real, calls = training.train_epoch, itertools.count()

    def power_cut(*arguments):
        if next(calls) == 2:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(training, "train_epoch", power_cut)
    with pytest.raises(KeyboardInterrupt):
        models.train(*toy(1200), path, seed=3, epochs=3)
    assert not path.exists()
    epochs = []
    monkeypatch.setattr(training, "train_epoch", lambda *a: epochs.append(a[-1]) or real(*a))
    models.train(*toy(1200), path, seed=3, epochs=3)
    assert epochs == [2]
    assert path.read_bytes() == reference.read_bytes()
    assert sorted(p.suffix for p in tmp_path.iterdir()) == [".json", ".safetensors"]


def count_epochs(monkeypatch):
    done, real = [], training.train_epoch
    monkeypatch.setattr(training, "train_epoch", lambda *a: done.append(a[-1]) or real(*a))
    return done


def other_code(monkeypatch):
    monkeypatch.setattr(classifiers.ClassifierTraining, "_code", "another recipe, or torch")


@pytest.mark.parametrize(
    ("change", "asked"),
    [
        (other_code, {}),
        (lambda _: None, {"seed": 4}),
        (lambda _: None, {"held_out": toy(20, seed=2)}),
    ],
)
def test_what_other_code_settings_or_data_left_is_replaced(tmp_path, monkeypatch, change, asked):
    settings = {"path": tmp_path / "toy.safetensors", "seed": 3, "epochs": 1}
    models.train(*toy(60), **settings)
    change(monkeypatch)
    epochs = count_epochs(monkeypatch)
    for _ in range(2):
        models.train(*toy(60), **settings | asked)
    assert epochs == [0]


def test_the_code_of_a_training_is_its_own_and_what_trainings_share():
    counted = lineage.helper_modules(Path(classifiers.__file__), executed=False)
    names = {str(path.relative_to(lineage.SOURCE)) for path in counted}
    used = {"models/training.py", "models/networks.py", "utils/seeding.py"}
    assert {f"helpers/{name}" for name in used} <= names
    others = {
        "helpers/models/recognisers.py",
        "facerender/rendering.py",
        "helpers/models/__init__.py",
    }
    assert not others & names
    kinds = (models.AuditedModel, models.Recogniser, models.Reader)
    assert len({kind.settings._code for kind in kinds}) == 3


def test_load_gives_back_the_same_model(trained):
    model, path = trained
    loaded = models.load(path)
    images, _ = toy(20, seed=4)
    np.testing.assert_array_equal(models.predict(loaded, images), models.predict(model, images))
    assert loaded.training == model.training
    assert loaded.curve.equals(model.curve)


def damage_weights(path):
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def truncate_weights(path):
    path.write_bytes(path.read_bytes()[:100])


def damage_settings(path):
    path.with_suffix(".json").write_text("{")


def swap_architecture(path):
    card = json.loads(path.with_suffix(".json").read_text())
    card["training"]["architecture"] = "resnet50"
    path.with_suffix(".json").write_text(json.dumps(card))


def damage_curve(path):
    card = path.with_suffix(".json")
    card.write_text(card.read_text().replace('"loss": [\n   0.', '"loss": [\n   1.'))


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (damage_weights, "not those that toy.json describes"),
        (damage_settings, "no readable model"),
        (swap_architecture, "its content is not what was written"),
        (damage_curve, "its content is not what was written"),
        (lambda path: path.unlink(), "no readable model"),
    ],
)
def test_load_refuses_what_is_not_whole(trained, tmp_path, harm, message):
    model, _ = trained
    path = tmp_path / "toy.safetensors"
    checkpoints.write(model, path)
    harm(path)
    with pytest.raises(ValueError, match=message):
        models.load(path)


@pytest.mark.parametrize(
    "harm", [damage_weights, damage_settings, swap_architecture, damage_curve, truncate_weights]
)
def test_a_damaged_model_is_trained_again(tmp_path, harm):
    settings = {"path": tmp_path / "toy.safetensors", "seed": 3, "epochs": 1}
    expected = models.train(*toy(60), **settings).curve
    whole = settings["path"].read_bytes()
    harm(settings["path"])
    with pytest.warns(UserWarning, match="toy.safetensors: .*; it is trained again"):
        assert models.train(*toy(60), **settings).curve.equals(expected)
    assert settings["path"].read_bytes() == whole


@pytest.mark.parametrize("few_steps", [0, 2**14])
def test_train_all_equals_training_alone(tmp_path, monkeypatch, few_steps):
    monkeypatch.setattr(training, "FEW_STEPS", few_steps)
    images, labels = toy(200)
    job = {"images": images, "labels": labels, "seed": 3, "epochs": 1}
    alone = models.train(**job, path=tmp_path / "alone.safetensors")
    jobs = [job | {"path": tmp_path / f"{i}.safetensors"} for i in range(2)]
    found = models.train_all(jobs)
    # Threads differ between the processes, so equal to rounding, not bit for bit.
    expected = models.predict(alone, images)
    for model in found:
        np.testing.assert_allclose(models.predict(model, images), expected, atol=1e-3)


def test_epochs_show_as_many_women_as_men():
    labels = np.array([0] * 90 + [1] * 10)
    order = classifiers.balanced_order(labels, np.random.default_rng(0))
    assert len(order) == 100
    assert labels[order].mean() == 0.5
    counts = np.bincount(order, minlength=100)
    assert counts[90:].tolist() == [5] * 10 and counts[:90].max() == 1


@pytest.mark.parametrize(
    ("images", "labels", "message"),
    [
        (np.zeros((4, 3, 8, 8), np.float32), [0, 1, 0, 1], "must be uint8"),
        (np.zeros((4, 8, 8, 3), np.uint8), [0, 1, 0, 1], "must be uint8"),
        (np.zeros((4, 3, 8, 8), np.uint8), [0, 1], "labels: shape \\(2,\\), expected \\(4,\\)"),
        (np.zeros((4, 3, 8, 8), np.uint8), [1, 1, 1, 1], "both 0 and 1 were"),
        (np.zeros((4, 3, 8, 8), np.uint8), [0, 1, 2, 1], "row 2 is 2, 0 or 1 was"),
    ],
)
def test_bad_training_data_is_refused(tmp_path, images, labels, message):
    with pytest.raises(ValueError, match=message):
        models.train(images, np.array(labels), tmp_path / "x.safetensors", seed=0, epochs=1)


def test_a_network_that_ships_is_taken_unless_it_is_trained_anew(tmp_path, monkeypatch):
    images = np.random.default_rng(1).integers(0, 256, (24, 3, 16, 16)).astype(np.uint8)
    labels = np.arange(24) % 2
    monkeypatch.setattr(checkpoints, "SHIPPED", tmp_path / "shipped")
    monkeypatch.delenv("TRAIN", raising=False)

    def trained(folder, images=images, **more):
        return models.train(images, labels, tmp_path / folder / "a.safetensors", epochs=1, **more)

    first = trained("first", seed=1)
    checkpoints.ship(tmp_path / "first" / "a.safetensors")
    # Other pictures, such as those of another machine, are no other recipe; another seed is.
    same = trained("second", images=255 - images, seed=1)
    assert checkpoints.is_shipped(tmp_path / "second" / "a.safetensors")
    assert same.curve.equals(first.curve) and same.training == first.training
    trained("third", seed=2)
    assert not checkpoints.is_shipped(tmp_path / "third" / "a.safetensors")
    monkeypatch.setenv("TRAIN", "1")
    anew = trained("second", seed=1)
    assert not checkpoints.is_shipped(tmp_path / "second" / "a.safetensors")
    weights = [one.network.state_dict() for one in (first, anew)]
    assert all(torch.equal(value, weights[1][name]) for name, value in weights[0].items())


def test_the_networks_that_ship_are_whole_and_small():
    paths = sorted(checkpoints.SHIPPED.glob("*.safetensors"))
    for path in paths:
        _, card = weights.read(path, "network")
        assert checkpoints.is_shipped(path) and card["versions"]["torch"]
        assert len(card["curve"]["epoch"]) == card["training"]["epochs"]
    assert paths and sum(path.stat().st_size for path in paths) < 15e6
