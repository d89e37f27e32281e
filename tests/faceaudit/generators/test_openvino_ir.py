"""Generators in OpenVINO's representation, on two small networks that are made here."""

import pickle
import subprocess
import sys

import numpy as np
import openvino
import pytest
import torch
from openvino import opset13

from faceaudit.file.specification import Specification
from faceaudit.generators.image_cache import Generator, synthesize_to_store
from faceaudit.generators.openvino_ir import MAPPING, SYNTHESIS, OpenVinoGenerator
from faceaudit.images.generator_kinds import generator_of
from faceaudit.utils.errors import InputError

LENGTH = 6
SIDE = 8
MATRIX = np.linspace(-1, 1, LENGTH * LENGTH, dtype=np.float32).reshape(LENGTH, LENGTH)
PIXELS = np.linspace(-1, 1, LENGTH * 3 * SIDE**2, dtype=np.float32).reshape(LENGTH, -1)


def write_mapping(folder, length=LENGTH):
    code = opset13.parameter([1, LENGTH], np.float32, name="var")
    mapped = opset13.matmul(code, MATRIX[:, :length], False, False)
    openvino.save_model(openvino.Model([mapped], [code]), folder / f"{MAPPING}.xml", False)


def write_synthesis(folder, shape=(1, 3, SIDE, SIDE)):
    code = opset13.parameter([1, LENGTH], np.float32, name="style")
    pixels = opset13.matmul(code, PIXELS, False, False)
    image = opset13.reshape(pixels, np.array(shape), False)
    openvino.save_model(openvino.Model([image], [code]), folder / f"{SYNTHESIS}.xml", False)


@pytest.fixture
def folder(tmp_path):
    write_mapping(tmp_path)
    write_synthesis(tmp_path)
    return tmp_path


def expected_images(codes):
    """The images of the two networks above, by numpy."""
    pixels = (codes @ PIXELS).reshape(-1, 3, SIDE, SIDE)
    return np.clip((pixels + 1) / 2, 0, 1)


def test_images_are_those_of_the_networks(folder):
    generator = OpenVinoGenerator(folder)
    assert isinstance(generator, Generator)
    codes = generator.sample(3, seed=1)
    images = generator.synthesize(codes)
    assert images.dtype == torch.float32
    np.testing.assert_allclose(images, expected_images(codes.numpy()), atol=1e-6)


def test_codes_depend_on_the_seed_and_their_number_alone(folder):
    generator = OpenVinoGenerator(folder)
    codes = generator.sample(5, seed=1)
    assert torch.equal(generator.sample(2, seed=1), codes[:2])
    assert not torch.equal(generator.sample(5, seed=2), codes)


def test_truncation_draws_codes_towards_the_mean(folder):
    whole = OpenVinoGenerator(folder)
    half = OpenVinoGenerator(folder, truncation=0.5)
    middle = (whole.sample(4, seed=1) + whole.mean_code) / 2
    torch.testing.assert_close(half.sample(4, seed=1), middle)


def test_smaller_images_are_means_of_pixels(folder):
    codes = OpenVinoGenerator(folder).sample(2, seed=1)
    reduced = OpenVinoGenerator(folder, size=SIDE // 2).synthesize(codes)
    squares = expected_images(codes.numpy()).reshape(2, 3, SIDE // 2, 2, SIDE // 2, 2)
    np.testing.assert_allclose(reduced, squares.mean((3, 5)), atol=1e-6)


def test_another_process_makes_the_same_images(folder):
    generator = OpenVinoGenerator(folder, truncation=0.7, size=4)
    other = pickle.loads(pickle.dumps(generator))
    codes = generator.sample(2, seed=1)
    assert torch.equal(other.synthesize(codes), generator.synthesize(codes))
    assert other.card == generator.card


def test_a_set_of_images_is_made_anew_where_the_weights_changed(folder, tmp_path):
    codes = OpenVinoGenerator(folder).sample(2, seed=1).numpy()
    store = tmp_path / "images.npy"
    before = synthesize_to_store(OpenVinoGenerator(folder), codes, store).copy()
    weights = folder / f"{SYNTHESIS}.bin"
    values = np.frombuffer(weights.read_bytes(), np.uint8).copy()
    values[: PIXELS.nbytes] = np.frombuffer((-PIXELS).tobytes(), np.uint8)
    weights.write_bytes(values.tobytes())
    after = synthesize_to_store(OpenVinoGenerator(folder), codes, store)
    assert not np.array_equal(before, after)


def test_an_audit_file_names_the_folder(folder):
    content = {
        "name": "mine",
        "question": "?",
        "axes": {"skin_colour": ("light", "dark")},
        "generator": {"kind": "openvino_ir", "folder": folder, "truncation": 0.7, "size": 4},
        "people": {"kind": "page"},
        "model": {"kind": "python", "function": abs, "version": "1", "input": {"size": 4}},
        "design": {"tolerance": 0.1},
    }
    generator = generator_of(Specification(**content))
    assert (generator.truncation, generator.size) == (0.7, 4)


def without_weights(folder):
    (folder / f"{SYNTHESIS}.bin").unlink()


def damaged(folder):
    (folder / f"{MAPPING}.xml").write_text("<net>")


def other_codes(folder):
    write_mapping(folder, length=4)


def grey(folder):
    write_synthesis(folder, (3, 1, SIDE, SIDE))


def no_images(folder):
    write_synthesis(folder, (1, 3 * SIDE**2))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without_weights, "SynthesisNetwork.bin is missing; a folder with"),
        (damaged, "MappingNetwork.xml is damaged: OpenVINO cannot read it"),
        (other_codes, "MappingNetwork gives codes of 4 numbers, SynthesisNetwork takes 6"),
        (grey, r"makes images \(1, 8, 8\), coloured squares"),
        (no_images, r"of the shapes \[1,6\] and \[1,192\]"),
    ],
)
def test_files_that_cannot_be_used_are_named(folder, change, message):
    change(folder)
    with pytest.raises(InputError, match=message):
        OpenVinoGenerator(folder)


def test_arguments_that_cannot_be_used_are_named(folder):
    with pytest.raises(InputError, match="size is 3, a divisor of the network's 8 pixels"):
        OpenVinoGenerator(folder, size=3)
    with pytest.raises(InputError, match=r"codes must be \(n, 6\), not \(1, 4\)"):
        OpenVinoGenerator(folder).synthesize(torch.zeros(1, 4))
    with pytest.raises(InputError, match=r"scene parameters \['yaw'\] are given"):
        OpenVinoGenerator(folder).synthesize(torch.zeros(1, LENGTH), yaw=1.0)


MAKE_WITHOUT_NETWORK = """
import sys

def refuse(event, details):
    # Reports of use would be sent by a socket, here or in another process.
    assert not event.startswith(("socket.", "subprocess.", "os.fork", "os.posix_spawn")), event

sys.addaudithook(refuse)
from faceaudit.generators.openvino_ir import OpenVinoGenerator
generator = OpenVinoGenerator(sys.argv[1])
generator.synthesize(generator.sample(1, seed=1))
"""


def test_no_request_leaves(folder):
    """OpenVINO brings a package that reports how its tools are used."""
    program = [sys.executable, "-W", "ignore", "-c", MAKE_WITHOUT_NETWORK, folder]
    subprocess.run(program, check=True)
