"""PDF files of pages, by Chromium: `python -m helpers.pdf page.html page.pdf`."""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

CHROMIUM = os.environ.get("CHROMIUM") or "chromium"
"""The program, by name or path; any Chromium prints the same."""
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-dev-shm-usage",  # containers make /dev/shm small, or do not let it be written
    "--no-pdf-header-footer",
    "--timeout=60000",  # milliseconds for all that a page loads
)


def print_page(page: Path, pdf: Path) -> None:
    """Print a page of HTML to a PDF file.

    Chromium gets a profile of its own: the user's may not exist, or be open in a window.

    Args:
        page: file of the page.
        pdf: file to write.

    Raises:
        OSError: there is no Chromium.
        RuntimeError: Chromium did not print the page; with the end of its output.
    """
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        files = [f"--user-data-dir={profile}", f"--print-to-pdf={pdf}", page.absolute().as_uri()]
        command = [CHROMIUM, *OPTIONS, *files]
        process = subprocess.run(
            command, check=False, capture_output=True, text=True, errors="replace"
        )
    if process.returncode or not pdf.is_file():
        reason = process.stderr.strip()[-2000:] or "it printed no reason"
        raise RuntimeError(f"{CHROMIUM} did not print {page} to {pdf}: {reason}")


if __name__ == "__main__":
    print_page(Path(sys.argv[1]), Path(sys.argv[2]))
