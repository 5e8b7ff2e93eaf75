"""Runs `squall demo`, `squall run` and `squall plan` in tmux at several widths: no line may be wrapped, no word broken.

    SQUALL=.build/debug/squall python3 Tests/System/terminal/terminal.py [--show]

--show prints what the terminals showed.
"""

import json
import os
import re
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit.browser import Failed
from kit.pane import Pane
from kit.web import served

REPOSITORY = Path(__file__).resolve().parents[3]
SQUALL = Path(os.environ.get("SQUALL", REPOSITORY / ".build/debug/squall")).resolve()
UNICODE = {"LC_ALL": "C.UTF-8"}
COLOR = re.compile(rb"\x1b\[[0-9;]*m")
BAR = re.compile(r"^ {0,2}\d+ % ")
# The words of the sources and of the shipped profiles; a part of one of them isn't among them.
TEXTS = [*REPOSITORY.glob("Sources/**/*.swift"), *REPOSITORY.glob("Profiles/*.json")]
WORDS = {word for text in TEXTS for word in re.findall("[A-Za-z]+", text.read_text())}
WORDS |= {word.capitalize() for word in WORDS} | {word[: -len("s")] for word in WORDS if word.endswith("s")}
# Names of errors are the system's.
WORDS |= {"Connection", "refused", "reset", "by", "peer", "errno"}


def check(condition, reason, lines=()):
    if not condition:
        raise Failed("\n".join([reason, *lines]))


def check_lines(lines, joined, columns):
    """No line is wrapped or reaches the last column, and no word is broken."""
    check(lines == joined, "a line is wrapped", lines)
    for line in lines:
        check(len(line) < columns, f"{len(line)} characters at {columns} columns: {line}")
        text = re.sub(r"[0-9a-f]{8,}", "", line)
        for word in re.findall(r"(?<![A-Za-z0-9])[A-Za-z]{2,}", text):
            check(word in WORDS, f"“{word}” is no word of the demo: {line}")


def show(title, lines):
    if "--show" in sys.argv:
        print("\n".join(["", f"== {title}", *lines]), flush=True)


def demo(columns, environment, arguments, sentence, is_plain=False, is_ascii=False):
    """Runs a demo; `sentence` must be shown while it runs."""
    title = f"demo {' '.join(arguments)} at {columns} columns, {environment}"
    with Pane([SQUALL, "demo", *arguments, "--seed", "7"], columns, environment=environment) as pane:
        heard, best = False, []
        for lines in pane.captures():
            joined = pane.lines(joined=True)
            # Between the two captures a line may have been added.
            if lines == pane.lines():
                check_lines(lines, joined, columns)
            check(sum(bool(BAR.match(line)) for line in lines) <= 1, "the bar is there twice", lines)
            if any(BAR.match(line) or sentence in line for line in lines):
                best = lines
            heard = heard or any(sentence in line for line in lines)
        final = pane.lines()
        show(title + ", running", best)
        show(title + ", ended", final)
        check(pane.status() == 0, f"exit code {pane.status()}", final)
        check(heard, f"“{sentence}” wasn't shown", best)
        check(not any(BAR.match(line) for line in final), "the bar wasn't taken away", final)
        check("equal: the file arrived byte for byte" in final, "no summary", final)
        raw = pane.bytes()
        check(bool(COLOR.search(raw)) != is_plain, "colors" if is_plain else "no colors")
        if is_ascii:
            check(raw.isascii(), "not ASCII", final)
        if environment.get("TERM") == "dumb":
            check(b"\x1b" not in raw, "an escape sequence on a dumb terminal")
    print(f"ok: {title}", flush=True)


def resized():
    """A window that becomes narrower and wider while the demo runs keeps one chart and one bar."""
    with Pane([SQUALL, "demo", "--direction", "downstream", "--seed", "7"], 200, environment=UNICODE) as pane:
        widths, started = [60, 120, 80], None
        for lines in pane.captures():
            if started is None and any(BAR.match(line) for line in lines):
                started = time.monotonic()
            if started and widths and time.monotonic() - started > 2:
                columns, started = widths.pop(0), time.monotonic()
                pane.resize(columns)
                time.sleep(0.6)
                lines = pane.lines()
                show(f"resized to {columns}", lines)
                check(sum(bool(BAR.match(line)) for line in lines) == 1, f"not one bar at {columns} columns", lines)
                check(sum("└ in the room" in line for line in lines) == 1, f"not one chart at {columns} columns", lines)
                check(all(len(line) < columns for line in lines[-8:]), f"too wide at {columns} columns", lines)
        final = pane.lines()
        check(not widths, "it was too short to be resized")
        check(sum("└ in the room" in line for line in final) == 1, "a chart was left behind", final)
        check(pane.status() == 0, f"exit code {pane.status()}", final)
    print("ok: a demo that is resized", flush=True)


def proxy(columns):
    """`squall run` shows phases and a status line, which is gone at the end."""
    profile = {
        "name": "commute",
        "faults": [{"kind": "latency", "delay": "1 ms",
                    "name": "the way through the long tunnel under the river and the sea"},
                   {"kind": "bandwidth", "stream": "downstream", "rate": "400 kbit/s"},
                   {"kind": "cut", "stream": "downstream", "at": "60 KiB", "when": {"connection": 1}}],
        "phases": [{"name": "at home", "for": "2 s"}, {"name": "on the road"}],
    }
    with tempfile.TemporaryDirectory() as folder, served(folder) as port:
        Path(folder, "commute.json").write_text(json.dumps(profile))
        Path(folder, "file.bin").write_bytes(bytes(100_000))
        upstream = f"127.0.0.1:{port}"
        command = [SQUALL, "run", "./commute.json", "--listen", "127.0.0.1:0", "--upstream", upstream, "--seed", "1"]
        with Pane(command, columns, environment=UNICODE, folder=folder) as pane:
            address, told, is_asked = None, set(), False
            for lines in pane.captures():
                joined = pane.lines(joined=True)
                text = "\n".join(joined)
                # Between the two captures a line may have been added.
                if lines == pane.lines():
                    check(lines == joined, "a line is wrapped", lines)
                    check(all(len(line) < columns for line in lines), "a line is too wide", lines)
                address = address or next(iter(re.findall(r"ready: ([0-9.:]+) ->", text)), None)
                check(not address or f" -> {upstream} (proxy “proxy”," in text, "the upstream is broken", lines)
                told |= {"a long line" for line in joined if "the way through" in line and line.endswith("…") == (columns < 100)}
                if address and not is_asked:
                    is_asked = True
                    threading.Thread(target=fetch, args=[f"http://{address}/file.bin"], daemon=True).start()
                status = [line for line in lines if re.search(r"\d open  up ", line)]
                check(len(status) <= 1, "the status is there twice", lines)
                check(all(len(line) < columns for line in status), "the status is too wide", lines)
                for part in ("— at home", "— on the road", "1 open", "0 open", "cut resets", "kbit/s", "faults"):
                    if part in text:
                        told.add(part)
                if len(told) == 8 and status:
                    show(f"run at {columns} columns", lines)
                    pane.type("C-c")
            final = pane.lines()
            show(f"run at {columns} columns, ended", final)
            check(pane.status() == 0, f"exit code {pane.status()}", final)
            check(not any(" open  up " in line for line in final), "the status wasn't taken away", final)
    print(f"ok: run at {columns} columns", flush=True)


def plan(columns, environment, is_ascii=False):
    """`squall plan` fits the terminal, in the characters that it has."""
    with Pane([SQUALL, "plan", "elevator", "--size", "24MiB", "--seed", "7"], columns, environment=environment) as pane:
        for lines in pane.captures():
            pass
        show(f"plan at {columns} columns, {environment}", lines)
        check(pane.status() == 0, f"exit code {pane.status()}", lines)
        check(lines == pane.lines(joined=True), "a line is wrapped", lines)
        # The least width of a plan is 60.
        check(all(len(line) <= columns for line in lines), "a line is too wide", lines)
        check(any("predicted " in line for line in lines), "no prediction", lines)
        check(pane.bytes().isascii() == is_ascii, "not ASCII" if is_ascii else "ASCII", lines)
    print(f"ok: plan at {columns} columns, {environment}", flush=True)


def fetch(url):
    try:
        urllib.request.urlopen(url, timeout=30).read()
    except OSError:
        pass


def main():
    down = ["--direction", "downstream"]
    gone, silent = "The network is gone. Waiting.", "The network is silent. Waiting."
    demo(60, UNICODE, ["wifi-walkaway"], gone)
    demo(80, UNICODE, ["wifi-walkaway", *down], gone)
    demo(200, UNICODE, ["elevator", *down], silent)
    demo(60, {**UNICODE, "NO_COLOR": "1"}, ["wifi-walkaway", *down], gone, is_plain=True)
    demo(80, {"LC_ALL": "C", "NO_COLOR": "1"}, ["wifi-roam", *down], silent, is_plain=True, is_ascii=True)
    demo(60, {**UNICODE, "TERM": "dumb"}, ["wifi-walkaway", *down], gone, is_plain=True)
    demo(60, UNICODE, ["cut-every-mebibyte", *down], "client: resumed at 1,048,")
    demo(60, UNICODE, ["flaky-api", "--size", "2MiB", *down], "client: resumed at ")
    resized()
    proxy(60)
    proxy(80)
    proxy(120)
    plan(60, {"LC_ALL": "C"}, is_ascii=True)
    plan(80, {**UNICODE, "TERM": "dumb"}, is_ascii=True)
    plan(80, UNICODE)


if __name__ == "__main__":
    try:
        main()
    except Failed as failure:
        sys.exit(f"failed: {failure}")
