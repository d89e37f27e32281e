"""Data sets that lie on a reader's own disk: each function reads one source into one table.

A `DataSet` holds the table, a card that describes it, and the rows that were dropped. Labels stand
as their source writes them. The package downloads no file and ships none, and runs no file that it
reads.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
