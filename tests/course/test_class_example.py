"""The example of lab 11: simulated, as its pages say, and made as its module says."""

import pandas as pd

from course import class_example, lab


def test_the_tables_are_those_that_the_simulation_draws():
    pd.testing.assert_frame_equal(lab.load("class_answers"), class_example.answers())
    pd.testing.assert_frame_equal(lab.load("class_images"), class_example.images())


def test_each_picture_has_three_raters_and_no_rater_sees_a_face_twice():
    answers = class_example.answers().merge(class_example.images()[["image", "face"]])
    for _, of_question in answers.groupby("question"):
        assert of_question.groupby("image")["rater"].nunique().eq(3).all()
        assert not of_question.duplicated(["rater", "face"]).any()
        assert of_question["image"].nunique() == 3 * class_example.FACES


def test_no_table_can_be_taken_for_what_people_or_a_published_network_said():
    answers = class_example.answers()
    images = class_example.images()
    for names in (answers["rater"], answers["image"], images["image"], images["network"]):
        assert names.str.startswith("simulated").all()
