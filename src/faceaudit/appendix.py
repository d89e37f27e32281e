"""Where a report answers what regulations and frameworks ask for; a map, and no legal advice.

Regulation (EU) 2024/1689 (the AI Act): Annex IV 2(g) (validation and testing: procedures, data,
metrics, potentially discriminatory impacts, test logs and reports), Article 10(2)(f)-(h) and (3)
(examination for biases, measures, data gaps, representativeness), Article 15(1) and (3) (accuracy,
declared metrics). NIST AI 100-1 (AI RMF 1.0, 2023): MEASURE 1.1, 2.1, 2.2, 2.3, 2.5, 2.11, 2.13.
"""

from __future__ import annotations

from typing import NamedTuple


class Regulation(NamedTuple):
    """One demand and where the report meets it, and what it leaves open."""

    demand: str
    asks: str
    section: str
    anchor: str
    open: str


REGULATIONS = (
    Regulation(
        "EU AI Act, Annex IV 2(g)",
        "validation and testing procedures, data used, metrics for potentially discriminatory "
        "impacts, dated test reports",
        "Findings; Plan and departures",
        "findings",
        "signature of the responsible persons; tests of robustness and cybersecurity",
    ),
    Regulation(
        "EU AI Act, Article 10(2)(f), (g)",
        "examination in view of possible biases; measures to detect them",
        "Findings; What was decided beforehand",
        "findings",
        "training data, and measures to prevent and mitigate: this is a test of a finished model",
    ),
    Regulation(
        "EU AI Act, Article 10(2)(h), (3)",
        "data gaps and shortcomings; representativeness of the test data",
        "Limits; Images and errors",
        "limits",
        "matched images are made for comparisons; they do not represent the persons of the use",
    ),
    Regulation(
        "EU AI Act, Article 15(1), (3)",
        "appropriate accuracy; declared metrics of accuracy",
        "Images and errors; Other thresholds",
        "rates",
        "accuracy in the intended use; robustness and cybersecurity",
    ),
    Regulation(
        "NIST AI RMF, MEASURE 1.1, 2.1",
        "approaches and metrics are selected; test sets, metrics and tools are documented",
        "Plan and departures; Provenance",
        "plan",
        "choice of metrics for other risks",
    ),
    Regulation(
        "NIST AI RMF, MEASURE 2.2",
        "evaluations involving human subjects meet requirements and represent the population",
        "Limits",
        "limits",
        "consent and protection of raters, which belong to the study that collected the labels",
    ),
    Regulation(
        "NIST AI RMF, MEASURE 2.3, 2.5",
        "performance is demonstrated for conditions similar to deployment; validity, reliability "
        "and limits of generalisation are documented",
        "Findings; Limits",
        "limits",
        "a comparison with photographs of the deployment",
    ),
    Regulation(
        "NIST AI RMF, MEASURE 2.11, 2.13",
        "fairness and bias are evaluated and documented; effectiveness of the metrics is evaluated",
        "Findings; How strong something hidden would have to be",
        "findings",
        "harms beyond error rates",
    ),
)
