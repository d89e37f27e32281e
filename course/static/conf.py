"""How Sphinx makes the slides of the course."""

project = "Auditing face-analysis models causally"
extensions = ["sphinx_revealjs", "myst_nb"]
exclude_patterns = ["html", "jupyter_execute"]
nb_execution_mode = "off"
nb_mime_priority_overrides = [("revealjs", "image/png", 1), ("revealjs", "text/plain", 2)]
html_static_path = ["."]
revealjs_static_path = ["."]
revealjs_css_files = ["slides.css"]
revealjs_style_theme = "white"
revealjs_script_conf = {"hash": True, "transition": "none", "center": False}
