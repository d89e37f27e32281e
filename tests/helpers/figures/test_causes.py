import pytest

from helpers.figures import causes

pytestmark = pytest.mark.usefixtures("book_style")


@pytest.mark.parametrize(("known", "dashed"), [(False, 2), (True, 0)])
def test_arrows_to_the_errors_are_dashed_until_the_answer_is_known(known, dashed):
    axis = causes.two_causes("tie", "of skin", "of hair", "rates", known=known)
    arrows = [text.arrow_patch for text in axis.texts if getattr(text, "arrow_patch", None)]
    assert [arrow.get_linestyle() for arrow in arrows].count("--") == dashed
    assert len(arrows) == 4


def test_what_is_said_of_skin_stands_left_and_of_hair_right():
    axis = causes.two_causes("tie", "of skin", "of hair")
    place = {text.get_text(): text.get_position()[0] for text in axis.texts}
    assert place["of skin"] < place["tie"] < place["of hair"]
    assert place["skin colour"] < place["error"] < place["hair length"]
