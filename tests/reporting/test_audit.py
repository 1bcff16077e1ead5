"""An audit in words: what holds and what does not, with the figures it rests on."""

from dataclasses import replace

import pytest

from domindex.evaluation import ClassProbe, IndexAudit, ValueProbe
from domindex.reporting import audit_summary
from domindex.reporting.audit import audit_record

NOTHING = ValueProbe(r2=-0.01, information=0.0, standard_error=0.01, ceiling=4.0)
MUCH = ValueProbe(r2=0.95, information=2.0, standard_error=0.01, ceiling=4.0)
BY_CHANCE = ClassProbe(0.17, 1 / 6, 0.0, 0.01, 1.79)
WELL = ClassProbe(0.9, 1 / 6, 1.5, 0.01, 1.79)


@pytest.fixture
def honest():
    return IndexAudit(
        domain_from_encoding=BY_CHANCE,
        domain_from_inputs=WELL,
        index_from_encoding=NOTHING,
        index_from_inputs=MUCH,
        inputs_from_latents=MUCH,
        best_linear_r2=1.0,
        labels_from_encoding=WELL,
        labels_from_inputs=WELL,
        n_rows=360,
        n_domains=6,
        n_source_rows=120,
    )


@pytest.fixture
def leaking(honest):
    return replace(honest, domain_from_encoding=WELL, index_from_encoding=MUCH)


def test_an_index_is_called_one(honest):
    words = audit_summary(honest)
    assert words.startswith(
        "This is a domain index: 3 of 3 conditions hold.\n"
        "Read from 360 rows of 6 domains, 120 of the rows with labels; cross-validated.\n\n"
    )
    assert "guessing gives 16.7%" in words
    assert "explains 0.0% of the index from z, 95.0% from x" in words
    assert words.endswith("there may be more.")


def test_what_does_not_hold_is_said_of_its_condition_alone(leaking):
    words = audit_summary(leaking)
    assert words.startswith("This is not quite a domain index: 2 of 3 conditions hold.")
    assert "1. The encoding z does not reveal the domain: does not hold." in words
    assert "z has 100.0% of the domain information in x" in words
    assert "3. The encoding z predicts the label in the sources: holds." in words


def test_values_are_explained_and_classes_are_named(honest):
    values = replace(honest, labels_from_encoding=NOTHING, labels_from_inputs=MUCH)
    assert "A fresh regression explains 0.0% of y from z, 95.0% from x." in audit_summary(values)
    assert "names the class from z in 90.0% of rows" in audit_summary(honest)


def test_a_report_has_the_same_words_by_condition(leaking):
    record = audit_record(leaking)
    words = audit_summary(leaking)
    assert [one.holds for one in record.conditions] == [False, True, True]
    for condition in record.conditions:
        assert condition.statement in words
        assert all(sentence in words for sentence in condition.sentences)
    assert record.summary.startswith("This is not quite a domain index: 2 of 3 conditions hold.")
    assert record.figures == leaking.to_dict()


def test_a_leak_that_chance_would_give_is_said_to_be_one(honest):
    faint = ClassProbe(0.2, 1 / 6, 0.015, 0.01, 1.79)
    little = ClassProbe(0.2, 1 / 6, 0.02, 0.01, 1.79)
    nothing = replace(NOTHING, information=0.0)
    audit = replace(
        honest,
        domain_from_encoding=faint,
        domain_from_inputs=little,
        index_from_encoding=nothing,
        index_from_inputs=nothing,
    )
    condition = audit_record(audit).conditions[0]
    assert condition.holds
    assert "z has 75.0% of the domain information in x; that is above 10%" in audit_summary(audit)
    assert condition.sentences[-1].endswith("counts as none.")


def test_the_words_on_labels_end_where_the_verdict_does(honest):
    blurred = replace(honest, labels_from_encoding=ClassProbe(0.8, 1 / 6, 1.2, 0.3, 1.79))
    assert blurred.label_sensitive
    assert "falls short by no more than chance" in audit_summary(blurred)
    faint = ClassProbe(0.2, 1 / 6, 0.01, 0.01, 1.79)
    unclear = replace(honest, labels_from_encoding=faint, labels_from_inputs=faint)
    assert not unclear.label_sensitive
    assert "not clear of chance" in audit_summary(unclear)
