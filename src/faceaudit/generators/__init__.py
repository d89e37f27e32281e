"""Face generators behind one small protocol (`Generator`).

Which of them an audit file may name, says `faceaudit.images.generator_kinds`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
