"""Whether claims turn where answers and pictures change as little as another machine changes them.

The laptop run is made anew twenty times, by a copy of the code in which every score of a network
moves by up to 1e-4 (its logit by 4e-4) and one pixel in a hundred of every picture by one grey
level. Counted is in how many of these runs each sentence that the book commits to holds no longer.
Run it after `make reproduce`: networks are those that ship, and what rests on no picture and no
network is taken from that run. It takes about two hours of two cores; finished runs stay in
`build/perturbed`, and the same command goes on from there.
"""

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path

import pandas as pd
from record import write_rows
from seeds import copied, own

from helpers import artifacts
from helpers.artifacts import lineage
from helpers.claims import claims_of_page

PROFILE = "laptop"
DRAWS = range(1, 21)
APPENDED = {
    "src/faceworld/rendering.py": """
from faceaudit.utils.perturbation import drawn_once, with_other_pixels

_exact_render = _render


def _render(parameters, **settings):
    known = settings["render"] is facerender.render
    images = drawn_once(_exact_render, parameters, settings, known)
    return with_other_pixels(images, parameters)
""",
    "src/faceaudit/generators/image_cache.py": """
from faceaudit.utils.perturbation import with_other_pixels

_exact_images = _images


def _images(codes, *, generator, scene):
    images = _exact_images(codes, generator=generator, scene=scene)
    # A folder of pictures holds some that are perturbed already.
    known = type(generator).__name__ == "ImageSet"
    return images if known else with_other_pixels(images, codes)
""",
    "src/faceworld/networks/training.py": """
from faceaudit.utils.perturbation import with_other_scores

_exact_outputs = Trained.outputs
Trained.outputs = lambda self, images: with_other_scores(
    _exact_outputs(self, images), images
)
""",
    "src/faceaudit/models/local.py": """
import torch

from faceaudit.utils.perturbation import with_other_scores

_exact_call = OnnxNetwork.__call__


def _other_call(self, ready):
    return with_other_scores(torch.from_numpy(_exact_call(self, ready)), ready).numpy()


OnnxNetwork.__call__ = _other_call
""",
    "src/faceaudit/utils/perturbation.py": '''
import os
import zlib
from pathlib import Path

import numpy as np
import torch

DRAW, KEPT = int(os.environ["DRAW"]), Path(os.environ["EXACT_IMAGES"])


def drawn_once(exact, parameters, settings, known):
    """Images before they are perturbed, which all runs share."""
    if not known:
        return exact(parameters, **settings)
    name = "-".join(str(part) for part in _named(parameters, settings))
    path = KEPT / f"{name}.npy"
    if not path.is_file():
        part = path.with_suffix(f".{os.getpid()}")
        with part.open("wb") as stream:
            np.save(stream, exact(parameters, **settings))
        part.rename(path)
    return np.load(path)


def _named(parameters, settings):
    content = parameters.tobytes()
    return zlib.crc32(content), zlib.adler32(content), settings["size"]


def _drawn(face):
    """Random numbers that hang on the draw and on the face, not on what is drawn beside it."""
    return np.random.default_rng([DRAW, zlib.crc32(np.ascontiguousarray(face).tobytes())])


def with_other_scores(scores, images):
    # Most are logits, whose scores move by a quarter of it.
    noise = [_drawn(image).uniform(-4e-4, 4e-4, scores.shape[1:]) for image in images]
    return scores + torch.from_numpy(np.reshape(noise, scores.shape)).to(scores.dtype)


def with_other_pixels(images, faces):
    """One pixel in a hundred one grey level brighter or darker."""
    made = images.copy()
    for image, face in zip(made, faces, strict=True):
        noise = _drawn(face).random(image.shape[1:], dtype=np.float32)
        steps = (noise > 0.995).astype(np.int16) - (noise < 0.005)
        image[...] = (image + steps).clip(0, 255)
    return made
''',
}
"""File of the copied code → what is added at its end."""


def with_noise() -> Path:
    """A copy of the code that perturbs what it draws and answers."""
    checkout = copied("perturbed", APPENDED)
    for name, text in APPENDED.items():
        path = checkout / name
        code = path.read_text(encoding="utf-8") if path.is_file() else ""
        if not code.endswith(text):
            path.write_text(code + text, encoding="utf-8")
    return checkout


def perturbed(draw: int, checkout: Path) -> dict[str, bool]:
    """Page and number of a claim → whether the run with this draw bears it out."""
    found = checkout / f"draw-{draw}.json"
    if not found.is_file():
        made, images = checkout / "artifacts" / str(draw), checkout / "images"
        images.mkdir(exist_ok=True)
        for study in lineage.STUDIES:
            source, target = artifacts.root() / PROFILE / study, made / PROFILE / study
            shutil.copytree(source, target, dirs_exist_ok=True)
        environment = own(checkout, made) | {
            "NUMBA_CACHE_DIR": str(checkout / "compiled"),
            "EXACT_IMAGES": str(images),
            "DRAW": str(draw),
        }
        for page in last_pages():
            command = [sys.executable, "tools/run.py", PROFILE, "--jobs", "1", "--stage", page]
            run = subprocess.run(command, cwd=checkout, env=environment)
            if run.returncode:
                sys.exit(f"draw {draw}: {page} failed; logs are in {made}")
        found.write_text(json.dumps(claims(made / PROFILE)), encoding="utf-8")
        shutil.rmtree(made)
    return json.loads(found.read_text(encoding="utf-8"))


def claims(made: Path) -> dict[str, bool]:
    pages = sorted(made.glob("*/*.ipynb"))
    return {
        f"{page.stem}, claim {number}": said.holds
        for page in pages
        for number, said in enumerate(claims_of_page(page), 1)
    }


def last_pages() -> list[str]:
    """Pages that no other page reads: to run them is to run all."""
    sources = list(lineage.notebooks().values())
    read = {name for path in sources for name in lineage.inputs(path)}
    return sorted(path.stem for path in sources if path.stem not in read)


def record(runs: dict[int, dict[str, bool]]) -> None:
    held = pd.DataFrame(runs)
    turned = (~held).sum(axis=1)
    column = "runs in which it turns"
    rows = [{"what": page, column: int(n)} for page, n in turned[turned > 0].items()]
    facts = {"runs": len(runs), "claims": len(held), "claims that turned": len(rows)}
    none = [{"what": "any claim", column: 0}]
    write_rows("perturbed", facts, rows or none, ["torch", "numpy"])


def main() -> None:
    checkout, runs = with_noise(), {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # a run a core
        found = pool.map(perturbed, DRAWS, repeat(checkout))
        for draw, held in zip(DRAWS, found, strict=True):
            runs[draw] = held
            record(runs)  # so far


if __name__ == "__main__":
    main()
