"""The web assets: only the pinned tarballs, nothing outside of the folder, a word when offline."""

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
    """A tarball with files of these names, each holding its own name."""
    with tarfile.open(path, "w:gz") as archive:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = len(name.encode())
            archive.addfile(member, io.BytesIO(name.encode()))
    return path


def integrity(path):
    return "sha512-" + base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()


@pytest.fixture
def npm(tmp_path, monkeypatch):
    """Puts a shell script in npm's place."""

    def put(script):
        program = tmp_path / "bin" / "npm"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")

    return put


@pytest.fixture
def registry(tmp_path, npm, monkeypatch):
    """npm that hands out small tarballs of the right names, whose hashes are pinned."""
    pinned = {}
    for package, (_, name, kept) in vendor.PACKAGES.items():
        names = [*ASSETS[package], "package/LICENSE", "package/package.json"]
        path = tarball(tmp_path / f"{name}.tar", names)
        pinned[package] = (integrity(path), name, kept)
    monkeypatch.setattr(vendor, "PACKAGES", pinned)
    npm(
        f'case "$*" in *mathjax*) name=mathjax;; *) name=html-manager;; esac\n'
        f'cp "{tmp_path}/$name.tar" package.tgz'
    )
    return pinned


def test_the_pinned_files_are_put_where_the_pages_look(tmp_path, registry):
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


def test_another_tarball_is_refused_and_leaves_nothing(tmp_path, registry):
    tarball(tmp_path / "html-manager.tar", ASSETS["@jupyter-widgets/html-manager@1.0.15"] * 2)
    with pytest.raises(SystemExit, match=r"html-manager@1.0.15: npm fetched sha512-.*, expected"):
        vendor.vendor(tmp_path / "out")
    assert not list(tmp_path.glob("out/**/*.js"))


def test_integrity_is_pinned_as_npm_prints_it():
    for pinned, *_ in vendor.PACKAGES.values():
        algorithm, digest = pinned.split("-", 1)
        assert algorithm == "sha512" and len(base64.b64decode(digest, validate=True)) == 64


def test_a_member_that_would_leave_the_folder_is_refused(tmp_path):
    path = tarball(tmp_path / "a.tgz", ["package/../../evil.woff"])
    with pytest.raises(SystemExit, match=r"a.tgz: package/\.\./\.\./evil.woff would leave"):
        vendor.extract(path, r"package/(.+\.woff)", tmp_path / "in" / "out")
    assert not list(tmp_path.rglob("evil.woff"))


def test_an_absolute_member_is_refused(tmp_path):
    path = tarball(tmp_path / "a.tgz", [f"{tmp_path}/evil.woff"])
    with pytest.raises(SystemExit, match="would leave"):
        vendor.extract(path, r"(.+\.woff)", tmp_path / "out")
    assert not (tmp_path / "evil.woff").exists()


def test_links_are_not_followed_or_kept(tmp_path):
    with tarfile.open(tmp_path / "a.tgz", "w:gz") as archive:
        link = tarfile.TarInfo("package/a.woff")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/hostname"
        archive.addfile(link)
    vendor.extract(tmp_path / "a.tgz", r"package/(.+\.woff)", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_without_network_npm_gives_up_soon_and_its_words_are_passed_on(tmp_path, npm, monkeypatch):
    monkeypatch.setenv("npm_config_fetch_timeout", "7")
    npm('echo "ENOTFOUND $npm_config_fetch_retries $npm_config_fetch_timeout" >&2; exit 1')
    with pytest.raises(SystemExit) as stopped:
        vendor.pack("mathjax@3.2.2", tmp_path)
    message = str(stopped.value)
    assert message.startswith("npm could not fetch mathjax@3.2.2") and "network?" in message
    assert message.endswith("ENOTFOUND 1 7")  # a person's own setting stands
