"""What was chosen and why, in words."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import pandas as pd

from domindex.committee.candidates import ENCODED
from domindex.committee.committee import CLEARLY_APART
from domindex.committee.target_labels import TargetLabels
from domindex.inputs.messages import number_text, readable_name
from domindex.representations import representation_label

MAX_NAMED = 4  # members or domains that a sentence names; the table has them all


def _label(name: str) -> str:
    return "what the network encodes" if name == ENCODED else representation_label(name)


def candidate_label(candidate: str, representation: str) -> str:
    """A candidate in words: the learner, and the rows it is given."""
    return f"{candidate.split(' on ')[0]} on {_label(representation)}"


def describe_committee(table: pd.DataFrame) -> str:
    """Who predicts, and with what weight."""
    members = table[table["weight"] > 0]
    named = []
    for _, row in members.head(MAX_NAMED).iterrows():
        label = candidate_label(row["candidate"], row["representation"])
        named.append(f"{label} {100 * row['weight']:.0f} %")
    n_others, rest = len(members) - MAX_NAMED, members["weight"].iloc[MAX_NAMED:].sum()
    if n_others > 0:
        named.append(f"{n_others} other{'s' if n_others > 1 else ''} {100 * rest:.0f} %")
    return "; ".join(named)


def describe_loop(persistence: float, order: Iterable[int], domains: Sequence[Hashable]) -> str:
    """That the map closes, with the domains once around."""
    names = [readable_name(str(domains[number])) for number in order]
    shown = ", ".join(names[:MAX_NAMED]) + (" …" if len(names) > MAX_NAMED else "")
    return (
        f"The map closes: the domains lie on a ring ({shown} and back to {names[0]}), with a hole "
        f"{persistence:.2g} times as wide as the widest step around it."
    )


def describe_transfer(correlation: float, n_sources: int) -> str:
    """How far the distances of the map say where a rule carries over, as far as sources show."""
    said = "say" if correlation >= 0.5 else "hardly say" if correlation >= 0.2 else "do not say"
    return (
        f"Distances on the map {said} where a rule carries over: between {n_sources} sources their "
        f"rank correlation with what a linear rule of one loses in another is {correlation:.2f}."
    )


def describe_target_labels(labels: TargetLabels | None) -> list[str]:
    """What labels of some rows of targets were good for."""
    if labels is None:
        return []
    counts = [len(one.positions) for one in labels.domains]
    said = f"Labels of {sum(counts)} rows in {len(counts)} target domains sharpen the forecast"
    if labels.gain:
        return [
            f"{said} and correct predictions there: on domains with as many known labels that "
            f"lowers the loss of other rows by {100 * labels.gain:.0f} %."
        ]
    return [
        f"{said}. They do not correct predictions: on domains with as many known labels that was "
        "no sure gain."
    ]


def describe_two_ways(forecast: pd.DataFrame) -> list[str]:
    """Whether predictions depend on the way round the ring by which a domain is reached."""
    if "two_ways" not in forecast:
        return []
    apart = forecast[forecast["two_ways"] < 1.0 - CLEARLY_APART].sort_values("two_ways")
    if not len(apart):
        both = "Where a domain can be reached both ways round the map, both give the same answers."
        return [both]
    pairs = list(zip(apart["domain"], apart["two_ways"]))[:MAX_NAMED]
    named = [f"{readable_name(str(name))} (agreement {share:.2f})" for name, share in pairs]
    more = f" and {len(apart) - MAX_NAMED} more" if len(apart) > MAX_NAMED else ""
    return [
        f"Two ways round the map give different answers in {', '.join(named)}{more}: inputs "
        "cannot say which way is right, and intervals there are wider."
    ]


def describe_left_out(table: pd.DataFrame) -> list[str]:
    """Why representations that nobody predicts from were left out, a sentence a reason."""
    used = set(table.loc[table["weight"] > 0, "representation"])
    best = table.sort_values("loss").iloc[0]
    reasons: dict[str, list[str]] = {}
    for name, part in table.groupby("representation", sort=False):
        if name in used:
            continue
        tried, where = part.sort_values("loss").iloc[0], _label(str(name))
        reason = "it is as good, and not better by enough to pay for the risk"
        for kind, whose in (("near_loss", "held-out"), ("far_loss", "far")):
            if tried[kind] > 1.05 * best[kind]:
                loss = number_text(float(best[kind]))
                reason = f"{whose} sources are predicted worse than with a loss of {loss}"
                where = f"{_label(str(name))} ({number_text(float(tried[kind]))})"
        if tried["left_out"]:
            reason, where = tried["left_out"], _label(str(name))
        reasons.setdefault(reason, []).append(where)
    return [f"Tried and left out: {', '.join(names)}; {why}." for why, names in reasons.items()]


def describe_held_out(table: pd.DataFrame) -> list[str]:
    """How well sources were predicted by what had not seen their labels, where there is no target.

    `table` has the columns of `held_out_`.
    """
    what = table.columns[1]
    ordered = table.sort_values(what, ascending=what == "accuracy")
    shown = [
        f"{readable_name(str(row['domain']))} {row[what]:.3g} ({row['plain']:.3g})"
        for _, row in ordered.head(MAX_NAMED).iterrows()
    ]
    more = (
        "" if len(ordered) <= len(shown) else f"; {len(ordered) - len(shown)} others are no worse"
    )
    return [
        f"All {len(table)} domains have labels. Each was predicted by what had not seen its "
        f"labels, with {what} {table[what].mean():.3g} on average (best plain model: "
        f"{table['plain'].mean():.3g}).",
        f"The worst, and the plain model there: {', '.join(shown)}{more}.",
    ]


def describe_beyond(forecast: pd.DataFrame) -> list[str]:
    """Which targets are beyond what held-out sources showed, and why."""
    if not len(forecast) or "beyond_experience" not in forecast:
        return []
    beyond = forecast[forecast["beyond_experience"].astype(bool)].sort_values("support")
    if not len(beyond):
        return []
    pairs = list(zip(beyond["domain"], beyond["reason"]))[:MAX_NAMED]
    named = "; ".join(f"{readable_name(str(name))} ({reason})" for name, reason in pairs)
    more = f"; and {len(beyond) - MAX_NAMED} more" if len(beyond) > MAX_NAMED else ""
    return [
        f"Beyond experience, {len(beyond)} of {len(forecast)} target domains: {named}{more}. Their "
        "80 % intervals are at least as wide as said."
    ]


def describe_forecast(forecast: pd.DataFrame, column: str, one_source: bool) -> list[str]:
    """What to expect in target domains, best and worst, from the table of forecasts."""
    if not len(forecast):
        return []
    ordered = forecast.sort_values(column, ascending=column != "expected_accuracy")
    names = [readable_name(str(name)) for name in ordered["domain"]]
    expected, last = ordered[column].tolist(), ordered.iloc[-1]
    what = column.replace("expected_", "")

    def text(value: float) -> str:
        return f"{100 * value:.1f} %" if what == "accuracy" else number_text(value)

    said = [
        f"Expected {what} by target domain: {text(float(ordered[column].mean()))} on average, from "
        f"{text(expected[0])} ({names[0]}) to {text(expected[-1])} ({names[-1]}, "
        f"80 % interval {text(last['low'])} to {text(last['high'])})."
    ]
    if one_source:
        said.append(
            "With one source no domain could be held out: these figures rest on how sure the model "
            "is of itself. Label a few rows of a second domain before relying on them."
        )
    return said
