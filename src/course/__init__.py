"""The course that is taught from the book: labs with checks, quizzes, slides, and the league."""

import helpers  # sets the pins, before numpy is imported
