#!/usr/bin/env python3
"""Opens the reports of a chaos stage in a headless Chromium: light and dark, narrow and wide.

    python3 Tests/System/page/reports.py FOLDER                         FOLDER has the samples that ReportSamples writes
    python3 Tests/System/page/reports.py FOLDER --pictures docs/images  writes the pictures of the documentation, from runs
    python3 Tests/System/page/reports.py FOLDER --screenshots OTHER     also writes a picture of each report to OTHER

With the environment variable SQUALL it also opens the reports of two stages that this command runs.
Exit code 1, with the reasons, if a claim doesn't hold.
"""
import argparse, os, pathlib, shutil, subprocess, sys, xml.etree.ElementTree

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit.browser import Browser, Failed
from kit.server import served

SCHEMES = ("light", "dark")
WIDTHS = (360, 1280)

# What is asked in the page. Each gives the places where a claim doesn't hold.
SHARED = """
const box = e => e.getBoundingClientRect();
const seen = e => e.checkVisibility() && box(e).width > 0;
const all = (selector, root = document) => [...root.querySelectorAll(selector)].filter(seen);
const channels = text => (text.match(/[\\d.]+/g) ?? []).map(Number);
const blend = ([r, g, b, a = 1], under) => [r, g, b].map((c, i) => c * a + under[i] * (1 - a));
const light = c => { const [r, g, b] = c.map(v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
  return .2126 * r + .7152 * g + .0722 * b; };
const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + .05) / (y + .05); };
const ground = e => { const layers = [];
  for (; e; e = e.parentElement) layers.unshift(channels(getComputedStyle(e).backgroundColor));
  return layers.reduce((under, layer) => layer.length ? blend(layer, under) : under, [255, 255, 255]); };
"""

OVERFLOW = """
const wide = document.documentElement.scrollWidth - innerWidth;
return wide > 0 ? [`the page is ${wide} px wider than the window`] : [];
"""

NAMES = """
const wrong = [];
for (const picture of all('svg:has(.lane)')) {
  const lanes = all(':scope > .lane', picture).map(box), names = all(':scope > .name', picture);
  for (const name of names) {
    const b = box(name);
    const holds = l => b.left >= l.left - .5 && b.right <= l.right + .5
      && b.top >= l.top - 3 && b.bottom <= l.bottom + 3;
    if (!lanes.some(holds))
      wrong.push(`“${name.textContent}” doesn't fit into its phase`);
  }
  for (const a of names) for (const b of names) if (a !== b) {
    const [p, q] = [box(a), box(b)];
    if (p.left < q.right && q.left < p.right && p.top < q.bottom - 3 && q.top < p.bottom - 3)
      wrong.push(`“${a.textContent}” and “${b.textContent}” overlap`);
  }
}
return wrong;
"""

LABELS = """
const wrong = [];
for (const picture of all('svg:has(> .end)')) {
  const labels = all(':scope > .end', picture);
  for (const label of labels) {
    // A standalone picture has room on the left of this part.
    const limit = picture.closest('.chart') ? box(picture).left - .5 : 0;
    if (box(label).left < limit) wrong.push(`“${label.textContent}” is clipped on the left`);
  }
  const rows = labels.map(l => [box(l), l]).sort((a, b) => a[0].top - b[0].top);
  for (let i = 1; i < rows.length; i++) {
    const [[p, a], [q, b]] = [rows[i - 1], rows[i]];
    if (q.top < p.bottom - 5) wrong.push(`“${a.textContent}” and “${b.textContent}” overlap`);
  }
}
for (const picture of all('svg:has(> .faint.middle)')) {
  const times = all(':scope > .faint.middle', picture);
  for (let i = 1; i < times.length; i++)
    if (Math.abs(box(times[i]).top - box(times[i - 1]).top) < 2 && box(times[i]).left < box(times[i - 1]).right + 3)
      wrong.push(`the times “${times[i - 1].textContent}” and “${times[i].textContent}” overlap`);
  const last = times.at(-1);
  if (last && box(last).right > innerWidth) wrong.push(`“${last.textContent}” leaves the window`);
}
return wrong;
"""

CONTRAST = """
const wrong = new Set();
for (const e of all('body *')) {
  if (e.closest('svg') || ![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
  const ratio = contrast(channels(getComputedStyle(e).color).slice(0, 3), ground(e));
  if (ratio < 4.5) wrong.add(`${e.tagName}.${e.className}: ${ratio.toFixed(2)}`);
}
for (const picture of all('svg:has(> .lane), svg:has(> .end)')) {
  const under = ground(picture), lanes = all(':scope > .lane', picture);
  for (const text of all(':scope > text', picture)) {
    const b = box(text), style = getComputedStyle(text);
    const holds = l => l.left <= b.left + 1 && l.right >= b.right - 1 && l.top <= b.top + 3 && l.bottom >= b.bottom - 3;
    const lane = lanes.find(l => holds(box(l)));
    let base = under;
    if (lane) {
      const s = getComputedStyle(lane);
      base = blend([...channels(s.fill).slice(0, 3), Number(s.fillOpacity)], under);
    }
    const ratio = contrast(channels(style.fill).slice(0, 3), base);
    if (ratio < 4.5) wrong.add(`“${text.textContent}” in a picture: ${ratio.toFixed(2)}`);
  }
}
return [...wrong];
"""

SIGNS = """
const wrong = [];
for (const sign of all('g > svg > use')) {
  const place = sign.parentElement, 
    plot = box(place.parentElement.closest('svg').querySelector('line[x2="100%"]'));
  const b = box(sign), middle = (b.left + b.right) / 2;
  const expected = plot.left + plot.width * parseFloat(place.getAttribute('x')) / 100;
  if (Math.abs(middle - expected) > 1) wrong.push(`a sign is at ${middle} instead of ${expected}`);
}
return wrong;
"""

INSIDE = """
const wrong = [], root = document.documentElement, size = box(root);
for (const text of all('text')) {
  const b = box(text);
  if (b.left < size.left || b.right > size.right || b.bottom > size.bottom)
    wrong.push(`“${text.textContent}” leaves the picture`);
}
return wrong;
"""


# Loads as often as its second argument says, and fails if no attempt gets everything.
CLIENT = """
import socket, sys
host, port = sys.argv[1].rsplit(":", 1)
for attempt in range(int(sys.argv[2])):
    size = 0
    try:
        with socket.create_connection((host, int(port))) as peer:
            while data := peer.recv(65536): size += len(data)
    except OSError as error:
        print("\\x1b[31mattempt", attempt + 1, "fails:", error, "\\x1b[0m", flush=True)
    if size == 1_000_000: sys.exit(0)
sys.exit(1)
"""


class Review:
    def __init__(self, browser, folder, screenshots):
        self.browser, self.folder, self.screenshots = browser, folder, screenshots
        self.held, self.failures = 0, []

    def claim(self, holds, text):
        if holds:
            self.held += 1
        else:
            self.failures.append(text)

    def places(self, question, claim):
        wrong = self.browser.evaluate("(() => {%s%s})()" % (SHARED, question))
        self.claim(not wrong, f"{claim}: {'; '.join(wrong[:5])}{' …' if len(wrong) > 5 else ''}")

    def open(self, name):
        path = os.path.join(self.folder, name)
        self.browser.errors.clear()
        self.browser.requests.clear()
        self.browser.open(pathlib.Path(path).resolve().as_uri())

    def picture(self, path, whole=False):
        """A screenshot of the window, or of the whole page up to 4,000 pixels."""
        browser = self.browser
        browser.call("Emulation.setScrollbarsHidden", hidden=True)
        browser.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        if whole:
            width = browser.evaluate("innerWidth")
            height = browser.evaluate("document.documentElement.scrollHeight")
            browser.resize(width, min(4000, max(height, 200)), scale=2 if width < 600 else 1)
            browser.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        browser.screenshot(path)

    def page(self, name):
        for scheme in SCHEMES:
            for width in WIDTHS:
                where = f"{name}, {scheme}, {width} px"
                self.browser.resize(width, 900)
                self.browser.emulate(prefers_color_scheme=scheme)
                self.open(name)
                self.places(OVERFLOW, where)
                self.places(NAMES, where)
                self.places(LABELS, where)
                self.places(SIGNS, where)
                self.places(CONTRAST, f"{where}: the contrast is below 4.5")
                self.claim(not self.browser.errors, f"{where}: the console has {self.browser.errors}")
                others = [url for url in self.browser.requests if not url.startswith(("file:", "data:"))]
                self.claim(not others and len(self.browser.requests) <= 2,
                           f"{where}: requests to {self.browser.requests}")
                if self.screenshots:
                    self.picture(os.path.join(self.screenshots, f"{name}-{scheme}-{width}.png"), whole=True)

    def details(self, name):
        """The output is shown by a click and by the keyboard, without a script."""
        self.browser.resize(1280, 900)
        self.open(name)
        self.browser.click("details summary")
        self.browser.until("document.querySelector('details').open", "a click opens the output")
        self.browser.evaluate("document.querySelector('details summary').focus()")
        self.browser.press("Enter")
        self.browser.until("!document.querySelector('details').open", "the Enter key closes it")
        self.held += 2

    def printed(self, name):
        """Paper is white, whatever the reader prefers on the screen."""
        self.browser.call("Emulation.setEmulatedMedia", media="print",
                          features=[{"name": "prefers-color-scheme", "value": "dark"}])
        self.open(name)
        color = self.browser.evaluate("getComputedStyle(document.querySelector('.card')).backgroundColor")
        self.claim(color == "rgb(255, 255, 255)", f"{name}: a section is printed on {color}")
        self.browser.call("Emulation.setEmulatedMedia", media="", features=[])

    def svg(self, name):
        for scheme in SCHEMES:
            self.browser.resize(960, 600)
            self.browser.emulate(prefers_color_scheme=scheme)
            self.open(name)
            where = f"{name}, {scheme}"
            for question in (NAMES, LABELS, SIGNS, INSIDE):
                self.places(question, where)
            paper = self.browser.evaluate("getComputedStyle(document.querySelector('.paper')).fill")
            self.claim(paper == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(22, 30, 38)"), f"{where}: {paper}")
            self.claim(not self.browser.errors, f"{where}: the console has {self.browser.errors}")
            if self.screenshots:
                self.picture(os.path.join(self.screenshots, f"{name}-{scheme}.png"))

    def size(self, name, limit):
        size = os.path.getsize(os.path.join(self.folder, name))
        self.claim(size < limit, f"{name} has {size} bytes")
        print(f"{name}: {size} bytes")

    def stage(self, squall):
        """The reports of a stage: with three attempts the command survives, with one it doesn't."""
        with served(lambda peer: peer.sendall(bytes(1_000_000))) as port:
            upstream = f"127.0.0.1:{port}"
            for attempts, verdict in ((3, "good"), (1, "bad")):
                names = [f"stage-{verdict}.{ending}" for ending in ("html", "xml", "svg")]
                reports = [os.path.join(self.folder, name) for name in names]
                command = [squall, "test", "--profile", "first-two-fail", "--upstream", upstream, "--seed", "1..2",
                           "--html", reports[0], "--junit", reports[1], "--svg", reports[2],
                           "--", sys.executable, "-c", CLIENT, "{proxy}", str(attempts)]
                ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
                failed = 0 if verdict == "good" else 2
                self.claim((ended.returncode != 0) == (failed > 0),
                           f"the stage ends with {ended.returncode}: {ended.stdout}{ended.stderr}")
                suite = xml.etree.ElementTree.parse(reports[1]).getroot().find("testsuite")
                self.claim(suite.get("failures") == str(failed), f"{names[1]}: {suite.get('failures')} failures")
                self.page(names[0])
                verdicts = self.browser.evaluate(f"document.querySelectorAll('.verdict.{verdict}').length")
                self.claim(verdicts == 1, f"{names[0]}: the verdict isn't {verdict}")
                marks = self.browser.evaluate("document.querySelectorAll('#run-1 .fault > g').length")
                self.claim(marks > 0, f"{names[0]}: the faults have marks")
                self.claim("\\u{1b}[31mattempt 1 fails" in self.browser.evaluate("document.body.textContent"),
                           f"{names[0]}: a control sequence of the output is shown as text")
                self.svg(names[2])

    def junit(self, name):
        root = xml.etree.ElementTree.parse(os.path.join(self.folder, name)).getroot()
        suite = root.find("testsuite")
        failed = [case for case in suite.iter("testcase") if case.find("failure") is not None]
        self.claim(int(suite.get("failures")) == len(failed) > 0, f"{name}: the suite counts its failures")

    def run(self, squall):
        for name in ("matrix.html", "passed.html", "hour.html", "hostile.html", "many.html", "empty.html"):
            self.page(name)
        self.browser.emulate()
        self.details("matrix.html")
        self.printed("matrix.html")
        for name in ("walk.svg", "services.svg", "hour.svg", "hostile.svg"):
            self.svg(name)
        self.browser.emulate()
        for name in ("matrix.xml", "hostile.xml"):
            self.junit(name)
        self.size("hour.html", 500_000)
        self.size("many.html", 2_000_000)
        self.size("hour.svg", 500_000)
        if squall:
            self.stage(squall)
            self.browser.emulate()

    def pictures(self, folder, squall):
        """The pictures of the documentation: downloads through wifi-walkaway, as a stage has run them."""
        served = os.path.join(self.folder, "served")
        os.makedirs(served, exist_ok=True)
        with open(os.path.join(served, "file.bin"), "wb") as file:
            file.write(os.urandom(48 << 20))
        os.symlink(os.path.abspath(squall), os.path.join(self.folder, "squall"))
        environment = {**os.environ, "PATH": self.folder + os.pathsep + os.environ["PATH"],
                       "SQUALL_PROFILES": os.path.join(os.path.dirname(__file__), "../../../Profiles")}
        command = ["squall", "test", "--profile", "wifi-walkaway", "--seed", "1..3", "--expect", "resumptions >= 1",
                   "--html", "report.html", "--svg", "run.svg", "--", "squall", "get", "http://{app}/file.bin",
                   "--output", "{folder}/file.bin"]
        with subprocess.Popen([squall, "origin", served], stdout=subprocess.PIPE, text=True) as origin:
            upstream = origin.stdout.readline().split("//")[1].split("/")[0].split()[0]
            command[2:2] = ["--upstream", f"app={upstream}"]
            ended = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=600)
            origin.terminate()
        print(ended.stdout + ended.stderr)
        self.browser.call("Emulation.setScrollbarsHidden", hidden=True)
        for scheme in SCHEMES:
            self.browser.resize(1280, 1000)
            self.browser.emulate(prefers_color_scheme=scheme)
            self.open("report.html")
            self.picture(os.path.join(folder, f"report-{scheme}.png"))
        shutil.copyfile(os.path.join(self.folder, "run.svg"), os.path.join(folder, "chaos-run.svg"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="FOLDER")
    parser.add_argument("--pictures", metavar="FOLDER")
    parser.add_argument("--screenshots", metavar="FOLDER")
    options = parser.parse_args()
    if options.screenshots:
        os.makedirs(options.screenshots, exist_ok=True)
    browser = Browser()
    review = Review(browser, options.folder, options.screenshots)
    try:
        if options.pictures:
            review.pictures(options.pictures, os.environ["SQUALL"])
        else:
            review.run(os.environ.get("SQUALL"))
    except Failed as failure:
        review.failures.append(str(failure))
    finally:
        browser.close()
    for failure in review.failures:
        print(f"reports.py: {failure}", file=sys.stderr)
    print(f"{review.held} claims hold, {len(review.failures)} don't")
    return 1 if review.failures else 0


if __name__ == "__main__":
    sys.exit(main())
