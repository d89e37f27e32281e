"""The kernel-free widgets: frames, labels, alt texts, links and the size of their saved state."""

import base64
import io
import re

import numpy as np
import pytest
from ipywidgets import HTML, Dropdown, SelectionSlider, Stack, Widget
from ipywidgets.widgets.widget_description import DescriptionWidget
from PIL import Image

from helpers.figures import widgets


def walk(widget):
    yield widget
    for child in getattr(widget, "children", ()):
        yield from walk(child)


def of_kind(widget, kind):
    return [one for one in walk(widget) if isinstance(one, kind)]


def frame_slider(frames, *arguments, **more):
    return widgets.side_by_side({"": frames}, *arguments, **more)


@pytest.fixture
def frames():
    return np.stack([np.full((3, 16, 16), level) for level in (0.0, 0.5, 1.0)])


def links() -> list[tuple]:
    states = Widget.get_manager_state()["state"].values()
    return [
        (one["state"]["source"], one["state"]["target"])
        for one in states
        if one["model_name"] == "LinkModel"
    ]


def test_slider_shows_the_frames_it_was_given(frames):
    widget = frame_slider(frames, ["a", "b", "c"], "skin colour", "A face")
    (stack,) = of_kind(widget, Stack)
    levels = []
    for child in stack.children:
        data = re.search(r"base64,([^\"]+)", child.value)[1]
        pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(data))))
        assert pixels.shape == (16, 16, 3)
        levels.append(int(pixels.mean()))
    np.testing.assert_allclose(levels, [0, 128, 255], atol=3)


def test_captions_and_names_are_text_and_never_html(frames):
    name = "<script>alert(1)</script>"
    column = widgets.side_by_side({name: frames}, list("abc"), name, name).children[1].children[0]
    assert column.children[0].value == "&lt;script&gt;alert(1)&lt;/script&gt;"
    explorer = widgets.attribute_explorer({name: frames}, {name: [name] * 3}, name, below=None)
    shown = [one.value for widget in (column, explorer) for one in of_kind(widget, HTML)]
    assert len(shown) == 7 and "<script" not in "".join(shown)
    assert not any(one.description_allow_html for one in of_kind(explorer, DescriptionWidget))


def test_texts_stand_below_their_frame(frames):
    below = [["<1", "2"], ["3", "4"], ["5", "6"]]
    widget = frame_slider(frames, ["a", "b", "c"], "age", "A face", below=below)
    (stack,) = of_kind(widget, Stack)
    shown = [re.findall(r"<span[^>]*>([^<]*)</span>", child.value) for child in stack.children]
    assert shown == [["&lt;1", "2"], *below[1:]]


def test_side_by_side_moves_two_stacks_with_one_slider(frames):
    widget = widgets.side_by_side(
        {"raw normal": frames, "dual basis": frames[::-1]}, list("abc"), "hair length", "A face"
    )
    (slider,), stacks = of_kind(widget, SelectionSlider), of_kind(widget, Stack)
    targets = [target for source, target in links() if source[0].endswith(slider.model_id)]
    assert slider.options == ("a", "b", "c") and slider.description == "hair length"
    assert targets == [[f"IPY_MODEL_{stack.model_id}", "selected_index"] for stack in stacks]
    assert "A face, dual basis: a" in stacks[1].children[0].value


def test_explorer_switches_between_attributes(frames):
    labels = {"age": list("abc"), "gender": list("de")}
    both = {"age": frames, "gender": frames[:2]}
    widget = widgets.attribute_explorer(both, labels, 'A "face"', start=1)
    assert {slider.index for slider in of_kind(widget, SelectionSlider)} == {1}
    assert 'alt="A &quot;face&quot;, age: a"' in of_kind(widget, Stack)[1].children[0].value
    (menu,), pages = of_kind(widget, Dropdown), of_kind(widget, Stack)[0]
    assert menu.options == ("age", "gender") and len(pages.children) == 2
    source, target = f"IPY_MODEL_{menu.model_id}", f"IPY_MODEL_{pages.model_id}"
    assert ([source, "index"], [target, "selected_index"]) in links()
