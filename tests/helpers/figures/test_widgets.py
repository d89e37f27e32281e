"""Galleries, and the kernel-free widgets: frames, labels, alt texts and links."""

import numpy as np
import pytest
from ipywidgets import HTML, Dropdown, SelectionSlider, Stack, Widget
from ipywidgets.widgets.widget_description import DescriptionWidget

from helpers import figures
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


def test_captions_and_names_are_text_and_never_html(frames):
    name = "<script>alert(1)</script>"
    column = widgets.side_by_side({name: frames}, list("abc"), name, name).children[1].children[0]
    assert column.children[0].value == "&lt;script&gt;alert(1)&lt;/script&gt;"
    explorer = widgets.attribute_explorer({name: frames}, {name: [name] * 3}, name, below=None)
    shown = [one.value for widget in (column, explorer) for one in of_kind(widget, HTML)]
    assert len(shown) == 7 and "<script" not in "".join(shown)
    assert not any(one.description_allow_html for one in of_kind(explorer, DescriptionWidget))


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


# --- galleries and pixels


@pytest.mark.usefixtures("book_style")
def test_gallery_places_images_titles_and_row_labels():
    images = np.stack([np.full((3, 8, 8), k / 5) for k in range(5)])
    figure = figures.gallery(images, 3, titles=["a", "b", "c"], row_labels=["raw", "dual"])
    assert len(figure.axes) == 2
    for axis, levels in zip(figure.axes, ((0, 51, 102), (153, 204, 255)), strict=True):
        picture = axis.images[0].get_array()
        assert picture.shape == (8, 3 * 10, 3) and (picture[:, [0, 9, 10, 29]] == 255).all()
        for place, level in enumerate(levels):
            assert (picture[:, 10 * place + 1 : 10 * place + 9] == level).all()
    above = [[tick.get_text() for tick in axis.get_xticklabels()] for axis in figure.axes]
    assert above == [["a", "b", "c"], []]
    np.testing.assert_allclose(figure.axes[0].get_xticks(), [4.5, 14.5, 24.5])
    assert [axis.get_ylabel() for axis in figure.axes] == ["raw", "dual"]
    assert figure.get_figwidth() == figures.WIDTH
