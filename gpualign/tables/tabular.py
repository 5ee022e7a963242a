"""Results that are not tables but can be shown as one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpualign.tables.row import Row
from gpualign.tables.table import Table

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


class Tabular:
    """Gives the conversions of :class:`gpualign.Table` to a class that has ``table``."""

    @property
    def table(self) -> Table[Row]:
        raise NotImplementedError

    def to_arrow(self) -> pyarrow.Table:
        """See :meth:`gpualign.Table.to_arrow`."""
        return self.table.to_arrow()

    def to_pandas(self) -> pandas.DataFrame:
        """See :meth:`gpualign.Table.to_pandas`."""
        return self.table.to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """See :meth:`gpualign.Table.to_polars`."""
        return self.table.to_polars()

    def _repr_html_(self) -> str:
        return self.table._repr_html_()
