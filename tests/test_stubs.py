"""The stub file says what the catalogue says."""

from tests.stubs import FILE, stub


def test_the_stub_file_is_up_to_date():
    assert FILE.read_text() == stub(), "run `make stubs`"
