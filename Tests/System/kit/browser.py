"""A headless Chromium, driven with the DevTools protocol over two pipes; standard library only."""

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


class Failed(Exception):
    """A condition that didn't hold; the text is the reason."""


class Browser:
    """One page of one Chromium. Collects console messages and the address of each request."""

    def __init__(self, width=1440, height=900, arguments=()):
        executable = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        if not executable:
            raise SystemExit("chromium is missing: scripts/install.sh page installs it")
        self.folder = tempfile.TemporaryDirectory(prefix="squall-page-", ignore_cleanup_errors=True)
        to_chromium, self.output = os.pipe()
        self.input, from_chromium = os.pipe()
        # Chromium reads descriptor 3 and writes descriptor 4; bash moves the pipes there, others can only from below 10.
        command = [
            "bash", "-c", f'exec 3<&{to_chromium} 4>&{from_chromium}; exec "$0" "$@"', executable,
            "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--disable-dev-shm-usage", f"--user-data-dir={self.folder.name}", f"--window-size={width},{height}",
            *arguments, "about:blank",
        ]
        self.process = subprocess.Popen(command, pass_fds=(to_chromium, from_chromium), stderr=subprocess.DEVNULL)
        os.close(to_chromium)
        os.close(from_chromium)
        self.pending, self.answers, self.number = b"", {}, 0
        self.errors, self.requests, self.session = [], [], None
        pages = self.call("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in pages if target["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Runtime", "Log", "Network", "Page"):
            self.call(domain + ".enable")
        self.resize(width, height)

    def close(self):
        # Asked to, Chromium ends all its processes; after a kill some of them still write into the folder.
        with contextlib.suppress(OSError):
            os.write(self.output, json.dumps({"id": 0, "method": "Browser.close"}).encode() + b"\0")
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.output)
        os.close(self.input)
        self.folder.cleanup()

    # Protocol

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + 60
        while self.number not in self.answers:
            self.read(deadline, method)
        answer = self.answers.pop(self.number)
        if "error" in answer:
            raise Failed(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def read(self, deadline, purpose):
        if not select.select([self.input], [], [], max(0, deadline - time.monotonic()))[0]:
            raise Failed(f"Chromium gives no answer to {purpose}")
        data = os.read(self.input, 1 << 20)
        if not data:
            raise Failed("Chromium has ended")
        *messages, self.pending = (self.pending + data).split(b"\0")
        for message in map(json.loads, messages):
            if "id" in message:
                self.answers[message["id"]] = message
            else:
                self.heard(message["method"], message["params"])

    def heard(self, method, parameters):
        if method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "assert", "warning"):
            self.errors.append(" ".join(str(a.get("value", a.get("description"))) for a in parameters["args"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            entry = parameters["entry"]
            self.errors.append(f"{entry['text']} {entry.get('url', '')}".strip())
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])

    # Page

    def open(self, address):
        self.call("Page.navigate", url=address)
        self.until("document.readyState === 'complete'", "the page is loaded")

    def resize(self, width, height, scale=1, mobile=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale,
                  mobile=mobile)

    def emulate(self, **features):
        """Media features: prefers_color_scheme="dark", for instance."""
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": k.replace("_", "-"), "value": v} for k, v in features.items()])

    def evaluate(self, expression):
        """The value of an expression, awaited if it's a promise."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise Failed(details.get("exception", {}).get("description") or details["text"])
        return answer["result"].get("value")

    def until(self, expression, claim, seconds=20):
        """Waits until an expression, or the promise that it gives, is true."""
        deadline = time.monotonic() + seconds
        while True:
            value = self.evaluate(
                "(async () => { const until = performance.now() + 1000; for (;;) {"
                f" if (await ({expression})) return true; if (performance.now() > until) return false;"
                " await new Promise(next => setTimeout(next, 20)); } })()")
            if value:
                return
            if time.monotonic() > deadline:
                raise Failed(f"not within {seconds} s: {claim}")

    def click(self, selector):
        """A click of the mouse in the middle of an element, once that is visible and has stayed there for 5 frames."""
        place = self.evaluate(
            "(async () => { let e, x, y, still = 0, hit = false; const until = performance.now() + 5000;"
            " while (still < 5 && performance.now() < until) {"
            " await new Promise(requestAnimationFrame); const before = [e, x, y];"
            " e = document.querySelector(%s); if (!e) continue; if (!still) e.scrollIntoView({ block: 'center' });"
            " const r = e.getBoundingClientRect(); x = r.x + r.width / 2; y = r.y + r.height / 2;"
            " const top = document.elementFromPoint(x, y); hit = !!top && (e.contains(top) || top.contains(e));"
            " still = hit && before[0] === e && before[1] === x && before[2] === y ? still + 1 : 0; }"
            " return e && { x, y, hit }; })()" % json.dumps(selector))
        if not place or not place["hit"]:
            raise Failed(f"{selector} is {'covered' if place else 'missing'}")
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=place["x"], y=place["y"], button="left",
                      clickCount=1)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def press(self, key, code=None):
        text = {"text": key} if len(key) == 1 else {}
        codes = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowRight": 39, "ArrowLeft": 37, "Home": 36, "End": 35}
        number = codes.get(key, ord(key.upper()) if len(key) == 1 else 0)
        if key == "Enter":
            text = {"text": "\r"}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=number, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=number)

    def offline(self, on):
        self.call("Network.emulateNetworkConditions", offline=on, latency=0, downloadThroughput=-1,
                  uploadThroughput=-1)

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
