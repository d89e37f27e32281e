"""Real data sets that lie on a reader's own disk: each reader makes one table of one source.

A `DataSet` holds the table, what is said of the whole, and what was dropped. Labels stand as their
source writes them. The package downloads no file and ships none, and runs no file that it reads.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
