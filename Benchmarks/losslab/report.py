"""Two files beside each other, criterion by criterion."""
import json, statistics
from collections import defaultdict

from .cells import CHECK_SECONDS, LINK, SENDERS, SIZES, all_cells, key, name
from .metrics import BIN, apart, distance, read_file, within
from .pictures import draw

CRITERIA = {
    "goodput": ("within 15 %", lambda a, b: apart(a.goodput, b.goodput, 0.15)),
    "stalled": ("gaps above 1.5 round trips: share of time within 1.3 times, or both below 1 %",
                lambda a, b: (a.stalled(1.5) < 0.01 and b.stalled(1.5) < 0.01)
                or within(a.stalled(1.5), b.stalled(1.5), 1.3)),
    "longest": ("longest gap within 1.5 times", lambda a, b: within(a.longest, b.longest, 1.5)),
    "KS": ("bytes in 100 ms: distance up to 0.12", lambda a, b: distance(a.bins, b.bins) <= 0.12),
    "p50": ("of 100 KB within 15 %", lambda a, b: apart(a.quantile("100000", 0.5), b.quantile("100000", 0.5), 0.15)),
    "p90": ("of 100 KB within 15 %", lambda a, b: apart(a.quantile("100000", 0.9), b.quantile("100000", 0.9), 0.15)),
}


def print_metrics(measured):
    print("\ncell               n late  Mbit/s  >0.6RTT >1.5RTT  gaps/s of 1, 2, 3 RTT  >200ms/min longest"
          "   10KB p50 p90    100KB p50 p90      1MB p50 p90")
    for place, cell in sorted(measured.items(), key=lambda entry: order(entry[0])):
        if len(place) > 4:
            continue
        row = cell.dictionary()
        print(f"{name(place)} {row['flows']:3} {row['late']:4} {row['goodput']:7.2f} {row['stalled0.6']:8.3f} "
              f"{row['stalled1.5']:7.3f}  {row['gaps1-2']:6.2f} {row['gaps2-3']:6.2f} {row['gaps3-4']:6.2f} "
              f"{row['gaps200']:12.1f} {row['longest']:7.0f}  "
              + "  ".join(f"{row[f'{kind}p50']:7.3f} {row[f'{kind}p90']:7.3f}" for kind in SIZES))
    for place, cell in sorted(measured.items()):
        if len(place) > 4:
            times = cell.times["connect"]
            shares = [sum(time > limit for time in times) / len(times) for limit in (0.9, 2.9)]
            print(f"connects at {place[1]:g} %, {place[2]} ms: {len(times)}, later than 0.9 s {shares[0] * 100:.1f} %,"
                  f" than 2.9 s {shares[1] * 100:.1f} %")


def order(place):
    return SENDERS.index(place[0]), place[3], place[1], place[2]


def compare(kernel, other, parts):
    """Prints a row for each cell; the numbers of criteria that hold, by part."""
    print("\n" + "; ".join(f"{title}: {text}" for title, (text, _) in CRITERIA.items()))
    print("kernel/other; * marks what doesn't hold, ? what was late or is missing\n")
    print("cell               part        Mbit/s            >1.5RTT         longest        KS     "
          "100KB p50        100KB p90")
    held = defaultdict(lambda: defaultdict(list))
    for place in sorted((place for place in kernel if place in other and place in parts), key=order):
        one, two = kernel[place], other[place]
        mark = {}
        for title, (_, test) in CRITERIA.items():
            # What was late on one of the sides isn't judged.
            sides = [cell.times["100000"] if title in ("p50", "p90") else cell.flows for cell in (one, two)]
            verdict = bool(test(one, two)) if all(sides) else None
            mark[title] = {True: " ", False: "*", None: "?"}[verdict]
            if verdict is not None:
                held[parts[place]][title].append(verdict)
        print(f"{name(place)} {parts[place]} {one.goodput:7.2f}/{two.goodput:7.2f}{mark['goodput']} "
              f"{one.stalled(1.5):6.3f}/{two.stalled(1.5):6.3f}{mark['stalled']} "
              f"{one.longest:6.0f}/{two.longest:6.0f}{mark['longest']} {distance(one.bins, two.bins):6.3f}{mark['KS']} "
              f"{one.quantile('100000', .5):7.3f}/{two.quantile('100000', .5):7.3f}{mark['p50']} "
              f"{one.quantile('100000', .9):7.3f}/{two.quantile('100000', .9):7.3f}{mark['p90']}")
    for part, titles in sorted(held.items()):
        print(f"{part}: " + ", ".join(f"{title} {sum(found)} of {len(found)}" for title, found in titles.items()))
    return held


def table(paths, seed, as_json=None, pictures=None):
    """The metrics of each file, and the second beside the first; whether every criterion holds for judging."""
    parts = {key(cell): cell["part"] for cell in all_cells(seed) if cell["part"] in ("fitting", "judging")}
    files = [read_file(path) for path in paths]
    for path, measured in zip(paths, files):
        print(f"\n== {path}")
        print_metrics(measured)
    kernel = files[0]
    print(f"\n== The noise: one half of the flows of {paths[0]} beside the other")
    halves = [{place: cell.half(number) for place, cell in kernel.items()} for number in (0, 1)]
    compare(*halves, parts)
    held = {}
    lengths = [{flow.seconds for cell in measured.values() for flow in cell.flows} for measured in files]
    if len(files) > 1 and (lengths[0] ^ lengths[1]) - {CHECK_SECONDS}:
        print(f"\nThe flows of the files differ in length ({lengths[0]} and {lengths[1]} s): their longest gaps can't be compared")
    if len(files) > 1:
        print(f"\n== {paths[1]} beside {paths[0]}")
        held = compare(kernel, files[1], parts)
        if pictures:
            draw(kernel, files[1], pictures)
    if as_json:
        with open(as_json, "w") as file:
            json.dump([{" ".join(map(str, place)): cell.dictionary() for place, cell in measured.items()}
                       for measured in files], file, indent=1)
    return all(all(found) for found in held.get("judging", {}).values())


def check_link(path):
    """Whether a flow without loss fills the link, and a byte takes a round trip."""
    cell = read_file(path).get(("cubic", 0.0, 20, 1))
    if not cell or not cell.flows or not cell.times["8"]:
        print("self-check: its flow is missing or was late")
        return False
    share = sum(cell.flows[0].bins) * 8000 / (len(cell.flows[0].bins) * BIN) / LINK
    trip = statistics.median(cell.times["8"]) * 1000
    fine = share >= 0.9 and abs(trip - 20) <= 2
    print(f"self-check: without loss a flow has {share * 100:.0f} % of the link (90 or more hold), 8 bytes take"
          f" {trip:.2f} ms (20 ± 2 hold): {'holds' if fine else 'does NOT hold'}")
    return fine
