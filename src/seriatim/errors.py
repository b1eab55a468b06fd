"""What can go wrong, each a `ValueError` that says what was found, where, and what would be right."""


class SeriatimError(ValueError):
    """Base of all errors of this package."""


class ParameterError(SeriatimError):
    """A parameter is outside its range."""


class DataError(SeriatimError):
    """An example cannot be taken; the model is as it was before."""


class DataTypeError(DataError, TypeError):
    """A value is not a number at all."""


class ParseError(DataError):
    """A line of a file cannot be read."""

    def __init__(self, file: str, line: int, column: int, problem: str) -> None:
        super().__init__(f"{file}: line {line}, column {column}: {problem}")
        self.file, self.line, self.column, self.problem = file, line, column, problem


class LimitError(SeriatimError):
    """A stated limit would be exceeded."""


class ModelError(SeriatimError):
    """A model file cannot be loaded, or a model cannot do what was asked."""


class NotFittedError(SeriatimError, AttributeError):
    """The model has not seen an example yet."""
