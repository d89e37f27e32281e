"""Pages on which a class labels the study's photographic faces.

    python -m published.class_page                  402 pictures of 134 faces, perceived gender
    python -m published.class_page --ask age        the same without a gender axis
    python -m published.class_page --students 9     pages for a smaller class

Each face has a picture with light, with medium and with dark skin. They are made on this machine,
as `make published` makes them, and lie in no repository. What is finished is kept, so that a run
that was interrupted goes on. Look at `look-first.jpg` before the class does; `--leave-out` takes
the numbers of faces that should not be shown, and makes no picture anew.

Every page shows a face once, so that no student sees two versions of one face. Students who have
time take a second page, of another set of faces. Each student sees the pictures in another order.
`python -m published.class_labels` reads the files that the students save.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from faceaudit.annotations import write_page
from faceaudit.utils import seeding
from faceaudit.utils.errors import InputError
from faceaudit.utils.files import atomic, write_text
from published import record
from published.class_labels import GENDER, LEAST_ANSWERS, QUESTIONS, picture_id
from published.faces import LEVELS, Faces
from published.fetch import fetch
from published.places import BUILD, ROOT
from published.plan import SEEDS
from published.study import MEASURED, measured_part

FACES = 134
"""Whose three versions are 402 pictures."""
STUDENTS = 18
PEOPLE_PER_PICTURE = 3
"""Who answer about every picture, at least; a class that is too small has fewer."""
LEAST_STUDENTS = LEAST_ANSWERS * len(LEVELS)
SEED = 1
"""Of which faces are on which page."""
SIDE = 256
"""Pixels of a picture on the page."""
FOLDER = ROOT / "build" / "class"
IN_A_ROW = 12
SIDE_IN_SHEET = 96
ABOUT = """\
Pictures for a class. They show faces that a computer has generated. No such person exists.

- Labels say how a face is perceived, and not who somebody is. Taking part is voluntary.
- Every base face is one that three age networks call 25 or older. Look at look-first.jpg all the
  same, and leave out who looks younger: the same command with --leave-out and the numbers.
- The generator is distilled from StyleGAN2, which learned from photographs (FFHQ). Both are for
  non-commercial use, and the licence of the distilled network may not lift that. Teach with the
  pictures, do not publish them, and delete this folder afterwards.
- Do not mix real people's photographs in.

Who gets which page:

{pages}

Pages of one set show the same faces with other skin. Where there are several sets, who has time
takes a second page, of another set. Everybody hands in the file that the page saves. Then run

    python -m published.class_labels handed-in/

where handed-in is a folder with these files.
"""


@dataclass(frozen=True)
class Page:
    """What students of one page see.

    Attributes:
        number: of the page, from 1 on.
        set_of_faces: from 1 on; pages of another set show other faces.
        images: face and level of skin of each picture, of which no face occurs twice.
    """

    number: int
    set_of_faces: int
    images: Sequence[tuple[int, str]]


def shared_out(faces: Sequence[int], students: int) -> list[Page]:
    """Share the pictures of faces out among pages.

    The faces are divided at random into sets, and each set has a page for every level of skin on
    which a third of the set has light, a third medium, and a third dark skin.

    Args:
        faces: their numbers.
        students: of the class; the more, the more sets.

    Example:
        >>> [page.images for page in shared_out([7], 3)]
        [[(7, 'low')], [(7, 'middle')], [(7, 'high')]]
    """
    levels = list(LEVELS)
    sets = min(students // (PEOPLE_PER_PICTURE * len(levels)), len(faces) // len(levels))
    sets = max(1, sets)
    shuffled = seeding.rng(SEED, "published: class pages").permutation(np.asarray(faces))
    pages = []
    for number in range(sets * len(levels)):
        of_set, turn = divmod(number, len(levels))
        chosen = shuffled[of_set::sets].tolist()
        images = [(face, levels[(place + turn) % len(levels)]) for place, face in enumerate(chosen)]
        pages.append(Page(number + 1, of_set + 1, images))
    return pages


def name_of(face: int, level: str) -> str:
    """The name of an image in the record."""
    return f"{MEASURED}-{face:05d}-{level}"


def write_pages(
    pictures: Mapping[tuple[int, str], np.ndarray],
    students: int,
    questions: Sequence[str],
    folder: Path,
) -> list[Page]:
    """Write the pages, a sheet to look through first, and what the teacher must know.

    Args:
        pictures: face and level of skin → uint8 (height, width, 3).
        students: of the class.
        questions: of `QUESTIONS`.
        folder: which is made; pages of an earlier call are deleted.

    Returns:
        The pages, in the order of their numbers.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("page-*.html"):
        path.unlink()
    asked = {name: QUESTIONS[name] for name in questions}
    faces = list(dict.fromkeys(face for face, _ in pictures))
    pages = shared_out(faces, students)
    for page in pages:
        shown = {picture_id(name_of(*image)): pictures[image] for image in page.images}
        with atomic(folder / f"page-{page.number}.html") as temporary:
            write_page(shown, asked, temporary)
    _write_sheet({face: pictures[face, "middle"] for face in faces}, folder / "look-first.jpg")
    lines = [
        f"page-{page.number}.html  set {page.set_of_faces}, {len(page.images)} pictures: students "
        + ", ".join(str(one) for one in range(page.number, students + 1, len(pages)))
        for page in pages
    ]
    write_text(folder / "about.txt", ABOUT.format(pages="\n".join(lines)))
    return pages


def _write_sheet(faces: Mapping[int, np.ndarray], path: Path) -> None:
    """Write one picture with all faces and their numbers."""
    tile = (SIDE_IN_SHEET, SIDE_IN_SHEET)
    height = SIDE_IN_SHEET + 14
    rows = -(-len(faces) // IN_A_ROW)
    sheet = Image.new("RGB", (IN_A_ROW * SIDE_IN_SHEET, rows * height), "white")
    draw = ImageDraw.Draw(sheet)
    for place, (number, pixels) in enumerate(faces.items()):
        row, column = divmod(place, IN_A_ROW)
        left = column * SIDE_IN_SHEET
        sheet.paste(Image.fromarray(pixels).resize(tile), (left, row * height))
        draw.text((left + 2, row * height + SIDE_IN_SHEET), str(number), fill="black")
    sheet.save(path, quality=88)


def pictures_of(numbers: Sequence[int]) -> dict[tuple[int, str], np.ndarray]:
    """Make the pictures of recorded faces: face and level of skin → uint8 (256, 256, 3).

    Args:
        numbers: of faces in the record.
    """
    fetch()
    faces = Faces(BUILD / "class")
    record.require_whole()
    steps = record.steps_of(MEASURED, numbers)
    part = measured_part(faces, steps, SEEDS[MEASURED], "class")
    table = part.images.table
    pictures = {}
    for row, (face, level) in enumerate(zip(table["transect"], table["skin"], strict=True)):
        pixels = Image.fromarray(part.images.pixels[row].transpose(1, 2, 0))
        pictures[int(face), level] = np.asarray(pixels.reduce(pixels.width // SIDE))
    return pictures


def _without(
    pictures: Mapping[tuple[int, str], np.ndarray], left_out: Sequence[int]
) -> dict[tuple[int, str], np.ndarray]:
    """The pictures of the faces that are not left out.

    Raises:
        InputError: a number that is no face's, or no face is left.
    """
    faces = {face for face, _ in pictures}
    unknown = sorted(set(left_out) - faces)
    if unknown:
        raise InputError(
            f"--leave-out: {unknown[0]} is no face of these pages, the numbers in look-first.jpg "
            "were expected",
            field="--leave-out",
            found=unknown[0],
            expected="the numbers in look-first.jpg",
        )
    if faces == set(left_out):
        raise InputError(
            "--leave-out: all faces are left out, one at least was expected to stay",
            field="--leave-out",
            found=left_out,
            expected="one face that stays",
        )
    return {image: pixels for image, pixels in pictures.items() if image[0] not in left_out}


def main(arguments: Sequence[str]) -> int:
    """Make the pages.

    Returns:
        0, or 1 where they could not be made.
    """
    command = argparse.ArgumentParser(
        prog="python -m published.class_page",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("--faces", type=int, default=FACES, help="three pictures each")
    command.add_argument("--students", type=int, default=STUDENTS, help="of the class")
    command.add_argument("--ask", nargs="+", choices=list(QUESTIONS), default=[GENDER])
    command.add_argument("--leave-out", type=int, nargs="+", default=[], metavar="FACE")
    command.add_argument("--folder", type=Path, default=FOLDER, help="for the pages")
    given = command.parse_args(arguments)
    if given.faces < 1:
        command.error("--faces: 1 or more were expected")
    if given.students < LEAST_STUDENTS:
        command.error(
            f"--students: {LEAST_STUDENTS} or more were expected, {LEAST_ANSWERS} for each of "
            f"{len(LEVELS)} pages"
        )
    try:
        pictures = pictures_of(record.recorded_faces(MEASURED, given.faces))
        shown = _without(pictures, given.leave_out)
        pages = write_pages(shown, given.students, given.ask, given.folder)
    except (InputError, ChildProcessError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    about = given.folder / "about.txt"
    print(f"{len(shown)} pictures on {len(pages)} pages; {about} says who gets which page")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
