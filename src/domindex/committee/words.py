"""What was chosen and why, in words."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import pandas as pd

from domindex.committee.two_ways import CLEARLY_APART
from domindex.data.readable_names import readable_name

PLAIN_NAMES = {
    "raw": "raw inputs",
    "with_index": "inputs beside β",
    "with_means": "inputs beside their domain's means",
    "row_centred": "rows minus their own mean",
    "row_standardised": "rows standardised by themselves",
    "domain_scaled": "inputs scaled by domain",
    "domain_centred": "domain-centred inputs",
    "domain_standardised": "domain-standardised inputs",
    "domain_whitened": "domain-whitened inputs",
    "coral": "inputs with the sources coloured like the targets",
    "flow": "inputs carried along the flow",
    "encoded": "what the network encodes",
    "grid_flow": "inputs moved over their grid",
}

MOST_NAMED = 4
"""Members that a sentence names; the table has them all."""


def describe_candidate(row: pd.Series) -> str:
    """A row of the table of candidates, as a phrase."""
    where = PLAIN_NAMES.get(row["representation"], row["representation"])
    prefix = row["candidate"].split(" on ")[0]
    return f"{prefix} on {where}"


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
        where = PLAIN_NAMES.get(str(name), str(name)).capitalize()
        if tried["left_out"]:
            reason = tried["left_out"]
        elif tried["far_loss"] > 1.05 * best["far_loss"]:
            reason = (
                f"far sources are predicted worse (loss {tried['far_loss']:.3g} against "
                f"{best['far_loss']:.3g})"
            )
        elif tried["near_loss"] > 1.05 * best["near_loss"]:
            reason = (
                f"held-out sources are predicted worse (loss {tried['near_loss']:.3g} against "
                f"{best['near_loss']:.3g})"
            )
        else:
            reason = "it is as good, and not better by enough to pay for the risk"
        sentences.append(f"{where}: tried and left out; {reason}.")
    return sentences
