"""The two ways of installing agree, and no index address is written down."""

import re
import tomllib

import pytest
import yaml


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.fixture
def lock(repository):
    lines = (repository / "requirements.lock").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", pin) for pin in pins)
    return {canonical(name): version for name, version in (pin.split("==") for pin in pins)}


@pytest.fixture
def direct(repository):
    project = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    del extras["bench"]  # competitors in benchmarks/, which nothing else needs
    wanted = [*project["dependencies"], *sum(extras.values(), [])]
    return {canonical(re.match(r"[\w.-]+", requirement)[0]) for requirement in wanted}


def test_lock_holds_every_direct_dependency(lock, direct):
    assert direct <= lock.keys()


def test_conda_environment_is_in_step(repository, lock, direct):
    environment = yaml.safe_load((repository / "environment.yml").read_text())
    pip = next(entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict))
    pins = dict(line.split("==") for line in pip if not line.startswith("--"))
    assert {canonical(name) for name in pins} == direct
    assert all(lock[canonical(name)] == version for name, version in pins.items())


def test_card_packages_are_there(direct):
    card = "jupyter-book jupytext papermill torch numpy scikit-learn statsmodels seaborn pandas"
    assert {*card.split(), "ipywidgets"} <= direct
