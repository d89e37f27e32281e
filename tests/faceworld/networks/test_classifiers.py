"""Audited models: deterministic, resumable training and safe storage."""

import itertools
import math

import numpy as np
import pytest
import torch

from faceaudit.generators.weights import read_weights
from faceworld import networks
from faceworld.networks import architectures, classifiers, training
from faceworld.networks.classifiers import null_control


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
    return networks.train_classifier(
        *toy(1200), path, seed=3, epochs=3, held_out=toy(100, seed=1)
    ), path


def test_training_learns_and_answers_do_not_depend_on_the_batch(trained):
    model, _ = trained
    assert model.curve["epoch"].tolist() == [1, 2, 3]
    assert model.curve["held_out_accuracy"].iloc[-1] > 0.9
    images, labels = toy(90, seed=2)
    score = networks.predict(model, images)
    assert score.dtype == np.float64 and ((score > 0.5) == labels).mean() > 0.9
    np.testing.assert_allclose(
        score,
        np.concatenate([networks.predict(model, some) for some in np.split(images, [7, 40])]),
        atol=1e-5,
    )
    assert networks.predict(model, images[:0]).shape == (0,)


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
        networks.train_classifier(*toy(1200), path, seed=3, epochs=3)
    assert not path.exists()
    epochs = []
    monkeypatch.setattr(training, "train_epoch", lambda *a: epochs.append(a[5]) or real(*a))
    networks.train_classifier(*toy(1200), path, seed=3, epochs=3)
    assert epochs == [2]
    assert path.read_bytes() == reference.read_bytes()
    assert sorted(p.suffix for p in tmp_path.iterdir()) == [".json", ".safetensors"]


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
    networks.train_classifier(*toy(60), **settings)
    change(monkeypatch)
    epochs, real = [], training.train_epoch
    monkeypatch.setattr(training, "train_epoch", lambda *a: epochs.append(a[5]) or real(*a))
    for _ in range(2):
        networks.train_classifier(*toy(60), **settings | asked)
    assert epochs == [0]


def test_what_was_written_is_read_and_damage_is_noticed(trained, tmp_path):
    model, path = trained
    loaded = networks.AuditedModel.read(path)
    images, _ = toy(20, seed=4)
    np.testing.assert_array_equal(networks.predict(loaded, images), networks.predict(model, images))
    assert loaded.training == model.training and loaded.curve.equals(model.curve)
    copy = tmp_path / "toy.safetensors"
    card = path.with_suffix(".json").read_text()
    for weights, written, message in (
        (path.read_bytes()[:-1] + b"?", card, "its SHA-256 is not that of the .json"),
        (path.read_bytes(), card.replace('"small"', '"resnet50"'), "is not what was written"),
        (
            path.read_bytes(),
            card.replace('"loss": [\n   0.', '"loss": [\n   1.'),
            "is not what was",
        ),
        (path.read_bytes(), "{", "no readable model"),
    ):
        copy.write_bytes(weights)
        copy.with_suffix(".json").write_text(written)
        with pytest.raises(ValueError, match=message):
            networks.AuditedModel.read(copy)


@pytest.mark.parametrize("few_steps", [0, 2**14])
def test_weights_are_the_same_bits_whatever_number_of_threads_torch_has(
    tmp_path, monkeypatch, few_steps
):
    monkeypatch.setattr(training, "FEW_STEPS", few_steps)
    images, labels = toy(200)
    job = {"images": images, "labels": labels, "seed": 3, "epochs": 2}
    threads_before = torch.get_num_threads()
    weights = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        try:
            path = tmp_path / f"{threads}.safetensors"
            networks.train_classifiers([job | {"path": path}])
        finally:
            torch.set_num_threads(threads_before)
        weights.append(path.read_bytes())
    assert weights[0] == weights[1]


@pytest.mark.parametrize("few_steps", [0, 2**14])
def test_train_all_equals_training_alone(tmp_path, monkeypatch, few_steps):
    monkeypatch.setattr(training, "FEW_STEPS", few_steps)
    images, labels = toy(200)
    job = {"images": images, "labels": labels, "seed": 3, "epochs": 1}
    alone = networks.train_classifier(**job, path=tmp_path / "alone.safetensors")
    jobs = [job | {"path": tmp_path / f"{i}.safetensors"} for i in range(2)]
    found = networks.train_classifiers(jobs)
    # Threads differ between the processes, so equal to rounding, not bit for bit.
    expected = networks.predict(alone, images)
    for model in found:
        np.testing.assert_allclose(networks.predict(model, images), expected, atol=1e-3)


@pytest.mark.parametrize(
    ("images", "labels", "message"),
    [
        (np.zeros((4, 3, 8, 8), np.float32), [0, 1, 0, 1], "must be uint8"),
        (np.zeros((4, 3, 8, 8), np.uint8), [0, 1], "2 labels of 4 images"),
        (np.zeros((4, 3, 8, 8), np.uint8), [1, 1, 1, 1], "both 0 and 1 were"),
    ],
)
def test_bad_training_data_is_refused(tmp_path, images, labels, message):
    with pytest.raises(ValueError, match=message):
        networks.train_classifier(
            images, np.array(labels), tmp_path / "x.safetensors", seed=0, epochs=1
        )


def test_a_network_that_ships_is_taken_unless_it_is_trained_anew(tmp_path, monkeypatch):
    images = np.random.default_rng(1).integers(0, 256, (24, 3, 16, 16)).astype(np.uint8)
    labels = np.arange(24) % 2
    monkeypatch.setattr(training, "SHIPPED_NETWORKS", tmp_path / "shipped")
    monkeypatch.delenv("TRAIN", raising=False)

    def trained(folder, images=images, **more):
        return networks.train_classifier(
            images, labels, tmp_path / folder / "a.safetensors", epochs=1, **more
        )

    first = trained("first", seed=1)
    training.ship(tmp_path / "first" / "a.safetensors")
    # Other pictures, such as those of another machine, are no other recipe; another seed is.
    same = trained("second", images=255 - images, seed=1)
    assert same.shipped and same.curve.equals(first.curve) and same.training == first.training
    assert not trained("third", seed=2).shipped
    # Pictures that are not needed are not drawn.
    assert trained("lazy", images=training.Lazy((24, 3, 16, 16), None), seed=1).shipped
    drawn = trained("drawn", images=training.Lazy((24, 3, 16, 16), lambda: images), seed=2)
    assert drawn.training == trained("third", seed=2).training
    monkeypatch.setenv("TRAIN", "1")
    anew = trained("second", seed=1)
    assert not anew.shipped
    monkeypatch.delenv("TRAIN")
    assert not trained("second", seed=1).shipped  # it is kept
    weights = [one.network.state_dict() for one in (first, anew)]
    assert all(torch.equal(value, weights[1][name]) for name, value in weights[0].items())


def test_the_networks_that_ship_are_whole_and_small():
    paths = sorted(training.SHIPPED_NETWORKS.glob("*.safetensors"))
    for path in paths:
        _, card = read_weights(path, "network")
        assert card["shipped"] and card["versions"]["torch"]
        assert len(card["curve"]["epoch"]) == card["training"]["epochs"]
    assert paths and sum(path.stat().st_size for path in paths) < 15e6


# The null control


def test_null_control_errs_at_its_rate_with_the_stated_correlation():
    item = np.arange(1500 * 8)
    label, transect = np.random.default_rng(0).integers(0, 2, len(item)), item // 8
    settings = {"rate": 0.1, "icc": 0.2, "seed": 1}
    score = null_control(label, item, transect, **settings)
    wrong = (score > 0.5) != label
    error = wrong.reshape(-1, 8).astype(float)
    assert error.mean() == pytest.approx(0.1, abs=0.012)
    # One-way ANOVA estimator of the intraclass correlation.
    between, within = 8 * error.mean(1).var(ddof=1), error.var(1, ddof=1).mean()
    assert (between - within) / (between + 7 * within) == pytest.approx(0.2, abs=0.04)
    # It knows item and transect only, and an item does not depend on others.
    part = slice(13, None, 5)
    again = null_control(1 - label[part], item[part], transect[part], **settings)
    np.testing.assert_array_equal((again > 0.5) != 1 - label[part], wrong[part])


# Networks


def test_architectures_have_the_known_numbers_of_weights():
    def count(network):
        return sum(weight.numel() for weight in network.parameters())

    assert count(architectures.SmallNet()) == 188_041
    # The count that is published for ResNet-50 with 1,000 classes.
    assert count(architectures.ResNet50(classes=1000)) == 25_557_032


def test_box_mean_is_pooling_with_the_border_repeated():
    image = torch.rand(2, 3, 9, 14, generator=torch.Generator().manual_seed(0))
    padded = torch.nn.functional.pad(image, (2, 2, 2, 2), mode="replicate")
    expected = torch.nn.functional.avg_pool2d(padded, 5, stride=1)
    torch.testing.assert_close(architectures.box_mean(image, 2), expected)


# Training


def test_one_cycle_has_the_rates_of_torch():
    steps, weight = 50, torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.AdamW([weight])
    # torch reaches its peak one step before 30% of the steps, and the end one step early.
    cycle = torch.optim.lr_scheduler.OneCycleLR(
        optimizer,
        max_lr=4e-3,
        total_steps=steps + 1,
        pct_start=(0.3 * steps + 1) / (steps + 1),
        div_factor=25,
        final_div_factor=math.inf,
        cycle_momentum=False,
    )
    for step in range(steps):
        expected = 4e-3 * training.one_cycle(step / steps)
        assert cycle.get_last_lr()[0] == pytest.approx(expected, rel=1e-12)
        optimizer.step()
        cycle.step()
