"""The beginning of a program in which some packages are as if they were not installed."""

REFUSING = """
import sys

class Refuses:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in REFUSED:
            raise ModuleNotFoundError(f"{name} is imported")

REFUSED = sys.argv[1].split(",")
sys.meta_path.insert(0, Refuses())
"""
"""Its first argument names the packages, with commas between them."""
