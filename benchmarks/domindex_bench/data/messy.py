"""Seven files as they come from hospitals, shops, surveys and loggers: drawn, with their flaws.

Nothing in them is real. What makes each of them hard to read is what such files really have; the
rule behind the target is simple and, but for a level of the domain, the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class MessyFile:
    """A file, its flaws in words, and what one types to have it fitted.

    `content` is the file without the targets' labels; `labels` are theirs, by row.
    """

    name: str
    flaws: str
    arguments: str
    content: bytes
    labels: np.ndarray


def messy_files(seed: int = 0) -> dict[str, MessyFile]:
    """All seven, by what they are about; the same seed gives the same bytes."""
    makers: dict[str, Callable[[np.random.Generator], MessyFile]] = {
        "heart": _heart,
        "cars": _cars,
        "rooms": _rooms,
        "churn": _churn,
        "survey": _survey,
        "life": _life,
        "stations": _stations,
    }
    return {
        name: make(np.random.default_rng([seed, number]))
        for number, (name, make) in enumerate(makers.items())
    }


def _domains(names: list[str], sizes: list[int]) -> np.ndarray:
    return np.repeat(np.array(names, dtype=object), sizes)


def _gaps(rng: np.random.Generator, column: pd.Series, share: float) -> pd.Series:
    return column.mask(rng.random(len(column)) < share)


def _hidden(table: pd.DataFrame, target: str, is_source: np.ndarray) -> np.ndarray:
    """The labels, which are then gone from the rows of targets."""
    labels = table[target].to_numpy(copy=True)
    table[target] = table[target].astype(object).where(is_source, None)
    return labels


def _heart(rng: np.random.Generator) -> MessyFile:
    """An index column, ? for no value, 0 for a cholesterol that nobody measured, columns that one
    hospital alone has filled in."""
    sizes = [150, 140, 90, 110]
    site = _domains(["Cleveland", "Budapest", "Zürich", "Long Beach"], sizes)
    n, level = len(site), np.repeat([0.0, -4.0, 2.0, 5.0], sizes)
    age = np.round(rng.normal(54 + level, 9))
    rate = np.round(rng.normal(150 - 2 * level, 20))
    chol = np.round(rng.normal(245, 45, n))
    pain = np.array(["typical", "atypical", "none"])[rng.integers(0, 3, n)]
    risk = 0.08 * (age - 54) - 0.05 * (rate - 150) + 1.6 * (pain == "none") - 0.6
    sick = rng.random(n) < 1 / (1 + np.exp(-risk))
    table = pd.DataFrame({"hospital": site, "age": age, "pain": pain, "rate": rate, "chol": chol})
    table.loc[site == "Zürich", "chol"] = 0
    table["vessels"] = pd.Series(rng.integers(0, 4, n)).astype(float)
    outside = (site != "Cleveland") & (rng.random(n) > 0.02)
    table.loc[outside, "vessels"] = np.nan
    table["slope"] = _gaps(rng, pd.Series(rng.integers(1, 4, n)).astype(float), 0.15)
    table["disease"] = sick
    labels = _hidden(table, "disease", np.isin(site, ["Cleveland", "Budapest"]))
    table = table.astype(object).where(table.notna(), "?")
    table.loc[~np.isin(site, ["Cleveland", "Budapest"]), "disease"] = ""
    flaws = "index column without a name, `?`, 0 for not measured, a column that one domain has"
    arguments = "--target disease --domain hospital"
    return MessyFile("heart.csv", flaws, arguments, table.to_csv().encode(), labels)


def _cars(rng: np.random.Generator) -> MessyFile:
    """Two columns called tax and a pound sign in another encoding than UTF-8, in the header."""
    brands = ["audi", "bmw", "citroën", "ford", "hyundai", "kia", "škoda"]
    brand, n = _domains(brands, [60] * 7), 60 * 7
    level = np.repeat(rng.normal(0, 2.0, 7), 60)
    year, miles = rng.integers(2008, 2021, n), np.round(rng.gamma(2.0, 15_000, n))
    engine = np.round(rng.choice([1.0, 1.2, 1.5, 2.0, 3.0], n), 1)
    price = 14 + level + 0.9 * (year - 2014) - miles / 12_000 + 4 * engine
    price = np.round(1000 * np.maximum(price + rng.normal(0, 1, n), 1))
    table = pd.DataFrame({"brand": brand, "year": year, "mileage": miles, "engine": engine})
    table["fuel"] = rng.choice(["Petrol", "Diesel", "Hybrid"], n)
    table["tax"] = rng.choice([0, 20, 145, 150], n)
    table["tax again"] = rng.choice([0, 30, 145, 200], n)
    table["price(POUND)"] = price
    labels = _hidden(table, "price(POUND)", np.isin(brand, brands[:4]))
    table.columns = ["tax" if name == "tax again" else name for name in table.columns]
    content = table.to_csv(index=False).encode().replace(b"POUND", b"\xa3")
    flaws = "two columns of one name, a byte that is not UTF-8 beside names that are"
    return MessyFile("cars.csv", flaws, '--target "price(£)" --domain brand', content, labels)


def _rooms(rng: np.random.Generator) -> MessyFile:
    """Free texts, record numbers, dates, gaps that mean that nobody has been there yet."""
    names = ["Belém", "Alfama", "São José", "Graça", "Lapa", "Estrela"]
    quarter, n = _domains(names, [70] * 6), 420
    level = np.repeat(rng.normal(0, 10.0, 6), 70)
    beds = rng.integers(1, 6, n)
    reviews = pd.Series(np.round(rng.gamma(1.2, 1.5, n), 2))
    new = rng.random(n) < 0.25
    price = np.round(30 + level + 22 * beds + 15 * new + rng.normal(0, 8, n))
    table = pd.DataFrame(
        {"id": rng.permutation(10**6)[:n], "name": [f"Room {k}" for k in range(n)]}
    )
    table["neighbourhood"] = quarter
    table["kind"] = rng.choice(["Entire home", "Private room", "Shared room"], n)
    table["beds"] = beds
    table["last_review"] = pd.Series(pd.date_range("2019-01-01", periods=n).strftime("%Y-%m-%d"))
    table["reviews_per_month"] = reviews
    table.loc[new, ["last_review", "reviews_per_month"]] = None
    table["price"] = price
    labels = _hidden(table, "price", np.isin(quarter, names[:4]))
    content = table.to_csv(index=False).encode().replace(b"Room 5,", b"Caf\xe9,", 1)
    flaws = "free texts, record numbers, dates, gaps that mean something, a stray byte in a text"
    return MessyFile("rooms.csv", flaws, "--target price --domain neighbourhood", content, labels)


def _churn(rng: np.random.Generator) -> MessyFile:
    """TRUE and FALSE for classes, blanks around names, a telephone number."""
    states = ["AZ", "CO", "KS", "NJ", "NM", "NV", "OH", "OK", "TX", "UT"]
    state, n = _domains(states, [45] * 10), 450
    minutes, calls = rng.normal(180, 50, n).round(1), rng.poisson(1.5, n)
    plan = rng.random(n) < 0.3
    leaves = (minutes > 225) | (calls > 3) & ~plan
    table = pd.DataFrame(
        {"State ": state, " phone number": [f"{k:03}-{9 * k:04}" for k in range(n)]}
    )
    table["international plan "] = np.where(plan, "yes", "no")
    table["total day minutes"] = minutes
    table[" customer service calls "] = calls
    table["churn "] = np.where(leaves, "TRUE", "FALSE")
    labels = _hidden(table, "churn ", np.isin(state, states[:6]))
    flaws = "TRUE and FALSE, blanks around names of columns, telephone numbers"
    arguments = "--target churn --domain State"
    return MessyFile("churn.csv", flaws, arguments, table.to_csv(index=False).encode(), labels)


def _survey(rng: np.random.Generator) -> MessyFile:
    """Questions for names, with commas; a country with one answer; many columns that some countries
    were not asked."""
    countries = ["Brazil", "Chile", "France", "Ghana", "India", "Iran", "Kenya", "Norway", "Peru"]
    sizes = [70, 60, 80, 50, 90, 1, 55, 65, 45]
    country, n = _domains(countries, sizes), sum(sizes)
    level = np.repeat(rng.normal(0, 0.6, len(countries)), sizes)
    age, remote = rng.integers(18, 66, n), rng.choice(["never", "sometimes", "always"], n)
    support = pd.Series(rng.choice(["Yes", "No"], n))
    unasked = rng.random(n) < 0.4
    score = 0.04 * (age - 40) + 1.2 * (remote == "never") + 1.5 * unasked + level
    seeks = np.where(score + rng.normal(0, 0.8, n) > 0.9, "Yes", "No")
    table = pd.DataFrame({"Country": country, "How old are you, in years?": age})
    table["Do you work from home? "] = remote
    table["Does your employer offer support?"] = support.mask(unasked)
    asked_less = np.isin(country, ["Ghana", "Kenya", "Peru"])
    for number in range(1, 7):
        answer = pd.Series(rng.choice(["agree", "neutral", "disagree"], n))
        table[f"Statement {number}"] = answer.mask(asked_less & (rng.random(n) < 0.9))
    table["Comments"] = pd.Series([f"comment {k}" for k in range(n)]).mask(rng.random(n) < 0.6)
    table["Comments again"] = None
    table.loc[::9, "Comments again"] = "see above"
    table["Have you sought help, or would you?"] = seeks
    labels = _hidden(table, "Have you sought help, or would you?", np.isin(country, countries[:5]))
    table.columns = ["Comments" if name == "Comments again" else name for name in table.columns]
    flaws = "questions with commas for names, a country with one answer, questions some never saw"
    arguments = '--target "Have you sought help, or would you?" --domain Country --exclude Comments'
    return MessyFile("survey.csv", flaws, arguments, table.to_csv(index=False).encode(), labels)


def _life(rng: np.random.Generator) -> MessyFile:
    """Blanks around and within names; numbers that a country never changes."""
    countries = [f"Land {letter}" for letter in "ABCDEFGHIJKLMNOP"]
    country, n = _domains(countries, [16] * 16), 256
    wealth = np.repeat(rng.normal(0, 1.0, 16), 16)
    schooling = np.round(11 + 2 * wealth + rng.normal(0, 0.5, n), 1)
    mortality = np.round(np.maximum(170 - 60 * wealth + rng.normal(0, 15, n), 5))
    life = np.round(69 + 0.9 * (schooling - 11) - 0.05 * (mortality - 170) + rng.normal(0, 1, n), 1)
    table = pd.DataFrame({"Country": country, "Year": np.tile(np.arange(2000, 2016), 16)})
    table["Status"] = np.where(wealth > 0.2, "Developed", "Developing")
    table["Life expectancy "] = life
    table["Adult Mortality"] = mortality
    table[" BMI "] = _gaps(rng, pd.Series(np.round(rng.normal(38, 15, n), 1)), 0.1)
    table[" thinness  1-19 years"] = np.round(
        np.maximum(5 - 2 * wealth + rng.normal(0, 1, n), 0.1), 1
    )
    table["Schooling"] = schooling
    labels = _hidden(table, "Life expectancy ", np.isin(country, countries[:10]))
    flaws = "blanks around names of columns, gaps, a number that is a year"
    arguments = '--target "Life expectancy " --domain Country'
    return MessyFile("life.csv", flaws, arguments, table.to_csv(index=False).encode(), labels)


def _stations(rng: np.random.Generator) -> MessyFile:
    """Semicolons, decimal commas, Windows-1252, -200 for a sensor that failed, an index column."""
    places = ["Köln", "Münster", "Würzburg", "Ulm", "Jena", "Görlitz", "Celle", "Bonn"]
    place, n = _domains(places, [50] * 8), 400
    height = np.repeat(rng.uniform(0, 800, 8), 50)
    warm, wet = rng.normal(14 - height / 150, 5), rng.uniform(30, 100, n)
    ozone = 40 + 2.5 * (warm - 10) - 0.3 * (wet - 60) + rng.normal(0, 4, n)
    table = pd.DataFrame({"Ort": place, "Temperatur": warm.round(1), "Feuchte": wet.round(1)})
    table.loc[rng.random(n) < 0.08, "Feuchte"] = -200
    table["Höhe"] = height.round()
    table["Ozon"] = ozone.round(1)
    labels = _hidden(table, "Ozon", np.isin(place, places[:5]))
    content = table.to_csv(sep=";", decimal=",").encode("cp1252")
    flaws = "semicolons, decimal commas, Windows-1252, -200 for no value, an index column"
    arguments = "--target Ozon --domain Ort --na=-200"
    return MessyFile("stations.csv", flaws, arguments, content, labels)
