#!/usr/bin/env python3
"""Draws docs/images/demo.svg: what `squall demo` shows on a terminal of 80 columns shortly before the end.

    SQUALL=.build/release/squall scripts/demo_picture.py [FILE]

Runs the demo in tmux and draws the last screen with a progress bar. The bars are rectangles, so that they join
whatever font shows the text; the colors follow the light or dark theme of the reader.
"""

import os
import re
import sys
from pathlib import Path
from xml.sax.saxutils import escape

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "Tests/System"))

from kit.pane import Pane  # noqa: E402

SQUALL = Path(os.environ.get("SQUALL", REPOSITORY / ".build/release/squall")).resolve()
COLUMNS, ROWS = 80, 26
# The size of a cell, and the space around all of them.
WIDTH, HEIGHT, MARGIN, TITLE = 8.4, 18, 16, 30
PROMPT = "$ squall demo"
CLASSES = {"2": "f", "31": "r", "32": "g", "33": "y", "36": "c"}
STYLE = """
  .b { fill: #ffffff; stroke: #d0d7de }
  .t { fill: #1f2328 } .f { fill: #6e7781 } .r { fill: #cf222e } .g { fill: #1a7f37 }
  .y { fill: #9a6700 } .c { fill: #0f6f8f } .e { fill: #d8dee4 }
  @media (prefers-color-scheme: dark) {
    .b { fill: #0d1117; stroke: #30363d }
    .t { fill: #e6edf3 } .f { fill: #8b949e } .r { fill: #ff7b72 } .g { fill: #3fb950 }
    .y { fill: #d29922 } .c { fill: #39c5cf } .e { fill: #30363d }
  }
  text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; white-space: pre }
"""


def cells(line):
    """The characters of a line with their classes."""
    color, result = "t", []
    for sequence, character in re.findall(r"\x1b\[([0-9;]*)m|(.)", line):
        if character:
            result.append((character, color))
            continue
        for parameter in (sequence or "0").split(";"):
            color = CLASSES.get(parameter, "t" if parameter in ("0", "39", "22", "") else color)
    return result


def runs(row):
    """Equal neighbours together: (column, text, class). Bars are runs of one character, texts end at two spaces."""
    column = 0
    while column < len(row):
        character, color = row[column]
        end = column + 1
        if character == " ":
            column += 1
            continue
        if bar(character):
            while end < len(row) and row[end] == row[column]:
                end += 1
        else:
            while end < len(row) and row[end][1] == color and not bar(row[end][0]) \
                    and (row[end][0] != " " or (end + 1 < len(row) and row[end + 1][0] != " ")):
                end += 1
        yield column, "".join(character for character, _ in row[column:end]), color
        column = end


def bar(character):
    return character in "▁▂▃▄▅▆▇█░│"


def element(column, row, text, color):
    x, y = MARGIN + column * WIDTH, TITLE + MARGIN + row * HEIGHT
    width = len(text) * WIDTH
    if text[0] == "│":
        return f'<rect class="{color}" x="{x + WIDTH / 2 - 1:.1f}" y="{y:.1f}" width="2" height="{HEIGHT}"/>'
    if bar(text[0]):
        eighths, color = (8, "e") if text[0] == "░" else ("▁▂▃▄▅▆▇█".index(text[0]) + 1, color)
        height = HEIGHT * eighths / 8
        # Half a pixel more, so that no seam shows between two rows.
        return f'<rect class="{color}" x="{x:.1f}" y="{y + HEIGHT - height:.2f}" width="{width + 0.2:.1f}" ' \
            f'height="{height + 0.3:.2f}"/>'
    return f'<text class="{color}" x="{x:.1f}" y="{y + 13.5:.1f}" textLength="{width:.1f}">{escape(text)}</text>'


def svg(lines):
    width = 2 * MARGIN + COLUMNS * WIDTH
    height = TITLE + 2 * MARGIN + len(lines) * HEIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" aria-label="squall demo on a terminal">',
        f"<style>{STYLE}</style>",
        f'<rect class="b" x="0.5" y="0.5" width="{width - 1:.0f}" height="{height - 1:.0f}" rx="8"/>',
        *(f'<circle class="{color}" cx="{22 + 20 * place}" cy="20" r="6"/>' for place, color in enumerate("ryg")),
    ]
    for number, line in enumerate(lines):
        parts += [element(column, number, text, color) for column, text, color in runs(cells(line))]
    return "\n".join([*parts, "</svg>", ""])


def record():
    """The last screen with a progress bar, colored."""
    last = None
    command = [SQUALL, "demo", "--seed", "7", "--direction", "downstream"]
    environment = {"LC_ALL": "C.UTF-8", "TERM": "tmux-256color"}
    with Pane(command, COLUMNS, ROWS, environment) as pane:
        for lines in pane.captures(interval=0.05, colored=True):
            plain = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in lines]
            # The one after the last phase has got its name.
            if any(re.match(r" 9\d % ", line) for line in plain):
                last = last or lines
        if last is None or pane.status() != 0:
            sys.exit("the demo failed:\n" + "\n".join(pane.lines()))
    return [PROMPT, *last]


def main():
    paths = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    path = Path(paths[0]) if paths else REPOSITORY / "docs/images/demo.svg"
    path.parent.mkdir(exist_ok=True)
    path.write_text(svg(record()))
    print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
