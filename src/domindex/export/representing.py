"""A representation as a module: rows (n, features) and domain numbers (n,) to represented rows.

A known domain is a number, and all that depends on it is a row of a table. So nothing of the map,
of transport or of placing is left in a program.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from domindex.export.tables import NotExportableError, Scaled, constant, rows_times
from domindex.representations.base import KnownDomainForm, PlacedRows, Representation

Represented = tuple[Tensor, Tensor, Tensor]
"""Features (n, p), and the level and the spread of outputs, (n, 1) each."""

TABLES = ("levels", "offsets", "scales", "matrix", "matrices", "shifts", "beside")


class FormProgram(nn.Module):
    """The arithmetic of a `KnownDomainForm`."""

    levels: Tensor | None
    offsets: Tensor | None
    scales: Tensor | None
    matrix: Tensor | None
    uses_matrix: Tensor | None
    matrices: Tensor | None
    shifts: Tensor | None
    beside: Tensor | None

    def __init__(self, form: KnownDomainForm) -> None:
        super().__init__()
        self.scaled = Scaled(form.scaler)
        self.outputs = None if form.outputs is None else Scaled(form.outputs)
        self.row_level, self.least_row_spread = form.row_level, form.least_row_spread
        for name in TABLES:
            table = getattr(form, name)
            self.register_buffer(name, None if table is None else constant(table))
        moved = None if form.uses_matrix is None else torch.tensor(form.uses_matrix[:, None])
        self.register_buffer("uses_matrix", moved)

    def forward(self, x: Tensor, domain: Tensor) -> Represented:
        level, spread = self._level_and_spread(x, domain)
        z = self.scaled((x - level) / spread)
        if self.offsets is not None:
            z = z - self.offsets[domain]
        if self.scales is not None:
            z = z / self.scales[domain]
        if self.matrix is not None:
            moved = z @ self.matrix
            if self.uses_matrix is not None:
                moved = torch.where(self.uses_matrix[domain], moved, z)
            z = moved
        if self.matrices is not None:
            n_moving = self.matrices.shape[1]
            moved = rows_times(z[:, :n_moving], self.matrices[domain])
            z = torch.cat([moved, z[:, n_moving:]], dim=1)
        if self.shifts is not None:
            z = z + self.shifts[domain]
        if self.outputs is not None:
            z = self.outputs(z)
        if self.beside is not None:
            z = torch.cat([z, self.beside[domain]], dim=1)
        return z, level, spread

    def _level_and_spread(self, x: Tensor, domain: Tensor) -> tuple[Tensor, Tensor]:
        if self.levels is not None:
            both = self.levels[domain]
            return both[:, :1], both[:, 1:]
        level = x.mean(dim=1, keepdim=True) if self.row_level else torch.zeros_like(x[:, :1])
        if self.least_row_spread is None:
            return level, torch.ones_like(level)
        variance = ((x - level) ** 2).mean(dim=1, keepdim=True)
        return level, variance.sqrt().clamp_min(self.least_row_spread)


def representation_module(given: Representation, places: PlacedRows) -> nn.Module:
    """The representation for known domains; `places` has one row a domain, in their order."""
    form = None
    if "known_form" in vars(type(given)):  # one that is inherited may not fit what the class does
        try:
            form = given.known_form(places)
        except KeyError as error:
            raise NotExportableError(f"{given.name} does not know the domain {error}") from error
    if form is None:
        raise NotExportableError(f"the representation {given.name!r} has no form in torch")
    return FormProgram(form)
