"""The report: what is on the page, in the table and in the figures, and that a browser draws it."""

import copy
import io
import json
import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
from rich.console import Console

from seriatim import AROW, report
from seriatim.errors import DataError, ParameterError, SeriatimError
from seriatim.evaluate import compare
from tests.report import results
from tests.report.browser import Browser

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&"
VOID = {"meta", "img", "br", "link"}


@pytest.fixture(scope="module")
def spam():
    return results.spam()


@pytest.fixture(scope="module")
def letters():
    return results.letters()


@pytest.fixture(scope="module")
def browser():
    made = Browser()
    yield made
    made.close()


@pytest.fixture
def look(browser, tmp_path):
    """Opens a result in the browser; at the end nothing may have gone wrong there."""
    pages = []

    def look_at(result, **options):
        path = tmp_path / f"{len(pages)}.html"
        report.write(result, path)
        pages.append(browser.open(path, **options))
        return pages[-1]

    yield look_at
    for page in pages:
        assert page.evaluate("document.documentElement.dataset.error") is None
        page.close()
    assert browser.problems == []


class Outline(HTMLParser):
    """The elements of a page with their attributes and texts, and what scripts it has."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append({"tag": tag, **dict(attributes), "text": "", "inside": [one["tag"] for one in self.open]})
        if tag not in VOID:
            self.open.append(self.elements[-1])

    def handle_endtag(self, tag):
        while self.open and self.open.pop()["tag"] != tag:
            pass

    def handle_data(self, text):
        for element in self.open:
            element["text"] += text

    def all(self, tag, kind=None):
        return [
            one for one in self.elements if one["tag"] == tag and (kind is None or kind in one.get("class", "").split())
        ]

    def sections(self):
        return [one["id"] for one in self.all("section")]


def embedded(page):
    return json.loads(next(one for one in Outline(page).all("script") if one.get("id") == "result")["text"])


# The page as text


def test_sections_stand_in_order(spam):
    expected = ["results", "curves", "time", "updates", "regret", "confusion", "features", "order", "repeat"]
    assert Outline(report.html(spam)).sections() == expected


def test_what_is_absent_has_no_section(spam):
    assert Outline(report.html(results.loss_only())).sections() == ["results", "curves", "repeat"]
    bare = copy.deepcopy(spam)
    for entry in bare["algorithms"]:
        del entry["curve"], entry["updates"], entry["time"]
    bare |= {"regret": None, "winner": None}
    assert Outline(report.html(bare)).sections() == ["results", "regret", "repeat"]


def test_setting_in_words(spam):
    page = Outline(report.html(spam))
    said = next(one for one in page.all("p", "setting"))["text"]
    assert "4,601 examples of 57 features, labelled nonspam (2,788) and spam (1,813)" in said
    assert (
        "Twelve algorithms" in said
        and "four random orders" in said
        and "seed 0" in said
        and "Nothing was tuned" in said
    )
    tuned = copy.deepcopy(spam)
    tuned["setting"]["tuning"] = "like LIBOL: on the stream itself"
    assert "like LIBOL: on the stream itself" in Outline(report.html(tuned)).all("p", "setting")[0]["text"]


def test_table_shows_means_and_deviations(spam):
    page = Outline(report.html(spam))
    heads = [one for one in page.all("th") if one.get("scope") == "row" and "data-value" in one]
    assert [one["data-value"] for one in heads] == [entry["label"] for entry in spam["algorithms"]]
    rows = page.all("tr")[1 : len(heads) + 1]
    for entry, row in zip(spam["algorithms"], rows, strict=True):
        mean, deviation = entry["figures"]["mistake rate"]
        assert f"{mean:.4f}± {deviation:.4f} " in row["text"]
        assert f"{entry['figures']['updates'][0]:,.0f}± " in row["text"]
    best = page.all("tr", "best")
    assert len(best) == 1 and best[0]["text"].startswith(spam["algorithms"][0]["label"])
    assert [one["text"].split()[0] for one in heads if "≈" in one["text"]] == [spam["algorithms"][1]["label"]]


def test_bounds_say_whether_they_hold(spam):
    page = Outline(report.html(spam))
    assert [one["text"] for one in page.all("span", "yes")] == ["yes", "yes"]
    assert [one["text"] for one in page.all("span", "no")] == ["no"]


@pytest.mark.parametrize("name", ["spam", "letters"])
def test_confusion_matrix_is_the_one_given(name, request):
    result = request.getfixturevalue(name)
    counts = np.array(result["winner"]["confusion"])
    page = Outline(report.html(result))
    cells = page.all("td", "right") + page.all("td", "wrong")
    assert len(cells) == counts.size and len(page.all("td", "right")) == len(counts)
    found = [int(one["text"].replace(",", "")) for one in page.all("span", "count")]
    assert sorted(found) == sorted(counts[counts > 0].tolist())
    assert [one["text"] for one in page.all("td", "total")] == [f"{n:,}" for n in counts.sum(1)]


def test_shares_are_by_true_class(spam):
    counts = np.array(spam["winner"]["confusion"])
    shares = counts / counts.sum(1, keepdims=True)
    found = [one["text"] for one in Outline(report.html(spam)).all("span", "share")]
    assert found == [f"{share:.4f}" for share in shares.ravel()]


def test_many_classes_are_told_by_their_gravest_confusions(spam):
    many = copy.deepcopy(spam)
    counts = np.eye(300, dtype=int) * 9
    counts[7, 3] = 5
    many["winner"] |= {"classes": list(range(300)), "confusion": counts.tolist()}
    page = Outline(report.html(many))
    assert not page.all("table", "confusion")
    assert [one["text"].split() for one in page.all("li")] == [["7", "taken", "for", "3", "5", "of", "14"]]


@pytest.fixture
def evil():
    """Markup wherever a name may stand."""
    evil = results.loss_only()
    evil["title"] = EVIL
    evil["setting"] |= {"data": EVIL, "labels": {EVIL: 1, "b": 2}, "tuning": EVIL, "command": EVIL, "machine": EVIL}
    evil["setting"]["versions"] = {EVIL: EVIL}
    evil["algorithms"][0] |= {"label": EVIL, "parameters": {EVIL: EVIL}}
    evil["winner"] = {
        "label": EVIL, "classes": [EVIL, "b", "c"], "confusion": [[1, 2, 0], [3, 4, 0], [0, 0, 1]],
        "heaviest": [[EVIL, EVIL, 1.0], ["b", EVIL, -1.0]],
        "file_order": {"examples": [1, 2], "value": [0.5, 0.4], "window": 1, "recent": [0.5, 0.3]},
        "drift": [{"at": 1, "before": 0.1, "after": 0.2, "detector": EVIL}],
    }  # fmt: skip
    evil["regret"] = [{"label": EVIL, "comparator": EVIL, "examples": [1, 2], "regret": [1, 2], "bound": [2, 3]}]
    evil["bounds"] = [{"label": EVIL, "quantity": EVIL, "measured": 1, "bound": 2, "holds": True, "paper": EVIL}]
    return evil


def test_names_cannot_break_out(evil):
    page = report.html(evil)
    assert len(Outline(page).all("script")) == 2 and not Outline(page).all("img")
    assert page.count("<script") == 2 and page.count("</script") == 2
    assert embedded(page)["algorithms"][0]["label"] == EVIL


def test_names_cannot_break_out_in_a_browser(evil, look):
    page = look(evil)
    assert page.count("script") == 2 and page.count("img") == 0
    assert EVIL in page.texts("h1") and page.count("[data-plot] svg") > 4


def test_page_needs_nothing_from_elsewhere(spam):
    page = report.html(spam)
    policy = next(one["content"] for one in Outline(page).all("meta") if one.get("http-equiv"))
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy
    assert set(re.findall(r"https?://[^\"'\s<]+", page)) == {"http://www.w3.org/2000/svg"}
    script = Outline(page).all("script")[1]["text"]
    assert not re.search(
        r"\beval\b|new Function|innerHTML|outerHTML|insertAdjacentHTML|document\.write|fetch\(", script
    )
    assert " style=" not in page and not re.search(r"<[^>]+ on\w+=", page)


def test_what_json_does_not_know_is_left_out(spam):
    odd = copy.deepcopy(spam)
    odd["algorithms"][-1]["curve"]["mean"][3:5] = [float("nan"), float("inf")]
    odd["algorithms"][-1]["figures"]["mean loss"] = [float("inf"), float("nan")]
    odd["algorithms"][-1]["curve"]["deviation"][0] = np.float64(0.25)
    odd["algorithms"][-1]["curve"]["examples"] = list(np.array(odd["algorithms"][-1]["curve"]["examples"]))
    curve = embedded(report.html(odd))["algorithms"][-1]["curve"]
    assert curve["mean"][3:5] == [None, None] and curve["deviation"][0] == 0.25 and curve["examples"][-1] == 4601


def test_long_curves_are_thinned_but_keep_their_end(spam):
    long = copy.deepcopy(spam)
    long["algorithms"][0]["curve"] = {
        "examples": list(range(5000)),
        "mean": [0.5] * 4999 + [0.25],
        "deviation": [0.0] * 5000,
    }
    curve = embedded(report.html(long))["algorithms"][0]["curve"]
    assert len(curve["examples"]) == len(curve["mean"]) <= 600
    assert (curve["examples"][-1], curve["mean"][-1]) == (4999, 0.25)


def test_the_result_is_not_changed(spam):
    before = copy.deepcopy(spam)
    report.html(spam)
    report.table(spam)
    assert spam == before


def test_bad_results_are_refused(tmp_path):
    with pytest.raises(DataError, match="'setting'"):
        report.html({"title": "a"})
    path = tmp_path / "report.html"
    path.write_text("as it was")
    with pytest.raises(DataError, match="no algorithm"):
        report.write({"title": "a", "setting": {}, "measure": "mistake rate", "algorithms": []}, path)
    assert path.read_text() == "as it was" and [*tmp_path.iterdir()] == [path]


def test_importing_the_report_imports_no_matplotlib():
    code = "import sys, seriatim.report as r; r.html, r.write; print({'matplotlib', 'rich'} & {*sys.modules})"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"


def test_html_is_the_function_whatever_was_imported_first():
    code = "import seriatim.report.html, seriatim.report; print(callable(seriatim.report.html))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "True\n"


# The page in a browser


def drawn(page, plot, selector):
    """The paths of a plot."""
    nodes = f"document.querySelectorAll('[data-plot={plot}] .canvas > svg {selector}')"
    return page.evaluate(f"[...{nodes}].map(node => node.getAttribute('d'))")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_plot_is_drawn(spam, look, dark):
    page = look(spam, dark=dark)
    n = len(spam["algorithms"])
    for plot, bands in (("curves", n), ("time", 0), ("updates", n)):
        lines = drawn(page, plot, "path.curve")
        assert len(lines) == n and len(drawn(page, plot, "path.band")) == bands
        assert all(line.count("L") == results.PIECES - 1 for line in lines), plot
        assert page.count(f"[data-plot={plot}] .legend button") == n
        assert not any("NaN" in line for line in lines)
    assert page.count("[data-plot=time] circle.end") == n
    assert len(drawn(page, "regret", "[data-kind=curve]")) == 2 and len(drawn(page, "regret", "[data-kind=bound]")) == 1
    assert page.count("[data-plot=features] rect") == 20
    assert len(drawn(page, "order", "path.curve")) == 2
    assert page.count("[data-plot=order] line.mark") == 2 and page.count("[data-plot=order] line.level") == 4
    assert page.count("svg[role=img][aria-label]") == 6


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_colours_follow_the_system_and_the_toggle(spam, look, dark):
    page = look(spam, dark=dark)
    assert brightness(page) < 0.2 if dark else brightness(page) > 0.9
    page.click("#theme")
    page.settle()
    assert brightness(page) > 0.9 if dark else brightness(page) < 0.2
    page.evaluate("localStorage.clear()")


def brightness(page):
    from matplotlib.image import imread

    return imread(io.BytesIO(page.picture()))[3:30, 3:30, :3].mean()


@pytest.mark.parametrize("width", [360, 768, 1400, 2200])
@pytest.mark.parametrize("name", ["spam", "letters"])
def test_nothing_is_wider_than_the_window(name, width, request, look):
    page = look(request.getfixturevalue(name), width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wide = "[...document.querySelectorAll('.canvas')].every(one => one.scrollWidth <= one.clientWidth + 1)"
    assert page.evaluate(wide)


def test_plots_follow_the_window(spam, look):
    page = look(spam, width=1200)
    wide = page.box("[data-plot=curves] .canvas > svg")[2]
    size = {"width": 420, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    page.call("Emulation.setDeviceMetricsOverride", **size)
    page.settle()
    assert page.box("[data-plot=curves] .canvas > svg")[2] < 420 < wide
    assert page.count("[data-plot=curves] .legend.below") == 1


def test_twenty_six_classes(letters, look):
    page = look(letters)
    assert page.count("table.confusion tbody tr") == 26 and page.count("[data-plot=features] svg") == 26
    seen = "getComputedStyle(document.querySelector('.confusion .right .{}')).display"
    assert page.evaluate(seen.format("share")) == "none"
    page.click("[data-shows=shares]")
    assert page.evaluate(seen.format("share")) != "none" and page.evaluate(seen.format("count")) == "none"


def test_one_run_of_a_regression(look):
    page = look(results.loss_only())
    assert len(drawn(page, "curves", "path.curve")) == 1 and not drawn(page, "curves", "path.band")


def test_labels_beside_the_lines_do_not_cover_each_other(spam, look):
    page = look(spam)
    tops = page.evaluate(
        "[...document.querySelectorAll('[data-plot=curves] .legend li')].map(one => one.getBoundingClientRect().top)"
    )
    assert len(tops) == len(spam["algorithms"]) and min(np.diff(tops)) >= 17
    order = sorted(spam["algorithms"], key=lambda entry: -entry["curve"]["mean"][-1])
    assert page.texts("[data-plot=curves] .legend .of") == [entry["label"] for entry in order]


def test_hover_shows_all_values_there(spam, look):
    page = look(spam)
    left, top, width, height = page.box("[data-plot=curves] .canvas > svg")
    page.mouse("mouseMoved", left + width * 0.4, top + height * 0.5)
    place = int(page.texts("[data-plot=curves] .tip b")[0].split()[0].replace(",", ""))
    rows = page.texts("[data-plot=curves] .tip tr")
    assert len(rows) == len(spam["algorithms"])
    at = spam["algorithms"][0]["curve"]["examples"].index(place)
    expected = {
        f"{entry['label']}{entry['curve']['mean'][at]:.4f} ± {entry['curve']['deviation'][at]:.4f}"
        for entry in spam["algorithms"]
    }
    assert {*rows} == expected
    page.mouse("mouseMoved", left + width * 0.4, top - 40)
    assert page.evaluate("document.querySelector('[data-plot=curves] .tip').hidden")


def test_a_click_on_the_legend_hides_in_all_plots(spam, look):
    page = look(spam)
    n = len(spam["algorithms"])
    worst = page.texts("[data-plot=curves] .legend .of")[0]
    page.click("[data-plot=curves] .legend li:first-child button")
    assert page.count("[data-plot=curves] path.curve") == page.count("[data-plot=time] path.curve") == n - 1
    assert page.texts("[data-plot=curves] [aria-pressed=false] .of") == [worst]
    page.click("[data-plot=curves] .legend [aria-pressed=false]")
    assert page.count("[data-plot=curves] path.curve") == n


def test_drag_zooms_and_double_click_resets(spam, look):
    page = look(spam)
    figure = "[data-plot=curves] .canvas > svg"
    before = drawn(page, "curves", "path.curve")
    left, top, width, height = page.box(figure)
    page.drag((left + width * 0.2, top + height * 0.4), (left + width * 0.4, top + height * 0.42))
    zoomed = drawn(page, "curves", "path.curve")
    assert zoomed != before and not page.evaluate(
        "document.querySelector('[data-plot=curves] .controls button:nth-of-type(3)').hidden"
    )
    left, top, width, height = page.box(figure)
    page.press(left + width * 0.3, top + height * 0.5)
    page.press(left + width * 0.3, top + height * 0.5, count=2)
    assert drawn(page, "curves", "path.curve") == before


def test_axes_become_logarithmic(spam, look):
    page = look(spam)
    before = drawn(page, "curves", "path.curve")
    page.click("[data-plot=curves] .controls button:nth-of-type(1)")
    page.click("[data-plot=curves] .controls button:nth-of-type(2)")
    assert page.texts("[data-plot=curves] .controls [aria-pressed=true]") == ["log x", "log y"]
    points = re.findall(r"([\d.]+) ([\d.]+)", drawn(page, "curves", "path.curve")[-1])
    curve = spam["algorithms"][0]["curve"]
    # The last path is that of the best; on logarithmic axes its points are an affine picture of the logarithms.
    for column, values in ((0, curve["examples"]), (1, curve["mean"])):
        places = np.array([float(point[column]) for point in points])
        line = np.polyfit(np.log(values), places, 1)
        assert np.abs(np.polyval(line, np.log(values)) - places).max() < 0.2
    page.click("[data-plot=curves] .controls button:nth-of-type(1)")
    page.click("[data-plot=curves] .controls button:nth-of-type(2)")
    assert drawn(page, "curves", "path.curve") == before


def test_keys_walk_along_the_curves(spam, look):
    page = look(spam)
    page.evaluate("document.querySelector('[data-plot=updates] .canvas > svg').focus()")
    page.key("End")
    assert page.texts("[data-plot=updates] .tip b") == ["4,601 examples"]
    page.key("ArrowLeft")
    assert page.texts("[data-plot=updates] .tip b") == [
        f"{spam['algorithms'][0]['updates']['examples'][-2]:,} examples"
    ]


def test_a_click_on_a_heading_sorts(spam, look):
    page = look(spam)
    names = [entry["label"] for entry in spam["algorithms"]]
    labels = "table.results tbody .label"
    assert page.texts(labels) == names
    page.click("table.results thead th:nth-of-type(4) button")
    by_updates = sorted(spam["algorithms"], key=lambda entry: entry["figures"]["updates"][0])
    assert page.texts("table.results thead [aria-sort=ascending]") == ["updates"]
    assert sorted(page.texts(labels)) == sorted(names) and page.texts(labels)[0] == by_updates[0]["label"]
    page.click("table.results thead th:nth-of-type(4) button")
    assert page.texts(labels)[0] == by_updates[-1]["label"]


def test_a_plot_that_cannot_be_drawn_is_told_and_spares_the_others(spam, browser, tmp_path):
    broken = copy.deepcopy(spam)
    broken["algorithms"][0]["updates"] = {"examples": [1, 2]}
    report.write(broken, tmp_path / "broken.html")
    page = browser.open(tmp_path / "broken.html")
    assert page.evaluate("document.documentElement.dataset.error")
    assert not page.evaluate("document.getElementById('problem').hidden")
    assert page.count("[data-plot=curves] path.curve") == len(spam["algorithms"])
    assert page.count("[data-plot=order] path.curve") == 2
    page.close()


def test_values_behind_a_plot(spam, look):
    page = look(spam)
    page.click("[data-plot=curves] summary")
    page.settle()
    assert page.count("[data-plot=curves] details tbody tr") == len(spam["algorithms"])
    last = page.texts("[data-plot=curves] details tbody tr:first-child td:last-child")
    assert last == [f"{spam['algorithms'][0]['curve']['mean'][-1]:.4f}"]


def test_the_command_is_copied_or_at_least_selected(spam, look):
    page = look(spam)
    page.click(".copy")
    page.settle()
    assert page.texts(".copy")[0] in ("copied", "selected")
    assert page.texts(".command code") == ["seriatim compare spam"]


def test_it_prints(spam, look):
    page = look(spam, dark=True)
    page.call("Emulation.setEmulatedMedia", media="print")
    hidden = "document.querySelectorAll('.controls, #theme, .copy, details')"
    shown = f"[...{hidden}].filter(one => getComputedStyle(one).display !== 'none').length"
    assert page.evaluate(shown) == 0
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    pdf = page.pdf()
    assert pdf.startswith(b"%PDF") and 3 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 8


# The terminal


def printed(result, width, **options):
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    console.print(report.table(result, width=width, **options))
    return console.file.getvalue()


@pytest.mark.parametrize("width", [30, 46, 60, 80, 120])
@pytest.mark.parametrize("ascii", [False, True])
def test_terminal_table_fits(spam, width, ascii):
    text = printed(spam, width, ascii=ascii)
    assert max(map(len, text.splitlines())) <= width
    assert text.isascii() or not ascii
    for entry in spam["algorithms"]:
        assert text.count(f"{entry['figures']['mistake rate'][0]:.4f}") >= 1
    if width >= 46:
        assert all(f" {entry['label']}" in text for entry in spam["algorithms"])


def test_terminal_table_at_eighty_columns(spam):
    lines = printed(spam, 80, ascii=False).splitlines()
    best, second = (entry["label"] for entry in spam["algorithms"][:2])
    rows = [line for line in lines if "±" in line]
    assert len(rows) == len(spam["algorithms"])
    assert rows[0].split()[0] == best and rows[1].split()[:2] == [second, "≈"]
    assert all(row.count("±") == 3 and row.rstrip().endswith("ms") for row in rows)
    made = report.table(spam, width=80, ascii=False)
    assert [row.style for row in made.rows] == ["bold", *[None] * (len(rows) - 1)]


def test_terminal_table_tells_changed_parameters(spam):
    tuned = copy.deepcopy(spam)
    entry = next(entry for entry in tuned["algorithms"] if entry["label"] == "pa")
    entry["parameters"] |= {"C": 0.0625, "variant": "II"}
    row = next(line for line in printed(tuned, 100, ascii=False).splitlines() if line.startswith(" pa  "))
    assert "C=0.0625 variant=II" in row
    other = next(line for line in printed(tuned, 100, ascii=False).splitlines() if line.startswith(" pa C=0.01"))
    assert other.count("=") == 1


def test_a_bare_result_is_shown():
    bare = {"title": "", "setting": {}, "measure": "x", "algorithms": [{"label": "", "figures": {"x": [None, None]}}]}
    assert Outline(report.html(bare)).sections() == ["results"]
    assert printed(bare, 80, ascii=False)


def test_markup_in_a_label_is_a_label(spam):
    odd = copy.deepcopy(spam)
    odd["algorithms"][0]["label"] = "[red]arow[/red]"
    assert "[red]arow[/red]" in printed(odd, 100, ascii=False)


# Figures


def test_figures_of_a_result(spam, tmp_path):
    kinds = ["curves", "time", "updates", "regret", "confusion", "features", "drift"]
    paths = report.save_figures(spam | {"algorithms": spam["algorithms"][:2]}, tmp_path / "new", "svg")
    assert [path.name for path in paths] == [f"{kind}.svg" for kind in kinds]
    assert all("<svg" in path.read_text() for path in paths)
    axes = report.figure(spam, "curves").axes[0]
    assert {line.get_label() for line in axes.lines} == {entry["label"] for entry in spam["algorithms"]}
    for line, entry in zip(axes.lines, spam["algorithms"], strict=True):
        assert line.get_ydata() == pytest.approx(entry["curve"]["mean"])
    order = sorted(spam["algorithms"], key=lambda entry: -entry["curve"]["mean"][-1])
    assert [one.get_text() for one in axes.get_legend().get_texts()] == [entry["label"] for entry in order]
    assert len(report.figure(spam, "drift").axes[0].lines) == 4


def test_the_same_figure_is_the_same_file(tmp_path):
    first, second = (report.save_figures(results.loss_only(), tmp_path / name, "svg")[0] for name in "ab")
    assert first.read_bytes() == second.read_bytes()


def test_figures_as_png(tmp_path):
    paths = report.save_figures(results.loss_only(), tmp_path)
    assert [path.name for path in paths] == ["curves.png"] and paths[0].read_bytes().startswith(b"\x89PNG")


def test_figures_of_twenty_six_classes(letters):
    axes = report.figure(letters, "confusion").axes[0]
    counts = np.array(letters["winner"]["confusion"])
    assert np.asarray(axes.images[0].get_array()) == pytest.approx(counts / counts.sum(1, keepdims=True))
    assert len(report.figure(letters, "features").axes) == 12


def test_figures_leave_pyplot_alone(spam):
    code = (
        "import sys\nfrom tests.report import results\nfrom seriatim import report\n"
        "report.figure(results.loss_only(), 'curves')\nprint('matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_what_cannot_be_drawn_is_said(spam, monkeypatch):
    with pytest.raises(ParameterError, match="curves, time, updates"):
        report.figure(spam, "pie")
    with pytest.raises(DataError, match="regret"):
        report.figure(spam | {"regret": None}, "regret")
    with pytest.raises(ParameterError, match="png or svg"):
        report.save_figures(spam, "nowhere", "gif")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(SeriatimError, match=r"pip install 'seriatim\[report\]'"):
        report.figure(spam, "curves")


def test_odd_names_in_figures(spam):
    odd = copy.deepcopy(spam)
    odd["algorithms"][0]["label"], odd["algorithms"][1]["label"] = "$x^$", "_hidden"
    made = report.figure(odd, "curves")
    made.draw_without_rendering()
    assert len(made.axes[0].get_legend().get_texts()) == len(odd["algorithms"])


def test_without_a_command_the_page_tells_what_was_run():
    comparison = compare("spam", ["pa", AROW(r=2.0)], permutations=2)
    page = report.html(comparison)
    assert "<dt>algorithms</dt><dd>arow r=2.0, pa</dd><dt>permutations</dt><dd>2</dd>" in page
    comparison.command = "seriatim compare spam"
    assert "<dt>algorithms</dt>" not in report.html(comparison)
