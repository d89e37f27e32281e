"""A page is printed, or the reason is given why not."""

import pytest

from helpers import pdf


@pytest.mark.parametrize("ends", ["exit 3", "exit 0"])
def test_what_is_not_printed_is_an_error_with_the_reason(monkeypatch, tmp_path, ends):
    program = tmp_path / "chromium"
    program.write_text(f"#!/bin/sh\necho the disk is full >&2\n{ends}\n")
    program.chmod(0o755)
    monkeypatch.setattr(pdf, "CHROMIUM", str(program))
    page, printed = tmp_path / "page.html", tmp_path / "page.pdf"
    with pytest.raises(RuntimeError, match="did not print .*page.html .*: the disk is full"):
        pdf.print_page(page, printed)
