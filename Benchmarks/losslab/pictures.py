"""Pictures of two files beside each other: cumulative distributions, as SVG."""
import math, os
from html import escape

from .cells import SENDERS, name

LOSSES, ROUND_TRIP = (1.0, 5.0), 50  # percent, ms
WIDTH, HEIGHT, LEFT, TOP = 250, 150, 46, 86
STEP_X, STEP_Y = 300, 215
# Literal colors: few programs other than browsers know custom properties. The dark ones are overrides.
STYLE = """svg { font: 13px system-ui, sans-serif; fill: #15202b; }
.paper { fill: #ffffff; } .heading { font-size: 17px; font-weight: 600; } .faint { fill: #56636f; font-size: 12px; }
.end { text-anchor: end; } .middle { text-anchor: middle; } .grid { stroke: #e3e4e6; }
.one, .two { fill: none; stroke-width: 1.8; } .one { stroke: #08749b; } .two { stroke: #c8202f; stroke-dasharray: 5 3; }
@media screen and (prefers-color-scheme: dark) { svg { fill: #e9eef3; } .paper { fill: #161e26; } .faint { fill: #9aa8b5; }
.grid { stroke: #343b44; } .one { stroke: #4fc3ea; } .two { stroke: #ff6b6b; } }"""


def draw(kernel, other, folder):
    """Writes the pictures of the cells with a round trip of 50 ms and independent losses of 1 and 5 percent."""
    os.makedirs(folder, exist_ok=True)
    pictures = [
        ("loss-gaps.svg", "Gaps between arrivals: share of the time in gaps of at most so many round trips",
         lambda cell: weighted([gap / cell.round_trip for flow in cell.flows for gap in flow.gaps]), True, "round trips"),
        ("loss-rate.svg", "Rate over 100 ms: share of the samples with at most so many Mbit/s",
         lambda cell: counted([count * 8 / 100_000 for count in cell.bins]), False, "Mbit/s"),
        ("loss-transfers.svg", "Transfers of 100 KB: share that is complete after so many seconds",
         lambda cell: counted(cell.times["100000"]), False, "s"),
    ]
    for file, title, curve, is_logarithmic, unit in pictures:
        with open(os.path.join(folder, file), "w") as output:
            output.write(picture(title, curve, is_logarithmic, unit, kernel, other))


def counted(values):
    values = sorted(values)
    return [(value, (index + 1) / len(values)) for index, value in enumerate(values)]


def weighted(values):
    whole, sum_so_far, points = sum(values), 0, []
    for value in sorted(values):
        sum_so_far += value
        points.append((value, sum_so_far / whole))
    return points


def picture(title, curve, is_logarithmic, unit, kernel, other):
    height = TOP + STEP_Y * len(LOSSES) + 10
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 {height}" width="960" height="{height}" role="img"'
             f' aria-labelledby="title">', f'<title id="title">{escape(title)}</title>', f"<style>\n{STYLE}\n</style>",
             f'<rect class="paper" width="960" height="{height}"/>', f'<text class="heading" x="20" y="28">{escape(title)}</text>',
             '<path class="one" d="M20 46h30"/><text class="faint" x="56" y="50">kernel</text>',
             '<path class="two" d="M130 46h30"/><text class="faint" x="166" y="50">Squall</text>']
    for row, loss in enumerate(LOSSES):
        for column, sender in enumerate(SENDERS):
            place = (sender, loss, ROUND_TRIP, 1)
            curves = [curve(measured[place]) for measured in (kernel, other) if place in measured]
            if len(curves) == 2 and all(curves):
                lines += panel(name(place), curves, is_logarithmic, unit, LEFT + column * STEP_X, TOP + row * STEP_Y)
    return "\n".join(lines + ["</svg>", ""])


def panel(title, curves, is_logarithmic, unit, x, y):
    low = 0.01 if is_logarithmic else 0
    high = max(points[min(len(points) - 1, int(0.995 * len(points)))][0] for points in curves)
    high = max(high, max(points[-1][0] for points in curves)) if is_logarithmic else high * 1.05

    def across(value):
        share = (math.log(max(value, low) / low) / math.log(high / low)) if is_logarithmic else value / high
        return x + min(1, share) * WIDTH

    lines = [f'<text x="{x}" y="{y - 8}">{escape(" ".join(title.split()[:-1]))}</text>']
    for share in (0, 0.5, 1):
        level = y + HEIGHT * (1 - share)
        lines.append(f'<path class="grid" d="M{x} {level:g}h{WIDTH}"/>'
                     f'<text class="faint end" x="{x - 6}" y="{level + 4:g}">{share * 100:g} %</text>')
    for value in ticks(high, is_logarithmic):
        lines.append(f'<path class="grid" d="M{across(value):.1f} {y}v{HEIGHT}"/>'
                     f'<text class="faint middle" x="{across(value):.1f}" y="{y + HEIGHT + 16}">{value:g}</text>')
    lines.append(f'<text class="faint end" x="{x + WIDTH}" y="{y + HEIGHT + 31}">{unit}</text>')
    for kind, points in zip(("one", "two"), curves):
        level = {round(across(value)): round(y + HEIGHT * (1 - share), 1) for value, share in points}
        steps = "".join(f"H{column}V{height:g}" for column, height in level.items())
        lines.append(f'<path class="{kind}" d="M{x} {y + HEIGHT}{steps}"/>')
    return lines


def ticks(high, is_logarithmic):
    if is_logarithmic:
        return [value for value in (0.01, 0.1, 1, 10, 100) if value <= high]
    step = 10 ** math.floor(math.log10(high))
    step = next(part * step for part in (0.2, 0.5, 1, 2, 5) if high / (part * step) <= 5)
    return [round(index * step, 6) for index in range(int(high / step) + 1)]
