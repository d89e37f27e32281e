"""What an audit costs: answers, hours and money beside its power (chapter 12)."""

from collections.abc import Sequence

import pandas as pd

from helpers.effects.misclassification import label_noise, noisy_design
from helpers.effects.pair_correlation import Design
from helpers.effects.sample_size import power
from helpers.utils.checks import check_positive, check_whole


def cost(
    transects: int,
    raters: int,
    *,
    price: float,
    seconds: float,
    images: int = 8,
    attributes: int = 8,
) -> dict[str, float]:
    """What annotating the transects takes (transects, section 4.3: 8 attributes, 5 raters).

    Args:
        transects: number of them, with `images` images each.
        raters: answers per image and attribute.
        price: money per answer; the currency is the caller's.
        seconds: working time per answer.
        images: per transect.
        attributes: asked of every image.

    Returns:
        images, judgements, hours (of raters' work) and money.

    Raises:
        ValueError: a count that is no whole number of at least 1, a price or time not above 0.

    Example:
        >>> from helpers import effects
        >>> effects.cost(1000, 5, price=0.012, seconds=3.6)["judgements"]
        320000
    """
    counts = {"transects": transects, "raters": raters, "images": images, "attributes": attributes}
    for name, count in counts.items():
        check_whole(name, count, 1)
    check_positive("price", price)
    check_positive("seconds", seconds)
    judgements = transects * images * attributes * raters
    return {
        "images": transects * images,
        "judgements": judgements,
        "hours": judgements * seconds / 3600,
        "money": judgements * price,
    }


def design_table(
    transects: Sequence[int],
    raters: Sequence[int],
    design: Design,
    rater_error: float,
    *,
    price: float,
    seconds: float,
) -> pd.DataFrame:
    """Power and cost of each number of transects with each number of raters.

    Args:
        transects: numbers of transects to compare.
        raters: numbers of raters per image to compare.
        design: without errors of labels. A `pair_correlation` of None is the least possible, with
            which the power is an upper bound.
        rater_error: chance that one rater mislabels an image; the majority of more raters errs less
            (`label_noise`), and its errors dilute the difference (`noisy_design`).
        price: money per answer.
        seconds: working time per answer.

    Returns:
        Index transects, raters; columns label_noise, power, and those of `cost`.

    Raises:
        ValueError: as `noisy_design`, `power` and `cost` do.

    Example:
        >>> from helpers import effects
        >>> plan = effects.Design(difference=0.05, base_rate=0.05)
        >>> table = effects.design_table([100, 200], [1], plan, 0.1, price=0.02, seconds=4)
        >>> table["power"].round(1).tolist()
        [0.3, 0.6]
    """
    rows = {}
    for count in raters:
        noise = label_noise(rater_error, count)
        seen = noisy_design(design, noise)
        for size in transects:
            row = {"label_noise": noise, "power": power(size, seen)}
            rows[size, count] = row | cost(size, count, price=price, seconds=seconds)
    table = pd.DataFrame.from_dict(rows, orient="index")
    return table.rename_axis(["transects", "raters"]).sort_index()
