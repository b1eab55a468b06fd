"""The errors of this package. Each is a `ValueError` whose message says what was found, where, and what to do."""


class SeriatimError(ValueError):
    """Base of all errors of this package."""


class ParameterError(SeriatimError):
    """A parameter is out of range."""


class DataError(SeriatimError):
    """An example is invalid. The model is unchanged."""


class DataTypeError(DataError, TypeError):
    """A value is not a number."""


class ParseError(DataError):
    """A line of a file cannot be read."""

    def __init__(self, file: str, line: int, column: int, problem: str) -> None:
        super().__init__(f"{file}: line {line}, column {column}: {problem}")
        self.file, self.line, self.column, self.problem = file, line, column, problem


class LimitError(SeriatimError):
    """A limit would be exceeded."""


class ModelError(SeriatimError):
    """A model file cannot be loaded, or a model does not support a request."""


class NotFittedError(SeriatimError, AttributeError):
    """The model has not seen an example yet."""
