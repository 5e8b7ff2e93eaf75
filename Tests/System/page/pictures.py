#!/usr/bin/env python3
"""Compares the pictures of `squall plan` with runs of the same seed, and opens them in a headless Chromium.

    make pictures                                              about 4 minutes
    python3 Tests/System/page/pictures.py --screenshots FOLDER        also writes a picture of each plan and its run to FOLDER
    python3 Tests/System/page/pictures.py --profiles elevator --runs 1

A source that is as fast as the machine sends a file through `squall run` to a client, which notes when each byte comes.
The client asks for the rest after a lost connection, as long after it as the client of the plan does: when to try again
is a client's business, and no property of the network.

A curve holds if the run is within 10 % of it in 98 % of the columns (100 ms of the JSON and the SVG, a character of the text;
the last, which is shorter, left out), over each second of whole columns, and in sum at each edge of a column; and if the area
between both is at most 10 % of that below the curve. The run may be early or late by 50 ms, half of what the curve resolves: starting programs and waking them takes
time of which a plan knows nothing, and at the edge of a phase a few milliseconds are more than 10 % of an interval. Below 1 %
of the highest rate nothing is compared, and neither are 64 KiB, which is one read, in sums. The same is asked of the curve of
the JSON, of the line of the SVG, and of the blocks of the text, whose level is off by half of an eighth. The area is that of
the JSON's curve, with the run moved as a whole by up to 10 ms.

A delay holds if its trimmed mean of three seconds is within 10 % of the measured one, or within 5 ms and what sleeps of this
machine are late (their median). It is measured from when
the proxy took a byte (what the source has written, less what waits in the sockets in front of the proxy) to its arrival.

Labels hold if they are round, tell the value of their tick, stand in the text and in the SVG alike, cover the measured
rates, and if the predicted time and rate are within 10 % of the measured ones.

On a machine that is busy with something else a run may miss. A profile holds if one of three runs does; each is printed.
Runs of which the proxy says that the machine was too busy don't count, unless they hold.
Exit code 1, with the reasons, if a claim doesn't hold.
"""
import argparse, bisect, contextlib, fcntl, json, os, pathlib, re, select, socket, statistics, struct, subprocess, sys, tempfile
import threading, time, xml.etree.ElementTree

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit import programs
from kit.browser import Browser, Failed
from kit.programs import SQUALL
from kit.server import served
from reports import INSIDE, SHARED

ROOT = pathlib.Path(programs.ROOT)
SEED, HEAD, REQUEST = 7, 320, 160
SIZES = {"busy-cell": 12, "cell-edge": 10, "bufferbloat": 20, "elevator": 24, "wifi-roam": 56}
SHIFT, TOLERANCE, READ, START, COLUMNS = 0.05, 0.10, 65536, 0.010, 0.98
SIOCOUTQ = 0x5411

OVERLAP = """
const wrong = [], texts = all('text');
for (let i = 0; i < texts.length; i++) for (let j = i + 1; j < texts.length; j++) {
  const [p, q] = [box(texts[i]), box(texts[j])];
  if (p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 3 && q.top < p.bottom - 3)
    wrong.push(`“${texts[i].textContent}” and “${texts[j].textContent}” overlap`);
}
return wrong;
"""

CONTRAST = """
const paper = channels(getComputedStyle(document.querySelector('.paper')).fill).slice(0, 3);
return all('text').filter(e => contrast(channels(getComputedStyle(e).fill).slice(0, 3), paper) < 4.5)
  .map(e => e.textContent);
"""


class Curve:
    """A sum that grows over time: points of seconds and bytes, straight lines between them."""

    def __init__(self, points):
        self.times, self.sums = zip(*points)

    @classmethod
    def of_columns(cls, columns):
        points, total = [(0.0, 0.0)], 0.0
        for begin, end, rate in columns:
            total += rate / 8 * (end - begin)
            points.append((end, total))
        return cls(points)

    def at(self, moment):
        index = bisect.bisect_right(self.times, moment)
        if index == 0:
            return self.sums[0]
        if index == len(self.times):
            return self.sums[-1]
        (t, u), (a, b) = self.times[index - 1:index + 1], self.sums[index - 1:index + 1]
        return a + (b - a) * (moment - t) / (u - t)

    def rate(self, begin, end):
        return (self.at(end) - self.at(begin)) * 8 / (end - begin)


class Arrivals:
    """A sum that grows at once whenever bytes come."""

    def __init__(self, points):
        self.times, self.sums = zip(*points)

    def at(self, moment):
        return self.sums[max(0, bisect.bisect_right(self.times, moment) - 1)]

    def rate(self, begin, end):
        return (self.at(end) - self.at(begin)) * 8 / (end - begin)


class Source(contextlib.ExitStack):
    """Sends what clients ask for, and notes how much of it the proxy has taken."""

    def __init__(self, size):
        super().__init__()
        self.size, self.taken, self.open, self.lateness = size, [], True, []
        self.port = self.enter_context(served(self.send))

    def send(self, peer):
        counter = [0, []]
        self.taken.append(counter[1])
        threading.Thread(target=self.watch, args=(peer, peer.getpeername()[1], counter), daemon=True).start()
        block = memoryview(bytes(1 << 18))
        with contextlib.suppress(ValueError, IndexError):
            request = peer.recv(REQUEST, socket.MSG_WAITALL)
            left = HEAD + self.size - int(request.split()[0])
            # Without waiting in send, which would count what has been written before it returns only then.
            peer.setblocking(False)
            while left > 0:
                select.select([], [peer], [])
                sent = peer.send(block[:min(left, len(block))])
                counter[0] += sent
                left -= sent
            peer.setblocking(True)
            peer.recv(1)

    def watch(self, peer, port, counter):
        """Notes each 5 ms what the proxy has read from its socket, whose local port is `port`."""
        own = f":{port:04X} "
        try:
            while self.open:
                sent = counter[0]
                unsent = struct.unpack("i", fcntl.ioctl(peer.fileno(), SIOCOUTQ, bytes(4)))[0]
                now = time.monotonic()
                with open("/proc/net/tcp") as table:
                    line = next((line for line in table if own in line[:24]), None)
                if line is None:
                    return
                counter[1].append((now, sent - unsent - int(line.split()[4].split(":")[1], 16)))
                before = time.monotonic()
                time.sleep(0.005)
                self.lateness.append(time.monotonic() - before - 0.005)
        except (OSError, ValueError):
            pass

    def close(self):
        self.open = False
        super().close()


class Run:
    """A run of a profile: what arrived when, in seconds since the start of the proxy's clock."""

    def __init__(self, profile, size, plan):
        source = Source(size)
        proxy = subprocess.Popen(
            [SQUALL, "run", profile, "--listen", "127.0.0.1:0", "--upstream", f"127.0.0.1:{source.port}", "--seed",
             str(SEED)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            line = proxy.stdout.readline()
            self.start = time.monotonic()
            port = int(re.search(r"127\.0\.0\.1:(\d+)", line).group(1))
            self.points, self.delays, self.connections = [(0.0, 0)], [], 0
            self.receive(port, size, plan["connections"], source, 3 * plan["seconds"] + 10)
        finally:
            source.close()
            proxy.terminate()
            # What the proxy says of a machine that was too busy for the times of the profile.
            self.is_late = "too busy" in proxy.communicate()[1]
        self.lateness = statistics.median(source.lateness or [0]) * 1000
        self.curve = Arrivals(self.points)
        self.seconds = self.points[-1][0]

    def receive(self, port, size, planned, source, limit):
        held, room, deadline = 0, bytearray(READ), self.start + limit
        while held < size and time.monotonic() < deadline:
            if self.connections:
                lost, after = planned[self.connections - 1]["end"], planned[self.connections]["begin"]
                time.sleep(max(0, after - lost))
            self.connections += 1
            received, came = 0, []
            try:
                with socket.create_connection(("127.0.0.1", port), timeout=20) as peer:
                    peer.sendall(str(held).encode().ljust(REQUEST))
                    while held < size and (count := peer.recv_into(room)):
                        now = time.monotonic()
                        held += max(0, received + count - HEAD) - max(0, received - HEAD)
                        received += count
                        came.append((now, received))
                        self.points.append((now - self.start, held))
            except OSError:
                pass
            taken = [pair for pair in source.taken[self.connections - 1] if pair[1] > 0] \
                if len(source.taken) >= self.connections else []
            self.note(came, taken)
        if held < size:
            raise Failed(f"the run has {held} of {size} bytes after {limit:.0f} s")

    def note(self, came, taken):
        """The delay of what arrived: since the proxy had read as much."""
        index = 0
        for now, count in came:
            while index < len(taken) and taken[index][1] < count:
                index += 1
            if index == len(taken) or index == 0:
                continue
            # It was read at some time between two looks at the socket.
            read = (taken[index - 1][0] + taken[index][0]) / 2
            self.delays.append((now - self.start, max(0.0, now - read) * 1000))


def squall(*arguments):
    out = subprocess.run([SQUALL, "plan", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if out.returncode:
        raise Failed(f"squall plan {' '.join(arguments)} ends with {out.returncode}: {out.stderr}")
    return out.stdout


def text_columns(text, plan):
    """The rates that the blocks of a text stand for."""
    lines = text.split("\n")
    first = next(index for index, line in enumerate(lines) if "┤" in line)
    last = next(index for index, line in enumerate(lines) if "┼" in line)
    edge, rows = lines[last].index("┼"), last - first
    count = len(lines[last]) - edge - 1
    top = plan["rateTicks"][-1]["value"]
    columns = []
    for index in range(count):
        eighths = sum(max(0, " ▁▂▃▄▅▆▇█".find(line[edge + 1 + index:edge + 2 + index] or " "))
                      for line in lines[first:last])
        columns.append((plan["seconds"] * index / count, plan["seconds"] * (index + 1) / count,
                        eighths / (rows * 8) * top))
    return columns, top / (rows * 16)


def svg_columns(drawing, plan):
    """The rates of the line of a drawing, whose scale is read off its labels."""
    root = xml.etree.ElementTree.fromstring(drawing)
    space = "{http://www.w3.org/2000/svg}"
    labels = {}
    for text in root.iter(space + "text"):
        labels.setdefault(text.text, []).append((float(text.get("x")), float(text.get("y")) - 4))
    path = next(p for p in root.iter(space + "path") if p.get("class") == "arrives" and p.find(space + "title") is not None)
    top = plan["rateTicks"][-1]
    high, low = labels[top["label"]][0][1], min(y for x, y in labels["0"] if x < 92)
    ticks = plan["timeTicks"]
    left, right = labels["0"][0][0], labels[ticks[-1]["label"]][0][0]
    left = next(x for x, y in labels["0"] if x > 90)
    scale = ticks[-1]["value"] / (right - left)
    columns, x, y = [], None, None
    for letter, numbers in re.findall(r"([MHV])([-\d. ]+)", path.get("d")):
        values = [float(number) for number in numbers.split()]
        if letter == "M":
            if x is not None and values[0] > x:
                columns.append(((x - left) * scale, (values[0] - left) * scale, 0.0))
            x, y = values
        elif letter == "V":
            y = values[0]
        else:
            columns.append(((x - left) * scale, (values[0] - left) * scale, (low - y) / (low - high) * top["value"]))
            x = values[0]
    return columns


def deviations(name, columns, run, slack=0.0):
    """Where a run isn't as its columns, and how far the median second is from it.

    A drawing tells the mean of each column, so a second begins and ends with one."""
    curve = Curve.of_columns(columns)
    edges = curve.times
    wide = next((n for n in range(1, len(edges)) if edges[n] >= 0.999), len(edges) - 1)
    highest = max(run.curve.rate(a, b) for a, b in zip(edges, edges[wide:]))
    shifts = [SHIFT * number / 10 for number in range(-10, 11)]
    floor = 0.01 * highest + slack

    def compared(ends):
        """The planned and the measured rate of each pair of edges, and what isn't within 10 %."""
        pairs, wrong = [], []
        for begin, end in ends:
            planned = curve.rate(begin, end)
            measured = [run.curve.rate(begin + shift, end + shift) for shift in shifts]
            pairs.append((planned, measured[10]))
            if not (min(measured) <= planned * (1 + TOLERANCE) + floor
                    and max(measured) >= planned * (1 - TOLERANCE) - floor):
                wrong.append(f"{begin:.1f} to {end:.1f} s: {measured[10] / 1e6:.2f} Mbit/s instead of {planned / 1e6:.2f}")
        return pairs, wrong

    pairs, missed = compared(zip(edges, edges[wide:]))
    found = [abs(measured - planned) / planned for planned, measured in pairs if planned > floor]
    single, wrong = compared(zip(edges, edges[1:-1]))
    if len(wrong) > (1 - COLUMNS) * len(single):
        missed += wrong
    for moment in edges:
        planned, measured = curve.at(moment), [run.curve.at(moment + shift) for shift in shifts]
        least = READ + slack / 8 * moment
        if not (min(measured) <= planned * (1 + TOLERANCE) + least
                and max(measured) >= planned * (1 - TOLERANCE) - least):
            missed.append(f"at {moment:.1f} s {measured[10] / 1e6:.3f} MB instead of {planned / 1e6:.3f}")
    found.sort()
    figures = (f"{name}: {(1 - len(wrong) / len(single)) * 100:.1f} % of the columns, seconds: median "
               f"{found[len(found) // 2] * 100:.1f} %, 90 % within {found[len(found) * 9 // 10] * 100:.1f} %")
    area = min(difference(curve, run.curve, START * number / 5) for number in range(-5, 6))
    if not slack:
        figures += f", area {area * 100:.1f} %"
        if area > TOLERANCE:
            missed.append(f"the area between both is {area * 100:.1f} % of that below the curve")
    return [f"{name}: {miss}" for miss in missed], figures


def difference(curve, run, shift):
    """The area between the rates of the columns of a curve and of a run that is moved, as a part of that below the curve."""
    columns = [(curve.rate(begin, end), run.rate(begin + shift, end + shift), end - begin)
               for begin, end in zip(curve.times, curve.times[1:])]
    return sum(abs(planned - measured) * width for planned, measured, width in columns) \
        / max(1, sum(planned * width for planned, _, width in columns))


def delay_deviations(plan, run):
    """The same of the delays, by the trimmed means of three seconds.

    Single draws of a jitter differ, so one interval says little. A tenth is trimmed at both ends, since a few bytes that
    an outage held don't stand for their interval; a median would be as far off as the delay changes in an interval."""

    def center(values):
        values = sorted(values)
        cut = len(values) // 10
        return statistics.mean(values[cut:len(values) - cut])

    measured = {}
    for moment, delay in run.delays:
        measured.setdefault(int(moment * 10), []).append(delay)
    planned = {round(p["begin"] * 10): p["delay"]["mean"] for p in plan["points"] if p.get("delay")}
    missed, found = [], []
    for begin in range(0, int(run.seconds * 10) - 30, 10):
        both = [tick for tick in range(begin, begin + 30) if tick in measured and tick in planned]
        if len(both) < 10:
            continue
        p = center(planned[tick] for tick in both)
        m = center(statistics.mean(measured[tick]) for tick in both)
        found.append(abs(p - m) / max(p, 1))
        if abs(p - m) > max(5 + run.lateness, TOLERANCE * p):
            missed.append(f"delay: from {begin / 10:.0f} s {m:.0f} ms instead of {p:.0f}")
    return missed, f"delay: median {statistics.median(found) * 100:.1f} %" if found else "delay: none"


def label_value(label):
    number, unit = label.split()
    return float(number) * {"bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "s": 1, "ms": 1e-3, "min": 60,
                            "µs": 1e-6}[unit]


def is_round(value):
    digits = f"{value:.6e}".split("e")[0].rstrip("0").rstrip(".")
    return digits in ("1", "2", "5")


def label_problems(plan, run, text, drawing):
    problems = []
    for key, factor in (("rateTicks", 1), ("delayTicks", 1e-3), ("timeTicks", 1)):
        ticks = [tick for tick in plan[key] if tick["value"]]
        for tick in ticks:
            if abs(label_value(tick["label"]) - tick["value"] * factor) > 1e-9 * tick["value"]:
                problems.append(f"“{tick['label']}” is at {tick['value'] * factor}")
            if f">{tick['label']}</text>" not in drawing:
                # Where delays have no room in the SVG, every second label is left out.
                if key != "delayTicks":
                    problems.append(f"“{tick['label']}” isn't in the SVG")
            if tick["label"] not in text:
                problems.append(f"“{tick['label']}” isn't in the text")
        if ticks and not is_round(ticks[0]["value"]) and key != "timeTicks":
            problems.append(f"{key} count by {ticks[0]['value']}")
    highest = max(run.curve.rate(t / 10, t / 10 + 1) for t in range(int(run.seconds * 10)))
    if highest > plan["rateTicks"][-1]["value"] * (1 + TOLERANCE):
        problems.append(f"the axis ends below the measured {highest / 1e6:.2f} Mbit/s")
    for item in plan["legend"]:
        if f">{item}</text>" not in drawing:
            problems.append(f"“{item}” isn't in the legend of the SVG")
        if item != "added delay" and f" {item}" not in text:
            problems.append(f"“{item}” isn't in the legend of the text")
    found = re.fullmatch(r"complete after ([\d.]+ m?s) \(([\d.]+ \w+/s)\)", plan["figures"]["predicted"][0])
    seconds, rate = label_value(found.group(1)), label_value(found.group(2))
    if abs(seconds - plan["predicted"]["seconds"]) > 0.051:
        problems.append(f"“{found.group(1)}” stands for {plan['predicted']['seconds']}")
    measured = run.curve.sums[-1] * 8 / run.seconds
    for label, planned, took in ((found.group(1), seconds, run.seconds), (found.group(2), rate, measured)):
        if abs(planned - took) > TOLERANCE * took:
            problems.append(f"“{label}” was {took:.3g} in the run")
    return problems


def beside(drawing, plan, run):
    """A page with the drawing, and the run over its chart of rates."""
    root = xml.etree.ElementTree.fromstring(drawing)
    space = "{http://www.w3.org/2000/svg}"
    label = plan["rateTicks"][-1]["label"]
    high = next(float(t.get("y")) - 4 for t in root.iter(space + "text") if t.text == label)
    low = next(float(t.get("y")) - 4 for t in root.iter(space + "text") if t.text == "0" and float(t.get("x")) < 92)
    top, steps = plan["rateTicks"][-1]["value"], []
    for tick in range(int(run.seconds * 10)):
        x = 92 + 844 * min(1, (tick + 0.5) / 10 / plan["seconds"])
        y = low - (low - high) * min(1.3, run.curve.rate(tick / 10, tick / 10 + 0.1) / top)
        steps.append(f"{x:.1f} {y:.1f}")
    line = f'<path d="M{"L".join(steps)}" fill="none" stroke="#e0007a" stroke-width="1.2"/>' \
           '<text x="640" y="32" style="fill: #e0007a">measured, each 100 ms</text>'
    return ('<!doctype html><meta charset="utf-8"><style>body { margin: 0 }</style>'
            + drawing.replace("</svg>", line + "</svg>"))


def review(browser, folder, name, drawing, page, screenshots):
    """Opens a drawing, light and dark."""
    problems = []
    browser.call("Emulation.setScrollbarsHidden", hidden=True)
    plain, both = os.path.join(folder, f"{name}.svg"), os.path.join(folder, f"{name}.html")
    for path, content in ((plain, drawing), (both, page)):
        pathlib.Path(path).write_text(content)
    height = int(float(re.search(r'height="([\d.]+)"', drawing).group(1))) + 1
    for scheme in ("light", "dark"):
        browser.resize(960, height)
        browser.emulate(prefers_color_scheme=scheme)
        browser.errors.clear()
        browser.open(pathlib.Path(plain).as_uri())
        for question in (INSIDE, OVERLAP, CONTRAST):
            problems += [f"{scheme}: {wrong}" for wrong in browser.evaluate("(() => {%s%s})()" % (SHARED, question))]
        problems += [f"{scheme}: the console has {error}" for error in browser.errors]
        if screenshots:
            browser.open(pathlib.Path(both).as_uri())
            browser.screenshot(os.path.join(screenshots, f"{name}-{scheme}.png"))
    return problems


def measure(name, folder, browser, options):
    """Whether the picture of a profile is true."""
    size = SIZES[name] << 20
    usual = [name, "--size", f"{size}B", "--seed", str(SEED), "--name", "proxy"]
    plan = json.loads(squall(*usual, "--format", "json"))
    path = os.path.join(folder, "plan.svg")
    texts = {columns: squall(*usual, "--columns", str(columns), "--svg", path) for columns in (60, 80, 200)}
    drawing = pathlib.Path(path).read_text()
    problems = [f"{columns} columns: a line has {len(line)}" for columns, text in texts.items()
                for line in text.split("\n") if len(line) > columns]
    points = [(p["begin"], p["begin"] + plan["interval"], p.get("rate", 0.0)) for p in plan["points"]]
    points[-1] = (points[-1][0], min(points[-1][1], plan["seconds"]), points[-1][2])
    text, level = text_columns(texts[80], plan)
    left = options.runs
    for attempt in range(2 * options.runs):
        run = Run(name, size, plan)
        results = [deviations("curve", points, run),
                   deviations("SVG", svg_columns(drawing, plan), run),
                   deviations("80 columns", text, run, slack=level),
                   delay_deviations(plan, run)]
        missed = [miss for misses, _ in results for miss in misses] + label_problems(plan, run, texts[80], drawing)
        print(f"{name}: predicted {plan['predicted']['seconds']:.2f} s, took {run.seconds:.2f} s; "
              + "; ".join(figures for _, figures in results) + (" (too busy)" if run.is_late else ""), flush=True)
        for miss in missed[:8]:
            print(f"  {miss}")
        left -= not run.is_late
        if not missed or left == 0:
            break
    if missed:
        problems.append(f"none of {attempt + 1} runs is as its picture: {missed[0]} and {len(missed) - 1} more")
    problems += review(browser, folder, name, drawing, beside(drawing, plan, run), options.screenshots)
    return [f"{name}: {problem}" for problem in problems]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profiles", nargs="+", choices=sorted(SIZES), default=list(SIZES))
    parser.add_argument("--runs", type=int, default=3, help="runs of a profile, of which one must hold (default: 3)")
    parser.add_argument("--screenshots", metavar="FOLDER")
    options = parser.parse_args()
    if options.screenshots:
        os.makedirs(options.screenshots, exist_ok=True)
    problems = []
    browser = Browser()
    try:
        with tempfile.TemporaryDirectory(prefix="squall-pictures-") as folder:
            for name in options.profiles:
                problems += measure(name, folder, browser, options)
    except Failed as failure:
        problems.append(str(failure))
    finally:
        browser.close()
    for problem in problems:
        print(f"pictures.py: {problem}", file=sys.stderr)
    print("all pictures are true" if not problems else f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
