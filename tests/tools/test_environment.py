"""The ways of installing agree, hold for every Python and platform, and name no index."""

import re
import tomllib
from importlib import metadata

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

# Builds of torch for other processors are other files under one version (see the Makefile).
UNHASHED = re.compile(r"torch|triton|cuda-.+|nvidia-.+")
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")


@pytest.fixture
def pins(repository):
    """The requirement of every package in constraints.txt."""
    lines = (repository / "constraints.txt").read_text().splitlines()
    found = [Requirement(line) for line in lines if not line.startswith("#")]
    assert all(re.fullmatch(r"==[\w.]+", str(pin.specifier)) for pin in found)
    return {canonicalize_name(pin.name): pin for pin in found}


@pytest.fixture
def version(pins):
    return {name: str(pin.specifier).removeprefix("==") for name, pin in pins.items()}


@pytest.fixture
def direct(repository):
    content = tomllib.loads((repository / "pyproject.toml").read_text())
    project, groups = content["project"], content["dependency-groups"]
    del groups["bench"]  # competitors in benchmarks/, which nothing else needs
    extras = project["optional-dependencies"] | groups
    wanted = [*project["dependencies"], *sum(extras.values(), [])]
    return {canonicalize_name(Requirement(one).name) for one in wanted}


def test_every_direct_dependency_is_pinned(pins, direct):
    assert direct <= pins.keys()


def test_the_lock_has_the_same_pins_with_hashes_of_all_platforms(repository, pins):
    text = (repository / "requirements.lock").read_text()
    text = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    hashes = {}
    for entry in text.replace("\\\n", " ").splitlines():
        pin, *found = re.split(r"\s+(?=--hash)", entry.strip())
        assert found and all(map(HASH.fullmatch, found)), entry[:200]
        hashes[str(Requirement(pin))] = found
    assert set(hashes) == {str(p) for name, p in pins.items() if not UNHASHED.fullmatch(name)}
    for name in ("requirements.lock", "constraints.txt", "environment.yml"):  # no index is named
        assert not re.search(r"://|--\S*(index|find-links)", (repository / name).read_text()), name
    compiled = next(found for pin, found in hashes.items() if pin.startswith("numpy=="))
    assert len(compiled) > 20


@pytest.mark.parametrize("python", ["3.11.0", "3.14.0"])
def test_every_locked_version_installs_on_the_oldest_and_the_newest_python(pins, python):
    asked = {}
    for distribution in metadata.distributions():
        name = canonicalize_name(distribution.metadata["Name"])
        if name in pins:
            asked[name] = distribution.metadata.get("Requires-Python") or ""
    refusing = {name: asks for name, asks in asked.items() if python not in SpecifierSet(asks)}
    assert not refusing


def test_conda_environment_is_in_step(repository, version, direct):
    environment = yaml.safe_load((repository / "environment.yml").read_text())
    pip = next(entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict))
    # Hashes among the constraints would make pip refuse the editable package.
    assert pip[0] == "--constraint constraints.txt"
    pins = dict(line.split("==") for line in pip if not line.startswith("--"))
    assert {canonicalize_name(name) for name in pins} == direct
    assert all(version[canonicalize_name(name)] == pin for name, pin in pins.items())
