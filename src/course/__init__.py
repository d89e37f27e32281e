"""The course that is taught from the book: labs with checks, quizzes, slides, and the league."""
