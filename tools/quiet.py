"""Imported first by the process that others are forked from, so that Ctrl-C ends it mutely.

While it imports the libraries, Python would answer with a traceback; afterwards it ignores Ctrl-C.
"""

import signal

signal.signal(signal.SIGINT, signal.SIG_DFL)
