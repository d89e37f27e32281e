"""Real data sets that lie on a reader's own disk: each reader makes one table of one source.

A `DataSet` holds the table, what is said of the whole, and what was dropped. Labels stand as their
source writes them. The package downloads no file and ships none, and runs no file that it reads.
"""

from helpers.data.consented import read_casual_conversations, read_fhibe
from helpers.data.perceived import read_celeba, read_fairface, read_portraits
from helpers.data.recognition import read_bfw, read_causalface, read_causalface_pairs, read_rfw
from helpers.data.rows import DataSet
