"""Rows of data frames: pandas, polars, Arrow and others that narwhals knows."""

from __future__ import annotations

from datetime import date
from numbers import Number
from typing import Any

import numpy as np

from seriatim.core.names import Names
from seriatim.core.rows import Rows
from seriatim.core.values import NO_REAL, encoded, is_absent, real, shown
from seriatim.errors import DataError
from seriatim.features.block import stacked
from seriatim.features.encoder import Crowd, Encoder, Plan
from seriatim.features.spec import Features

PADDING = 64  # bytes behind the strings of a column
Strings = tuple[np.ndarray, ...]  # offsets, bytes, valid; for a dictionary also codes: see `Columns`


def frame_rows(X: Any, features: Features, schema: dict[str, str], crowd: Crowd | None = None) -> Rows:
    """The rows of a data frame, with names. schema : the kinds of the columns that the model has learned.

    NaN is a missing value, as in pandas.
    """
    import narwhals.stable.v1 as nw

    try:
        frame = nw.from_native(X, eager_only=True)
        _ = frame.schema
    except nw.exceptions.NarwhalsError as error:  # such as two columns with one name
        raise DataError(f"the frame cannot be taken: {' '.join(str(error).split())}") from None
    if is_arrow(frame.to_native()):
        frame = nw.from_native(plain_table(frame.to_native(), features), eager_only=True)
    kinds = frame_kinds(frame, features, schema)
    if not len(frame) or not kinds:
        raise DataError(
            f"Found array with 0 sample(s) or feature(s) (shape={frame.shape}); a minimum of 1 is required."
        )
    if "objects" in kinds.values():
        rows = object_rows(frame.select(*kinds).rows(named=True), features, crowd)
        rows.schema = kinds
        return rows
    if is_arrow(frame.to_native()):
        columns = [arrow_column(frame[name].to_native(), kind) for name, kind in kinds.items()]
    else:
        columns = [column(frame[name], kind) for name, kind in kinds.items()]
    return table_rows(columns, kinds, len(frame), features, crowd)


def frame_kinds(frame: Any, features: Features, schema: dict[str, str]) -> dict[str, str]:
    """The kind of each column that is not dropped."""
    for what, wanted in (("text", features.text), ("cross", sum(features.cross, ()))):
        for name in wanted:
            if name not in frame.schema:
                raise DataError(f"no column {name!r}, which `{what}` names; there are {', '.join(frame.columns)}")
    native = frame.to_native()
    types = {one.name: str(one.type) for one in native.schema} if is_arrow(native) else {}
    kinds = {name: kind_of(frame, name, dtype, features, types.get(name, "")) for name, dtype in frame.schema.items()}
    check_schema(kinds, schema)
    return {name: kind for name, kind in kinds.items() if kind != "dropped"}


def table_rows(
    columns: list[np.ndarray | Strings],
    kinds: dict[str, str],
    n: int,
    features: Features,
    crowd: Crowd | None,
    names: Names | None = None,
) -> Rows:
    """The rows of a table, given by columns. names : of earlier rows, to which these rows add."""
    if not features.bits and not features.cross and columns and all(isinstance(one, np.ndarray) for one in columns):
        rows = stacked(columns)
        if rows is not None:
            rows.names, rows.schema = Names(kinds), kinds
            return rows
    encoder = Encoder(Plan(features, kinds.items(), crowd), 16 * n, names)
    encoder.take_columns(columns, n)
    rows = encoder.rows()
    rows.schema = kinds
    return rows


def check_schema(kinds: dict[str, str], schema: dict[str, str]) -> None:
    """Refuse a table that lacks a learned column or has it with another kind. Other columns are new features."""
    missing = [name for name, kind in schema.items() if name not in kinds and kind not in ("label", "dropped")]
    if missing:
        raise DataError(f"no column {', '.join(map(repr, missing))}, which the model has learned from")
    for name, kind in kinds.items():
        known = schema.get(name, kind)
        if {kind, known} not in ({kind}, {"number", "flag"}) and "any" not in (kind, known):
            raise DataError(f"column {name!r} is of kind {kind}; the model has learned it as {known}")


def kind_of(frame: Any, name: str, dtype: Any, features: Features, arrow: str) -> str:
    """The kind of a column. arrow : its type, if the table is an Arrow table."""
    import narwhals.stable.v1 as nw

    if features.drops(name):
        return "dropped"
    if arrow.startswith(("map<", "decimal")):  # narwhals knows only some of these
        return "objects" if arrow.startswith("map<") else "number"
    if dtype.is_numeric():
        return "number"
    if dtype == nw.Boolean:
        return "flag"
    if dtype == nw.Object:  # any Python objects: the values tell the kind
        values = [value for value in frame[name].to_list() if not missing(value)]
        if any(isinstance(value, dict | list | tuple | set | frozenset | np.ndarray) for value in values):
            return "objects"
        if values and all(isinstance(value, bool) for value in values):
            return "flag"
        if values and all(isinstance(value, Number) and not isinstance(value, NO_REAL) for value in values):
            return "number"
    if dtype in (nw.String, nw.Categorical, nw.Enum, nw.Object, nw.Date, nw.Datetime):
        return "text" if name in features.text else "category"
    if dtype in (nw.List, nw.Array, nw.Struct):
        return "objects"
    if dtype == nw.Unknown:  # such as a column without a value
        return "any"
    raise DataError(f"column {name!r} has type {dtype}; a column holds numbers, strings, dates, booleans or lists")


def column(series: Any, kind: str) -> np.ndarray | Strings:
    """The values of a column, as `Columns` takes them."""
    import narwhals.stable.v1 as nw

    if kind in ("number", "flag") and series.dtype == nw.Object:
        return numbers(series.name, series.to_list())
    if kind in ("number", "flag"):
        return np.ascontiguousarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
    if series.dtype in (nw.Date, nw.Datetime):
        series = series.dt.to_string("%Y-%m-%d" if series.dtype == nw.Date else "%Y-%m-%dT%H:%M:%S")
    elif series.dtype in (nw.Categorical, nw.Enum):
        series = series.cast(nw.String)
    native = series.to_native()
    if is_arrow(native):
        return arrow_strings(native)
    return strings(series.name, series.to_list())


def numbers(name: str, values: list[Any]) -> np.ndarray:
    """The numbers of a column of objects; NaN for missing values."""
    array = np.full(len(values), np.nan)
    for i, value in enumerate(values):
        try:
            array[i] = np.nan if missing(value) else real(value)
        except (TypeError, ValueError, OverflowError) as error:
            raise DataError(f"row {i}, column {name!r}: {error}") from None
    return array


def missing(value: Any) -> bool:
    """Whether a value is None, NaN, or NA or NaT of pandas."""
    return is_absent(value) or (isinstance(value, Number) and bool(value != value))


def strings(name: str, values: list[Any]) -> Strings:
    """A column of strings; None and NaN are missing."""
    valid = np.ones(len(values), dtype=np.uint8)
    texts = []
    for i, value in enumerate(values):
        if missing(value):
            valid[i] = 0
            texts.append(b"")
        elif isinstance(value, str | date):
            texts.append(encoded(str(value), f"row {i}, column {name!r}: the string"))
        else:
            raise DataError(
                f"row {i}, column {name!r}: {shown(value)} among strings; a column holds values of one kind"
            )
    offsets = np.zeros(len(values) + 1, dtype=np.int64)
    np.cumsum([len(text) for text in texts], out=offsets[1:])
    return offsets, np.frombuffer(b"".join(texts) + bytes(PADDING), dtype=np.uint8), valid


class Dictionary:
    """The strings of a dictionary column. While batches have equal dictionaries, it gives the same arrays."""

    def __init__(self) -> None:
        self.array: Any = None
        self.known: Strings = ()

    def strings(self, array: Any) -> Strings:
        if self.array is None or not array.equals(self.array):
            self.array, self.known = array, arrow_strings(array)
        return self.known


def arrow_column(array: Any, kind: str, dictionary: Dictionary | None = None) -> np.ndarray | Strings:
    """The values of an Arrow column. Numbers bypass narwhals, which would take longer than reading them."""
    if kind in ("number", "flag"):
        return arrow_numbers(array)
    import narwhals.stable.v1 as nw
    import pyarrow as pa

    one = array.chunk(0) if isinstance(array, pa.ChunkedArray) and array.num_chunks == 1 else array
    if isinstance(one, pa.DictionaryArray) and one.type.value_type in (pa.string(), pa.large_string()):
        return *(dictionary or Dictionary()).strings(one.dictionary), arrow_codes(one)
    whole = array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])
    return column(nw.from_native(whole, series_only=True), kind)


def arrow_codes(array: Any) -> np.ndarray:
    """The dictionary index of each value of an Arrow array; -1 for missing values."""
    import pyarrow as pa

    return array.indices.cast(pa.int32()).fill_null(-1).to_numpy()


def arrow_numbers(array: Any) -> np.ndarray:
    """The numbers of an Arrow column; NaN for missing values. Float64 without nulls is not copied."""
    import pyarrow as pa

    if array.type != pa.float64():
        if pa.types.is_decimal(array.type):  # through text: pyarrow's direct conversion is not exact
            array = array.cast(pa.string())
        array = array.cast(pa.float64(), safe=False)  # whole numbers beyond 2^53 are rounded
    if isinstance(array, pa.ChunkedArray) and array.num_chunks == 1:
        array = array.chunk(0)
    options = {} if isinstance(array, pa.ChunkedArray) else {"zero_copy_only": False}
    return np.ascontiguousarray(array.to_numpy(**options), dtype=np.float64)


def arrow_strings(array: Any) -> Strings:
    """A column of strings, from an Arrow column."""
    import pyarrow as pa
    import pyarrow.compute as pc

    array = pc.cast(array, pa.large_string())
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    if isinstance(array, pa.ChunkedArray):  # some versions return chunks for none or several chunks
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], pa.large_string())
    valid = np.asarray(array.is_valid()).astype(np.uint8)
    _, offset_memory, text = array.buffers()
    offsets = np.frombuffer(offset_memory, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
    memory = b"" if text is None else bytes(text[int(offsets[0]) : int(offsets[-1])])
    return offsets - offsets[0], np.frombuffer(memory + bytes(PADDING), dtype=np.uint8), valid


def object_rows(objects: Any, features: Features, crowd: Crowd | None) -> Rows:
    """The rows of a table with lists or objects, which are read as dicts."""
    encoder = Encoder(Plan(features, (), crowd))
    for number, one in enumerate(objects):
        try:
            encoder.take({name: listed(value) for name, value in one.items()})
        except DataError as error:
            raise DataError(f"row {number}: {error}") from None
    return encoder.rows()


def listed(value: Any) -> Any:
    """A cell as plain Python: an array as a list, the pairs of an Arrow map as a dict."""
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        return dict(value)
    return value.tolist() if isinstance(value, np.ndarray) else value


# ---- the types of Arrow


def is_arrow(native: Any) -> bool:
    return type(native).__module__.partition(".")[0] == "pyarrow"


def plain_table(table: Any, features: Features) -> Any:
    """An Arrow table or batch in which all columns that are not dropped have a supported type."""
    for i, name in enumerate(table.schema.names):
        if not features.drops(name):
            array = table.column(i)
            plain = plain_column(name, array)
            table = table if plain is array else table.set_column(i, name, plain)
    return table


def plain_column(name: str, array: Any) -> Any:
    """An Arrow column as numbers, strings, dates, booleans, lists or objects, whatever its storage."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind, is_a = array.type, pa.types
    if isinstance(kind, pa.BaseExtensionType):
        chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
        stored = pa.chunked_array([one.storage for one in chunks], kind.storage_type)
        return plain_column(name, stored if isinstance(array, pa.ChunkedArray) else stored.combine_chunks())
    if is_a.is_run_end_encoded(kind):
        return plain_column(name, pc.run_end_decode(array))
    if is_a.is_dictionary(kind) and kind.value_type not in (pa.string(), pa.large_string()):
        return plain_column(name, array.cast(kind.value_type))
    if not has_rule(kind):
        raise DataError(f"column {name!r} has type {kind}; a column holds numbers, strings, dates, booleans or lists")
    return array.cast(pa.large_string()) if str(kind) == "string_view" else array


def has_rule(kind: Any) -> bool:
    """Whether an Arrow type is supported. Members of lists and objects are checked by value."""
    import pyarrow.types as is_a

    if is_a.is_map(kind):  # an object whose keys are strings
        return is_string(kind.key_type)
    if is_a.is_dictionary(kind):
        return is_string(kind.value_type)
    tests = (is_a.is_integer, is_a.is_floating, is_a.is_decimal, is_a.is_boolean, is_string, is_a.is_date, is_a.is_null,
             is_a.is_timestamp, is_a.is_list, is_a.is_large_list, is_a.is_fixed_size_list, is_a.is_struct)  # fmt: skip
    return any(test(kind) for test in tests)


def is_string(kind: Any) -> bool:
    return str(kind) in ("string", "large_string", "string_view")
