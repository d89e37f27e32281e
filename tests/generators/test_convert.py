"""Conversion once, and from then on safetensors alone, with a card that says what they are."""

import hashlib
import json
from dataclasses import asdict

import generator_files as made
import pytest
import torch

from helpers.generators import load_checkpoint, load_generator
from helpers.generators.convert import main, write_converted

LICENCE = "non-commercial, of the authors"


def sources() -> dict[str, bytes]:
    square = made.Weights()
    square.mapping("mapping", 6, 0, 6, layers=2)
    square.synthesis("synthesis", made.WIDTHS, w_dim=6)
    state = {"g_ema": made.rosinality_state(square.found)}
    state["latent_avg"] = square.found["mapping.w_avg"]
    networks = {
        "ada.pkl": made.ada(),
        "eg3d.pkl": made.eg3d()[0],
    }
    return {
        **{name: made.dumps(made.with_others(one)) for name, one in networks.items()},
        "zip.pt": made.rosinality(state, True),
        "before_zip.pt": made.rosinality(state, False),
    }


@pytest.mark.parametrize("name", sources())
def test_round_trip_is_equal_bit_for_bit(tmp_path, name):
    source, target = tmp_path / name, tmp_path / "converted.safetensors"
    source.write_bytes(sources()[name])
    card = write_converted(source, target, LICENCE, psi=0.7)
    before, after = load_checkpoint(source), load_checkpoint(target)
    assert (after.kind, after.config) == (before.kind, before.config)
    weights = after.state_dict()
    assert weights.keys() == before.state_dict().keys()
    for weight, values in before.state_dict().items():
        assert torch.equal(weights[weight], values)
    assert card.items() <= after.card.items()
    assert card == {
        "kind": before.kind,
        "kwargs": asdict(before.config),
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
    back = load_checkpoint(tmp_path / "there.pt").state_dict()
    for name, values in load_checkpoint(official).state_dict().items():
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
    source = tmp_path / "eg3d.pkl"
    source.write_bytes(sources()["eg3d.pkl"])
    with pytest.raises(ValueError, match="rosinality's code has no eg3d"):
        write_converted(source, tmp_path / "eg3d.pt", LICENCE)


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


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"kind": "stylegan9"}, "'stylegan9', which is none of stylegan2, eg3d"),
        ({"kind": None}, "'kind'"),
        ({"kwargs": {"resolution": 16}}, "missing 3 required positional arguments"),
        ({"kwargs": made.CONFIG | {"resolution": 17}}, "a power of two"),
        ({"kwargs": made.CONFIG | {"channel_max": 4}}, "has shape"),
        ({"kwargs": made.CONFIG | {"depth": 4}}, "unexpected keyword argument 'depth'"),
        ({"sha256": "0" * 64}, "the weights are not those"),
        ({"sha256": None}, "no readable generator"),
    ],
)
def test_cards_that_do_not_fit(tmp_path, changes, found):
    target = converted(tmp_path)
    card = json.loads(target.with_suffix(".json").read_text())
    card = {name: value for name, value in (card | changes).items() if value is not None}
    target.with_suffix(".json").write_text(json.dumps(card))
    with pytest.raises(ValueError, match=f"ada.safetensors: .*{found}"):
        load_checkpoint(target)
    target.with_suffix(".json").unlink()
    with pytest.raises(ValueError, match="ada.safetensors: no readable generator"):
        load_checkpoint(target)


@pytest.mark.parametrize(
    ("changes", "found"),
    [({"psi": 9}, "truncation is 9"), ({"precision": "x"}, "'x'"), ({"noise": "x"}, "'x'")],
)
def test_settings_that_do_not_fit(tmp_path, changes, found):
    target = converted(tmp_path)
    card = json.loads(target.with_suffix(".json").read_text())
    target.with_suffix(".json").write_text(json.dumps(card | changes))
    with pytest.raises(ValueError, match=f"ada.safetensors: .*{found}"):
        load_generator("stylegan2", weights=target)
