"""What a report says of the looks of a monitored audit."""

import pandas as pd

from faceaudit import words
from faceaudit.effects.confidence_sequences import share_of_release
from faceaudit.families import LOOK, Plan, look_of
from faceaudit.report.schema import Monitored


def monitored_part(frame: pd.DataFrame, plan: Plan, macro: str = "monitored") -> Monitored | None:
    """Which look at which release a report is; None of an audit that is not monitored.

    Args:
        frame: of `MatchedImages`.
        plan: by which it was analysed.
        macro: of the sentence.
    """
    look = look_of(plan)
    if look is None:
        return None
    earlier = 0
    if LOOK in frame:
        earlier = frame.loc[frame[LOOK] < look["look"], "unit"].nunique()
    share = share_of_release(look["release"])
    level = plan["level"]
    are_first = look["look"] == 1, look["release"] == 1
    (sentence,) = words.render_sentences(macro, look, *are_first, earlier, level, level * share)
    return Monitored(**look, earlier_faces=earlier, share=share, sentence=sentence)
