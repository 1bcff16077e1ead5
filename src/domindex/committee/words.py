"""What was chosen and why, in words."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import pandas as pd

from domindex.committee.candidates import ENCODED
from domindex.committee.committee import CLEARLY_APART
from domindex.inputs.messages import readable_name
from domindex.representations import representation_label

MOST_NAMED = 4
"""Members that a sentence names; the table has them all."""


def _label(name: str) -> str:
    """What a predictor is given, in words."""
    return "what the network encodes" if name == ENCODED else representation_label(name)


ONE_SOURCE = (
    "With one source no domain could be held out: these figures rest on how sure the model is of "
    "itself. Label a few rows of a second domain before relying on them."
)
"""What is said beside forecasts that nothing was held out for."""


def describe_candidate(row: pd.Series) -> str:
    """A row of the table of candidates, as a phrase."""
    where = _label(row["representation"])
    return f"{row['candidate'].split(' on ')[0]} on {where}"


def describe_committee(table: pd.DataFrame) -> str:
    """Who predicts, and with what weight."""
    members = table[table["weight"] > 0]
    named = [
        f"{describe_candidate(row)} {100 * row['weight']:.0f} %"
        for _, row in members.head(MOST_NAMED).iterrows()
    ]
    rest = members["weight"].iloc[MOST_NAMED:].sum()
    if rest > 0:
        n_others = len(members) - MOST_NAMED
        named.append(f"{n_others} other{'s' if n_others > 1 else ''} {100 * rest:.0f} %")
    return "; ".join(named)


def describe_loop(persistence: float, order: Iterable[int], domains: Sequence[Hashable]) -> str:
    """That the map closes, with the domains once around."""
    names = [readable_name(str(domains[number])) for number in order]
    shown = ", ".join(names[:MOST_NAMED]) + (" …" if len(names) > MOST_NAMED else "")
    return (
        f"The map closes: the domains lie on a ring ({shown} and back to {names[0]}), with a hole "
        f"{persistence:.2g} times as wide as the widest step around it."
    )


def describe_two_ways(forecast: pd.DataFrame) -> list[str]:
    """Whether predictions depend on the way round the ring by which a domain is reached."""
    if "two_ways" not in forecast:
        return []
    apart = forecast[forecast["two_ways"] < 1.0 - CLEARLY_APART].sort_values("two_ways")
    if not len(apart):
        return [
            "Where a domain can be reached both ways round the map, both give the same answers."
        ]
    named = [
        f"{readable_name(str(row['domain']))} (agreement {row['two_ways']:.2f})"
        for _, row in apart.head(MOST_NAMED).iterrows()
    ]
    more = f" and {len(apart) - MOST_NAMED} more" if len(apart) > MOST_NAMED else ""
    return [
        f"Two ways round the map give different answers in {', '.join(named)}{more}: inputs "
        "cannot say which way is right, and intervals there are wider."
    ]


def describe_left_out(table: pd.DataFrame) -> list[str]:
    """Why each representation that nobody predicts from was left out, a sentence each."""
    used = set(table.loc[table["weight"] > 0, "representation"])
    best = table.sort_values("loss").iloc[0]
    sentences = []
    for name, part in table.groupby("representation", sort=False):
        if name in used:
            continue
        tried = part.sort_values("loss").iloc[0]
        where = _label(str(name))
        where = where[:1].upper() + where[1:]
        if tried["left_out"]:
            reason = tried["left_out"]
        else:
            reason = "it is as good, and not better by enough to pay for the risk"
            for kind, whose in (("near_loss", "held-out"), ("far_loss", "far")):
                lost, least = tried[kind], best[kind]
                if lost > 1.05 * least:
                    reason = (
                        f"{whose} sources are predicted worse (loss {lost:.3g} against {least:.3g})"
                    )
        sentences.append(f"{where}: tried and left out; {reason}.")
    return sentences


def describe_forecast(forecast: pd.DataFrame, column: str, one_source: bool) -> list[str]:
    """What to expect in target domains, best and worst, from the table of forecasts."""
    if not len(forecast):
        return []
    ordered = forecast.sort_values(column, ascending=column != "expected_accuracy")
    names = [readable_name(str(name)) for name in ordered["domain"]]
    expected = ordered[column].tolist()
    low, high = ordered["low"].iloc[-1], ordered["high"].iloc[-1]
    what = column.replace("expected_", "")
    return [
        f"Expected {what} by target domain: {ordered[column].mean():.3g} on average, from "
        f"{expected[0]:.3g} ({names[0]}) to {expected[-1]:.3g} ({names[-1]}, "
        f"80 % interval {low:.3g} to {high:.3g}).",
        *([ONE_SOURCE] if one_source else []),
    ]
