"""Train the papers' gender classifier on photographs that lie on disk (transects, section 5.1).

Images are decoded once, by processes, into sets of one size that a training maps into memory. Those
for training are shown to a network; those for validation choose no weights, and give its error
rates. The labels are *perceived* gender, as the set's annotators saw it.
"""

import argparse
import hashlib
import io
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import PIL
from joblib import delayed
from PIL import Image
from tqdm import tqdm

from faceaudit import datasets
from faceaudit.effects.error_rates import stratified_errors
from faceaudit.generators import image_cache, weights
from faceaudit.utils import pictures
from faceaudit.utils.arguments import resolve_device
from faceaudit.utils.errors import InputError
from faceaudit.utils.files import alone, atomic
from faceaudit.utils.parallel import cpu_count
from faceworld.networks import classifiers, photographs
from faceworld.networks.classifiers import RECIPES, BinaryTask, predict
from faceworld.networks.onnx_export import write_onnx
from helpers.artifacts import lineage, manifests
from helpers.artifacts.code import made_by
from helpers.parallel import processes

CHUNK = 1024  # images that a process reads at a time
GENDERS = ("female", "male")
SPLITS = ("train", "validation")
KNOWN = ["image", "label", "split", "sha256"]  # columns that are no attribute

# tqdm's own lock is for several processes, and a process that is killed leaves it to the system.
tqdm.set_lock(threading.RLock())


# --- sets: a table (image, label, which is 1 for perceived as male, split, attributes) and its card


def _celeba(folder: Path) -> tuple[pd.DataFrame, dict]:
    table, card, _ = datasets.read_celeba(folder)
    if "partition" not in table:
        raise InputError(
            f"{folder}: expected list_eval_partition.txt, found no such file",
            field=str(folder / "list_eval_partition.txt"),
            expected="the file of CelebA's partition",
        )
    splits = dict(enumerate([*SPLITS, "test"]))
    split = table.pop("partition").map(splits)
    images = table.pop("image")
    table = table.drop(columns="identity", errors="ignore") > 0
    label = table.pop("Male").astype(int)
    return table.assign(image="img_align_celeba/" + images, label=label, split=split), card


def _fairface(folder: Path) -> tuple[pd.DataFrame, dict]:
    parts = {
        "train": datasets.read_fairface(folder / "fairface_label_train.csv"),
        "validation": datasets.read_fairface(folder / "fairface_label_val.csv"),
    }
    frames = {split: part.frame for split, part in parts.items()}
    table = pd.concat(frames, names=["split"]).reset_index("split").drop(columns="service_test")
    table = table.assign(label=(table.pop("gender") == "Male").astype(int))
    card = {name: parts["train"].card[name] for name in ("source", "terms")}
    return table, card | {split: part.card for split, part in parts.items()}


SETS = {"celeba": _celeba, "fairface": _fairface}


# --- images


def readable(table: pd.DataFrame, folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split the rows of training and validation by whether their images can be read.

    Args:
        table: columns image (a path in the folder), label, split and attributes.
        folder: of the images.

    Returns:
        The rows with a readable image, with the SHA-256 of their files; and a table of the others,
        with the columns reason and image.

    Raises:
        InputError: a split in which women or men have no image.
    """
    table = table[table["split"].isin(SPLITS)].reset_index(drop=True)
    files = (str(folder) + "/" + table["image"]).to_list()
    chunks = [files[start : start + CHUNK] for start in range(0, len(files), CHUNK)]
    examined = sorted(_shared(_examine, chunks.__getitem__, len(chunks)))
    rows = [row for _, chunk in examined for row in chunk]
    table = table.assign(**pd.DataFrame(rows, columns=["sha256", "reason"], index=table.index))
    lost = table.loc[table["reason"] != "", ["reason", "image"]]
    table = table[table.pop("reason") == ""].reset_index(drop=True)
    counts = table.groupby(["split", "label"]).size()
    for split in SPLITS:
        for label, gender in enumerate(GENDERS):
            if (split, label) not in counts:
                missing = f"{folder}: no image of people perceived as {gender} for {split}"
                sentences = [f"{missing}, at least one was expected", *describe_left_out(lost)]
                raise InputError(
                    "; ".join(sentences),
                    field=f"images of people perceived as {gender} for {split}",
                    found=0,
                    expected="at least one",
                )
    return table, lost


def describe_left_out(lost: pd.DataFrame) -> list[str]:
    """Describe the images that were left out, by a sentence without a full stop for each reason."""
    by_reason = lost.groupby("reason")["image"].agg(["size", "first"])
    return [
        f"{n} left out, {reason} (the first: {image})"
        for reason, n, image in by_reason.itertuples()
    ]


def _examine(files: Sequence[str]) -> list[tuple[str, str]]:
    """SHA-256 and "" of each image, "" and the reason of a file that is none."""
    rows = []
    for file in files:
        try:
            content = Path(file).read_bytes()
            pictures.read_picture(io.BytesIO(content))
            rows.append((hashlib.sha256(content).hexdigest(), ""))
        except FileNotFoundError:
            rows.append(("", "no such file"))
        except pictures.UnreadablePicture as error:
            rows.append(("", error.reason))
        except OSError:
            rows.append(("", "damaged or no image"))
    return rows


def decoded(table: pd.DataFrame, folder: Path, size: int, path: Path) -> np.ndarray:
    """Squares from the middle of a table's images, uint8 (n, 3, size, size), mapped from `path`.

    Pictures are turned and cut as those of audits are, see `faceaudit.utils.pictures`.
    """
    files = (str(folder) + "/" + table["image"]).to_numpy(str)
    content = table["sha256"].to_numpy("S64")
    code = made_by(Path(pictures.__file__), packages=())
    key = image_cache.content_key(content, size=size, pillow=PIL.__version__, code=code)
    decode = partial(_squares, size=size)
    return image_cache.fill_image_store(
        path, files, decode, (3, size, size), key=key, chunk=CHUNK, share=_shared
    )


def _squares(files: np.ndarray, size: int) -> np.ndarray:
    """Squares from the middle of images, uint8 (n, 3, size, size)."""
    pixels = np.empty((len(files), 3, size, size), np.uint8)
    for row, file in zip(pixels, files, strict=True):
        square = pictures.cut(pictures.read_picture(file))
        # As audits shrink the images that they show.
        scaled = square.resize((size, size), Image.Resampling.BILINEAR)
        row[:] = np.asarray(scaled).transpose(2, 0, 1)
    return pixels


def _shared(work: Callable, chunk: Callable[[int], Any], count: int) -> Iterator[tuple[int, Any]]:
    """Results of chunks by their number, from processes."""
    pool = processes(min(cpu_count(), count) or 1, return_as="generator_unordered")
    yield from pool(delayed(_numbered)(work, number, chunk(number)) for number in range(count))


def _numbered(work: Callable, number: int, chunk: Any) -> tuple[int, Any]:
    return number, work(chunk)


# --- training


class PhotographTask(BinaryTask):
    """Classify perceived gender, both shown equally often, with each image augmented by itself."""

    long = True


@dataclass(frozen=True)
class PhotographTraining(classifiers.ClassifierTraining):
    """Settings that fix a classifier that was trained on photographs."""


class PhotographModel(classifiers.AuditedModel):
    """A classifier that was trained on photographs."""

    settings = PhotographTraining


def train_on_photographs(
    table: pd.DataFrame,
    folder: Path,
    path: Path,
    card: dict[str, Any],
    *,
    architecture: str,
    size: int,
    seed: int,
    epochs: int,
    device: str = "cpu",
) -> tuple[PhotographModel, pd.DataFrame]:
    """Train on the readable images of a table, or finish a training that was interrupted.

    The images, as decoded, stay beside the weights. The same data, settings and code give the same
    weights on one processor thread, interrupted or not.

    Args:
        table: a row for each image, as `readable` gives it: image (a path in the folder), label (0:
            perceived as female, 1: as male), split, sha256, and attributes.
        folder: of the images.
        path: of the weights (`.safetensors`); the card (`.json`) stands beside them, and a table of
            the errors in validation (`.csv`).
        card: further fields of the card.
        architecture: "small" or "resnet50"; its recipe is that of `networks.train_classifier`.
        size: height and width that the network sees, pixels.
        seed: of the first weights and of every epoch's draws.
        epochs: passes over as many images as there are, both genders alike.
        device: "cpu" or "cuda".

    Returns:
        The model, and its errors in validation: a row for each perceived gender and each level of
        an attribute, as `errors.stratified_errors` counts them.
    """
    parts = [table[table["split"] == split] for split in SPLITS]
    examples = []
    for split, part in zip(SPLITS, parts, strict=True):
        images = decoded(part, folder, size, path.with_name(f"{path.stem}.{split}.npy"))
        examples.append((images, part["label"].to_numpy()))
    training, validation = examples
    recipe = vars(RECIPES[architecture])
    model = PhotographModel.make(
        training,
        path,
        PhotographTask(**recipe),
        {"architecture": architecture},
        seed=seed,
        epochs=epochs,
        held_out=validation,
        device=device,
    )
    errors = validation_errors(predict(model, validation[0]), parts[1])
    with atomic(path.with_suffix(".csv")) as temporary:
        errors.to_csv(temporary, index=False, lineterminator="\n")
    content = table[KNOWN].to_csv(index=False).encode()
    weights.copy(
        path,
        path,
        data_sha256=hashlib.sha256(content).hexdigest(),
        pillow=PIL.__version__,
        images=table["split"].value_counts().to_dict(),
        recipe={name: getattr(value, "__name__", value) for name, value in recipe.items()},
        **card,
    )
    return model, errors


def validation_errors(score: np.ndarray, table: pd.DataFrame) -> pd.DataFrame:
    """Error rates by perceived gender, and by it and each attribute, with Wilson intervals.

    Args:
        score: (n,) P(perceived as male).
        table: of the same images, with their labels and attributes.
    """
    gender = pd.Categorical.from_codes(table["label"], list(GENDERS))
    wrong = (score > 0.5) != (table["label"] == 1)
    attributes = table.drop(columns=KNOWN)
    frame = attributes.assign(gender=gender, error=wrong.astype(int))
    tables = [stratified_errors(frame, "gender").reset_index()]
    for name in attributes:
        rows = stratified_errors(frame, ["gender", name]).reset_index()
        tables.append(rows.rename(columns={name: "level"}).assign(attribute=name))
    columns = ["attribute", "level", *tables[0]]
    return pd.concat(tables, ignore_index=True).reindex(columns=columns)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("set", choices=photographs.SETS, help="which data set it is")
    parser.add_argument("data", type=Path, help="the folder of the data set")
    parser.add_argument("--profile", default="paper", help="whose sizes are taken")
    parser.add_argument("--device", default="cpu", help="where tensors live: cpu or cuda")
    options = parser.parse_args(arguments)
    sizes = lineage.load_profile(options.profile)
    resolve_device(options.device)
    folder = manifests.root() / "train" / options.profile
    path = folder / f"gender-{options.set}.safetensors"
    with alone(folder / ".lock", print):
        # By the module's name: this file runs as __main__, which other processes cannot import.
        table, card = photographs.SETS[options.set](options.data)
        table, lost = photographs.readable(table, options.data)
        card["left_out"] = lost["reason"].value_counts().to_dict()
        print(f"{len(table):,} images", *photographs.describe_left_out(lost), sep="\n", flush=True)
        model, _ = photographs.train_on_photographs(
            table,
            options.data,
            path,
            card,
            architecture=sizes.architecture,
            epochs=sizes.epochs,
            seed=sizes.seed,
            size=sizes.image_size,
            device=options.device,
        )
        onnx = write_onnx(model.network, path.with_suffix(".onnx"), sizes.image_size)
    inside = f"input: {{size: {sizes.image_size}}}, output: {{activation: sigmoid}}"
    print(f"Errors in validation, with Wilson's intervals: {path.with_suffix('.csv')}")
    print(f"model: {{kind: onnx, path: {onnx.absolute()}, {inside}}}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (ValueError, OSError, manifests.ArtifactError) as error:
        sys.exit(str(error))
