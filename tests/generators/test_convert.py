"""Conversion once, and from then on safetensors alone, with a card that says what they are."""

import hashlib
import json

import generator_files as made
import pytest
import safetensors.torch
import torch

from helpers.generators import load_generator
from helpers.generators.checkpoint_files import read
from helpers.generators.convert import main, write_converted

LICENCE = "non-commercial, of the authors"


def sources() -> dict[str, bytes]:
    weights = made.stylegan2_weights()
    square = made.Weights()
    square.mapping("mapping", 6, 0, 6, layers=2)
    square.synthesis("synthesis", made.WIDTHS, w_dim=6)
    state = {"g_ema": made.rosinality_state(square.found)}
    state["latent_avg"] = square.found["mapping.w_avg"]
    networks = {
        "ada.pkl": made.ada(),
        "t.pkl": made.stylegan3("t")[0],
        "r.pkl": made.stylegan3("r")[0],
        "eg3d.pkl": made.eg3d()[0],
    }
    return {
        **{name: made.dumps(made.with_others(one)) for name, one in networks.items()},
        "tensorflow.pkl": made.dumps(made.tensorflow(weights)),
        "zip.pt": made.rosinality(state, True),
        "before_zip.pt": made.rosinality(state, False),
    }


@pytest.mark.parametrize("name", sources())
def test_round_trip_is_equal_bit_for_bit(tmp_path, name):
    source, target = tmp_path / name, tmp_path / "converted.safetensors"
    source.write_bytes(sources()[name])
    card = write_converted(source, target, LICENCE, psi=0.7)
    before, after = read(source), read(target)
    assert (after.kind, after.config) == (before.kind, before.config)
    assert after.tensors.keys() == before.tensors.keys()
    for weight, values in before.tensors.items():
        assert torch.equal(after.tensors[weight], values)
    assert card.items() <= after.card.items()
    assert card == {
        "kind": before.kind,
        "kwargs": before.config,
        "source": name,
        "source_sha256": hashlib.sha256(source.read_bytes()).hexdigest(),
        "licence": LICENCE,
        "psi": 0.7,
        "noise": "const",
        "precision": "float32",
        "mean_w": "stored in the file",
    }


def test_to_rosinality_and_back(tmp_path):
    square = made.Weights()
    square.mapping("mapping", 6, 0, 6, layers=2)
    square.synthesis("synthesis", made.WIDTHS, w_dim=6)
    state = made.rosinality_state(square.found)
    generator = made.ada(weights=square.found)
    generator.kwargs["z_dim"] = 6
    official = tmp_path / "ada.pkl"
    official.write_bytes(made.dumps(made.with_others(generator)))
    write_converted(official, tmp_path / "there.pt", LICENCE)
    there = torch.load(tmp_path / "there.pt", weights_only=True)
    assert there["g_ema"].keys() == state.keys()
    assert all(torch.equal(there["g_ema"][name], values) for name, values in state.items())
    back = read(tmp_path / "there.pt").tensors
    for name, values in read(official).tensors.items():
        assert torch.equal(back[name], values)


def converted(tmp_path):
    source, target = tmp_path / "ada.pkl", tmp_path / "ada.safetensors"
    source.write_bytes(made.dumps(made.with_others(made.ada())))
    write_converted(source, target, LICENCE)
    return target


def test_command(tmp_path, capsys):
    source, target = tmp_path / "ada.pkl", tmp_path / "ada.safetensors"
    arguments = [str(source), str(target), "--licence", LICENCE]
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == f"{source}: expected a trained generator, found no such file"
    source.write_bytes(made.dumps(made.with_others(made.ada())))
    main(arguments)
    assert capsys.readouterr().out == f"{target}: stylegan2 of 16 × 16 pixels, {LICENCE}\n"
    assert json.loads(target.with_suffix(".json").read_text())["licence"] == LICENCE


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"target": "network.onnx"}, "network.onnx: another file, .safetensors or .pt, was"),
        ({"target": "network.pt"}, "network.pt: another file"),
        ({"licence": " "}, "licence is empty"),
        ({"psi": 1.5}, "psi is 1.5"),
    ],
)
def test_what_is_not_converted(tmp_path, arguments, found):
    source = tmp_path / "network.pt"
    source.write_bytes(b"")
    given = {"target": "converted.safetensors", "licence": LICENCE} | arguments
    with pytest.raises(ValueError, match=found):
        write_converted(source, tmp_path / given.pop("target"), **given)


def test_a_kind_that_rosinality_has_not(tmp_path):
    source = tmp_path / "t.pkl"
    source.write_bytes(sources()["t.pkl"])
    with pytest.raises(ValueError, match="rosinality's code has no stylegan3"):
        write_converted(source, tmp_path / "t.pt", LICENCE)


@pytest.mark.parametrize(
    ("generator", "found"),
    [
        (made.ada(c_dim=3), "a conditional network"),
        (
            made.ada(mapping_kwargs=made.EasyDict(num_layers=2, lr_multiplier=1.0)),
            "lr_multiplier is 1.0",  # its file would be read as one of 0.01, as another network
        ),
    ],
)
def test_networks_that_rosinality_has_not(tmp_path, generator, found):
    source = tmp_path / "ada.pkl"
    source.write_bytes(made.dumps(made.with_others(generator)))
    with pytest.raises(ValueError, match=f"there.pt: {found}"):
        write_converted(source, tmp_path / "there.pt", LICENCE)
    assert not (tmp_path / "there.pt").exists()


def test_a_target_that_cannot_be_written_is_one_sentence(tmp_path):
    source, blocked = tmp_path / "ada.pkl", tmp_path / "blocked"
    source.write_bytes(sources()["ada.pkl"])
    blocked.write_text("a file in the place of a folder")
    with pytest.raises(SystemExit, match="blocked"):
        main([str(source), str(blocked / "ada.safetensors"), "--licence", LICENCE])


def changed_card(tmp_path, **changes):
    target = converted(tmp_path)
    card = json.loads(target.with_suffix(".json").read_text())
    card = {name: value for name, value in (card | changes).items() if value is not None}
    target.with_suffix(".json").write_text(json.dumps(card))
    return target


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"kind": "stylegan9"}, "'stylegan9', which is none of stylegan2, stylegan3, eg3d"),
        ({"kind": ["stylegan2"]}, "which is none of"),
        ({"kind": None}, "expected a trained generator"),
        ({"kwargs": None}, "expected a trained generator"),
        ({"kwargs": [1]}, "a list in place of a dictionary"),
        ({"kwargs": {"resolution": 2**60}}, "z_dim is None"),
        ({"kwargs": made.CONFIG | {"resolution": 2**60}}, "a power of two from 4 to 2048"),
        ({"kwargs": made.CONFIG | {"mapping_layers": 10**9}}, "mapping_layers is 1000000000"),
        ({"kwargs": made.CONFIG | {"channel_max": 4}}, "of shape"),
        ({"kwargs": made.CONFIG | {"depth": 4}}, "the option 'depth', which stylegan2 does not"),
        ({"kind": "stylegan3"}, "num_layers is None"),
        ({"sha256": "0" * 64}, "the weights are not those"),
        ({"sha256": None}, "no readable generator"),
        ({"psi": "a"}, "psi 'a' in its card"),
        ({"precision": ["float32"]}, r"precision \['float32'\] in its card"),
    ],
)
def test_cards_that_do_not_fit(tmp_path, changes, found):
    target = changed_card(tmp_path, **changes)
    with pytest.raises(ValueError, match=f"ada.safetensors: .*{found}"):
        read(target)


@pytest.mark.parametrize(
    ("changes", "found"),
    [({"psi": 9}, "truncation is 9"), ({"precision": "x"}, "'x'"), ({"noise": "x"}, "'x'")],
)
def test_settings_that_do_not_fit(tmp_path, changes, found):
    target = changed_card(tmp_path, **changes)
    with pytest.raises(ValueError, match=f"ada.safetensors: .*{found}"):
        load_generator("stylegan2", weights=target)


@pytest.mark.parametrize("text", ["", "[]", "[" * 100_000, "null", '{"sha256": 1}'])
def test_cards_that_are_none(tmp_path, text):
    target = converted(tmp_path)
    target.with_suffix(".json").write_text(text)
    with pytest.raises(ValueError, match="ada.safetensors: "):
        read(target)


@pytest.mark.parametrize(
    ("weight", "values", "found"),
    [
        ("mapping.w_avg", torch.full((6,), torch.nan), "not finite"),
        ("mapping.w_avg", torch.zeros(6, dtype=torch.float64), "finite float32"),
        ("mapping.w_avg", torch.zeros(7), "of shape"),
        ("mapping.w", torch.zeros(7), "which its options do not ask for"),
    ],
)
def test_weights_that_do_not_fit(tmp_path, weight, values, found):
    tensors = read(converted(tmp_path)).tensors
    content = safetensors.torch.save(tensors | {weight: values})
    target = converted(tmp_path)
    card = json.loads(target.with_suffix(".json").read_text())
    target.write_bytes(content)
    card["sha256"] = hashlib.sha256(content).hexdigest()
    target.with_suffix(".json").write_text(json.dumps(card))
    with pytest.raises(ValueError, match=f"ada.safetensors: .*{found}"):
        read(target)
