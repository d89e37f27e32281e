"""Pages: a file of `audits/` that a notebook names is a part of what it is made from."""

import pytest

from helpers.artifacts import Stage, lineage, pages

NAMING, OTHER = "01_naming", "02_other"


@pytest.fixture
def audits(artifacts_folder, monkeypatch):
    """Two pages that were run, of which one reads an audit file and its table."""
    notebooks, folder = artifacts_folder / "notebooks", artifacts_folder / "audits"
    notebooks.mkdir()
    folder.mkdir()
    for name in ("own.yml", "own.csv", "mine.yml"):
        (folder / name).write_text("name: own\n")
    (notebooks / f"{NAMING}.py").write_text(
        '# `audits/mine.yml` is mine\naudit = "audits/own.yml"\nread(ROOT / "audits" / "own.csv")\n'
    )
    (notebooks / f"{OTHER}.py").write_text('table["audits"]\n')
    monkeypatch.setattr(lineage, "ROOT", artifacts_folder)
    monkeypatch.setattr(lineage, "NOTEBOOKS", notebooks)
    for page in (NAMING, OTHER):
        Stage(page, profile="smoke", device="cpu", seed=1).finish({})
        pages.executed(page, "smoke").write_text("{}")
        pages.record(page, "smoke", pages.basis(page, "smoke"))
    return folder


def stale():
    return {page: pages.why_stale(page, "smoke") for page in (NAMING, OTHER)}


@pytest.mark.parametrize("name", ["own.yml", "own.csv"])
def test_an_edit_makes_the_page_stale_that_names_the_file_and_no_other(audits, name):
    assert stale() == {NAMING: None, OTHER: None}
    (audits / name).write_text("name: another\n")
    assert stale() == {NAMING: f"made by other code: audits/{name}", OTHER: None}
    (audits / name).unlink()
    assert stale() == {NAMING: f"made by other code: audits/{name}", OTHER: None}


def test_an_audit_that_no_page_names_makes_none_stale(audits):
    (audits / "mine.yml").write_text("name: another\n")
    assert stale() == {NAMING: None, OTHER: None}


def test_a_page_that_shows_somebodys_own_study_is_stale_without_it(audits):
    pages.record(NAMING, "smoke", pages.basis(NAMING, "smoke"), "audits/mine.yml")
    assert stale() == {
        NAMING: "it shows the study audits/mine.yml and not the example",
        OTHER: None,
    }
    pages.record(NAMING, "smoke", pages.basis(NAMING, "smoke"))
    assert stale() == {NAMING: None, OTHER: None}


def test_two_chapters_alone_are_made_from_audits(repository):
    named = {
        path.stem: {audit.name for audit in pages.audits(path)}
        for path in (repository / "notebooks").glob("*.py")
    }
    assert named.pop("20_audit_your_model") >= {"example.yml", "table.csv", "table.yml"}
    assert named.pop("21_own_study") == {"study.yml"}
    assert not any(named.values()) and len(named) > 15
