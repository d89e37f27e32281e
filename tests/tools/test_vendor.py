"""The web assets: only the pinned tarballs, done once, a word when offline."""

import base64
import hashlib
import io
import os
import tarfile

import pytest
import vendor

ASSETS = {
    "mathjax@3.2.2": ["package/es5/tex-chtml.js", "package/es5/output/chtml/fonts/woff-v2/a.woff"],
    "@jupyter-widgets/html-manager@1.0.15": ["package/dist/embed.js", "package/dist/b.woff2"],
}


def tarball(path, names):
    """A tarball with files of these names, and its hash as npm tells it."""
    with tarfile.open(path, "w:gz") as archive:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = len(name)
            archive.addfile(member, io.BytesIO(name.encode()))
    return "sha512-" + base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()


@pytest.fixture
def npm(tmp_path, monkeypatch):
    """A shell script in npm's place that hands out small tarballs, whose hashes are pinned."""

    def put(script):
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / "npm").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "bin" / "npm").chmod(0o755)

    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    pinned = {}
    for package, names in ASSETS.items():
        path = tmp_path / f"{package.rpartition('@')[0].rpartition('/')[2]}.tar"
        pinned[package] = tarball(path, [*names, "package/LICENSE", "package/package.json"])
    assert vendor.PACKAGES.keys() == pinned.keys()
    monkeypatch.setattr(vendor, "PACKAGES", pinned)
    name = 'case "$*" in *mathjax*) name=mathjax;; *) name=html-manager;; esac'
    put(f'{name}\ncp "{tmp_path}/$name.tar" package.tgz')
    return put


def test_the_pinned_files_are_put_where_the_pages_look_and_once(tmp_path, npm):
    folder = vendor.vendor(tmp_path / "with space")
    found = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
    assert found == {
        "complete",
        "vendor/mathjax/tex-chtml.js",
        "vendor/mathjax/output/chtml/fonts/woff-v2/a.woff",
        "vendor/mathjax/LICENSE",
        "vendor/html-manager/embed.js",
        "vendor/html-manager/b.woff2",
        "vendor/html-manager/LICENSE",
    }
    npm("exit 1")
    assert vendor.vendor(folder) == folder


def test_another_tarball_is_refused_and_npm_that_fails_is_quoted(tmp_path, npm, monkeypatch):
    tarball(tmp_path / "html-manager.tar", ["package/dist/embed.js"] * 2)
    with pytest.raises(SystemExit, match=r"html-manager@1.0.15: npm fetched sha512-.*, expected"):
        vendor.vendor(tmp_path / "out")
    monkeypatch.setenv("npm_config_fetch_timeout", "7")  # a person's own setting stands
    npm('echo "ENOTFOUND $npm_config_fetch_retries $npm_config_fetch_timeout" >&2; exit 1')
    with pytest.raises(SystemExit, match=r"could not fetch mathjax@3.*network\?\nENOTFOUND 1 7"):
        vendor.vendor(tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("first_line", ["#!/etc/hostname", "no program of this system"])
def test_the_bundled_npm_takes_over_where_the_one_on_the_path_cannot_be_run(
    tmp_path, npm, monkeypatch, first_line
):
    bundled = f"""import sys, shutil
name = "mathjax" if "mathjax" in sys.argv[-1] else "html-manager"
shutil.copy(f"{tmp_path}/{{name}}.tar", "package.tgz")"""
    monkeypatch.setattr(vendor, "BUNDLED", bundled)
    (tmp_path / "bin" / "npm").write_text(f"{first_line}\n")
    assert (vendor.vendor(tmp_path / "out") / "complete").is_file()
