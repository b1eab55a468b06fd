"""The generated stubs and index of modules agree with the catalogue."""

import subprocess
import sys

import pytest

from tests.stubs import FILES, FOLDER


@pytest.mark.parametrize("name", FILES)
def test_the_file_is_up_to_date(name):
    assert (FOLDER / name).read_text() == FILES[name](), "run `make stubs`"


def test_an_algorithm_is_imported_without_the_others():
    code = (
        "import sys; from seriatim import PA, catalogue; assert catalogue.find('pa') is PA;"
        "print(*sorted(name for name in sys.modules if name.startswith('seriatim.')))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "seriatim.linear.passive_aggressive" in loaded
    assert not {"seriatim.linear.mirror", "seriatim.kernel", "seriatim.portfolio", "numpy.random"} & {*loaded}
