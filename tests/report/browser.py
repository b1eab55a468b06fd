"""A real browser without a window, spoken to by the pipe of its own debugging protocol."""

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE = 60  # seconds for an answer; only a browser that hangs takes so long


class Browser:
    def __init__(self):
        program = next(filter(None, map(shutil.which, NAMES)), None)
        if program is None:
            pytest.skip("no Chromium is installed: the page cannot be looked at")
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        (theirs, self.commands), (self.answers, back) = os.pipe(), os.pipe()
        flags = "--headless=new --no-sandbox --disable-gpu --no-first-run --remote-debugging-pipe"
        # The browser reads commands from file 3 and writes answers to file 4.
        script = f'exec "$0" {flags} --user-data-dir="$1" 3<&{theirs} 4>&{back}'
        self.process = subprocess.Popen(
            ["bash", "-c", script, program, self.folder.name],
            pass_fds=(theirs, back),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs)
        os.close(back)
        self.numbers, self.held, self.problems = itertools.count(1), b"", []

    def close(self):
        self.call("Browser.close")
        self.process.wait(PATIENCE)
        os.close(self.commands)
        os.close(self.answers)
        self.folder.cleanup()

    def call(self, method, session=None, **parameters):
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": parameters}
        os.write(self.commands, json.dumps(message | ({"sessionId": session} if session else {})).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]
            if answer.get("method") == "Runtime.exceptionThrown":
                self.problems.append(answer["params"]["exceptionDetails"]["text"])
            if answer.get("method") == "Log.entryAdded" and answer["params"]["entry"]["level"] == "error":
                self.problems.append(answer["params"]["entry"]["text"])

    def message(self):
        while b"\0" not in self.held:
            ready, _, _ = select.select([self.answers], [], [], PATIENCE)
            assert ready, "the browser does not answer"
            more = os.read(self.answers, 1 << 20)
            assert more, "the browser has gone"
            self.held += more
        text, _, self.held = self.held.partition(b"\0")
        return json.loads(text)

    def open(self, path, width=1400, height=900, dark=False):
        return Page(self, path, width, height, dark)


class Page:
    def __init__(self, browser, path, width, height, dark):
        self.browser = browser
        browser.problems.clear()
        self.target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Runtime", "Log", "Page"):
            self.call(f"{domain}.enable")
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=path.as_uri())
        self.evaluate(
            "new Promise(done => document.readyState === 'complete' ? done() : addEventListener('load', done))"
        )
        self.settle()

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def evaluate(self, code):
        """The value of an expression, waited for if it is a promise."""
        answer = self.call("Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def settle(self):
        """Two frames: what was to be drawn has been."""
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def count(self, selector):
        return self.evaluate(f"document.querySelectorAll({json.dumps(selector)}).length")

    def texts(self, selector):
        return self.evaluate(f"[...document.querySelectorAll({json.dumps(selector)})].map(node => node.textContent)")

    def box(self, selector):
        """Left, top, width and height in the window, scrolled to."""
        code = f"document.querySelector({json.dumps(selector)})"
        self.evaluate(f"{code}.scrollIntoView({{block: 'center'}})")
        return self.evaluate(f"(b => [b.left, b.top, b.width, b.height])({code}.getBoundingClientRect())")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, selector):
        left, top, width, height = self.box(selector)
        self.press(left + width / 2, top + height / 2)

    def press(self, x, y, count=1):
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=count)

    def drag(self, start, end):
        self.mouse("mousePressed", *start, button="left", clickCount=1)
        for step in range(1, 6):
            place = [a + (b - a) * step / 5 for a, b in zip(start, end, strict=True)]
            self.mouse("mouseMoved", *place, button="left")
        self.mouse("mouseReleased", *end, button="left", clickCount=1)

    def key(self, name):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name)

    def picture(self):
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)
