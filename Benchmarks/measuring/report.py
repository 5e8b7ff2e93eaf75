"""The tables of a run: on the terminal, and as a page."""
import statistics
import textwrap
from collections import Counter

from . import typical
from .accuracy import BUSY_PROGRAMS, OTHERS, OTHERS_INTERVAL, QUANTILES
from .promises import NAMES, beside_old, median, values
from .tables import markdown, number, padded, spread

COLUMNS = {
    "bulk": ("MB/s", "s/GB", "load s/GB", "machine s/GB"),
    "conn": ("conn/s", "s/10k", "load s/10k", "p50 µs", "p99 µs"),
    "rr": ("p50 µs", "p99 µs", "trips/s", "proxy µs", "load µs"),
    "idle": ("KiB unused", "KiB used once", "descriptors", "base MiB", "after MiB", "left open", "busy"),
}
# What the page has of a case: (title, cases, figures). The terminal and --json have the rest.
GROUPS = (
    ("Bulk", ("down1", "up1", "down8", "up8"), ("MB/s", "s/GB")),
    ("New connections", ("conn", "conn-server"), ("conn/s", "s/10k", "p99 µs")),
    ("Round trips", ("rr1", "rr64"), ("p50 µs", "p99 µs", "proxy µs")),
    ("All cores", ("loops-conn", "loops-rr64"), ("conn/s", "trips/s", "p99 µs")),
    ("Idle connections", ("idle",), ("KiB unused", "KiB used once", "after MiB")),
)
WORDS = """\
Cells are medians; the terminal and `--json` have the least, the most and further figures. `s/GB` and `s/10k` are
processor seconds of the proxy for each GB, and for each 10,000 connections; `proxy µs` those of a round trip. `KiB` is
resident memory for each idle connection over the base, `after` the memory when all have gone. `down8` is a download
over 8 connections; `conn-server` is ended by the server."""


ROUND_TRIPS = [f"{name}{to} µs" for to in ("", " to plain") for name in QUANTILES]
WAYS = [f"way {name}{of} µs" for of in ("", " of plain") for name in QUANTILES]


def columns(case):
    if case in ("idle",):
        return COLUMNS["idle"]
    if "conn" in case:
        return COLUMNS["conn"]
    return COLUMNS["rr"] if "rr" in case else COLUMNS["bulk"]


def case_rows(results, case):
    names = columns(case)
    rows = [["", *names]]
    for peer in results[case]:
        rows.append([peer, *(spread(values(results, case, peer, name)) for name in names)])
    return rows


def group_rows(results, cases, names):
    """The medians of several cases, a row for each peer."""
    wanted = [(case, name) for case in cases if case in results for name in names if name in columns(case)]
    rows = [["", *(f"{case} {name}" for case, name in wanted)]]
    for peer in dict.fromkeys(peer for case, _ in wanted for peer in results[case]):
        rows.append([peer, *(number(median(results, case, peer, name)) for case, name in wanted)])
    return rows


def head_rows(heads):
    return [["a profile with", "µs"], *([name, number(nanoseconds / 1000)] for name, nanoseconds in heads.items())]


def rate_rows(rates):
    rows = [["rate", "alone", "variation", "1,000 others busy", "variation"]]
    alone, busy = (rates.get(how) if isinstance(rates.get(how), dict) else {} for how in ("alone", "busy"))
    for name in alone or busy:
        cells = [name]
        for part in (alone, busy):
            result = part.get(name, {})
            # A bin holds less than a few packets below 1 MB/s.
            smooth = result.get("variation") if not name.endswith("KB/s") else None
            cells += [number(result.get("ratio"), 4), "–" if smooth is None else f"{smooth:.2%}"]
        rows.append(cells)
    return rows


def delay_rows(delays, figures, names):
    rows = [["delay", *names]]
    for how, words in (("alone", "alone"), ("busy", "1,000 others busy"), ("contended", "machine busy")):
        found = delays.get(how)
        for name, result in found.items() if isinstance(found, dict) else ():
            rows.append([f"{name}, {words}", *(f"{result[figure]:+,.0f}" for figure in figures)])
    return rows


def promise_rows(promises):
    return [["promise", "asked", "found", "verdict"],
            *([one.text, one.asked, one.found, one.verdict] for one in promises)]


def grouped_rows(promises):
    """The rows of a page: promises that differ in their case alone are one."""
    groups = {}
    for one in promises:
        case, found, rest = one.text.rpartition(": ")
        groups.setdefault((rest if found else one.text, one.asked, one.verdict), []).append((case, one.found))
    rows = [["promise", "asked", "found", "verdict"]]
    for (text, asked, verdict), found in groups.items():
        if len(found) == 1:
            case, told = found[0]
            rows.append([f"{case}: {text}" if case else text, asked, told, verdict])
        else:
            rows.append([text, asked, "; ".join(f"{case}: {told}" for case, told in found), verdict])
    return rows


def kept_lines(promises):
    """A line for each promise that holds; one for those that hold alone and beside others."""
    alone, busy = ", alone", ", 1,000 others busy"
    asked = {text: asked for text, asked, *_ in grouped_rows(promises)[1:]}
    for text, value in asked.items():
        other = text.removesuffix(busy) + alone
        if text.endswith(busy) and asked.get(other) == value:
            continue
        both = text.endswith(alone) and asked.get(text.removesuffix(alone) + busy) == value
        yield f"- {text}{' and with 1,000 others busy' if both else ''}: {value}"


def summary(promises):
    counts = Counter(one.verdict for one in promises)
    others = ", ".join(f"{count} {word}" for word, count in counts.items() if word not in ("holds", "does not hold"))
    return f"Of {len(promises)} promises {counts['holds']} hold, {counts['does not hold']} do not" + \
        (f", {others}." if others else ".")


def typical_rows(found, cell=lambda known: spread(known)):
    """A row for each profile, congestion control and peer; the keys of `found` are "case, control"."""
    rows = [["profile", "control", "", *typical.FIGURES]]
    for key, peers in found.items():
        case, control = key.split(", ")
        for peer in peers:
            rows.append([typical.TITLES[case], control, peer,
                         *(cell(values(found, key, peer, figure)) for figure in typical.FIGURES)])
    return rows


def old_rows(results, found):
    rows = [["", "", "figure", "new to old"]]
    for case, peer, figure, has_faults, ratios in beside_old(results, found):
        rows.append([f"{case}{', faults' if has_faults else ''}", peer, figure, spread(ratios)])
    return rows


def sections(results, accuracy, typically):
    """Pairs of a title and rows."""
    found = [("Typical profiles, with the default number of loops", typical_rows(typically))] if typically else []
    old = old_rows(results, typically)
    if len(old) > 1:
        found.append(("Beside the old binary: 1 is equal, more is better", old))
    found += [(f"{NAMES[case][0].upper()}{NAMES[case][1:]} (`{case}`)", case_rows(results, case)) for case in results]
    if accuracy.get("heads"):
        found.append(("Heads: processor time of a request with its response, read for faults of messages", head_rows(
            accuracy["heads"])))
    if accuracy.get("rates"):
        found.append(("Rates: what passes, as a part of what is asked", rate_rows(accuracy["rates"])))
    if accuracy.get("delays"):
        found.append(("Delays: round trips beyond the delay, to a direct connection and to Squall without faults",
                      delay_rows(accuracy["delays"], ROUND_TRIPS, ROUND_TRIPS)))
        found.append(("Delays: the way back beyond the delay, from the server's send to the client's socket",
                      delay_rows(accuracy["delays"], WAYS, [name.removeprefix("way ") for name in WAYS])))
    return found


def page_sections(results, accuracy, typically):
    """Pairs of a title and rows, of what the page has."""
    def middle(known):
        known = [value for value in known if value is not None]
        return number(statistics.median(known) if known else None)
    found = [("Typical profiles, with the default number of loops", typical_rows(typically, middle))] if typically else []
    old = old_rows(results, typically)
    if len(old) > 1:
        found.append(("Beside the old binary: 1 is equal, more is better", old))
    found += [(title, group_rows(results, cases, names)) for title, cases, names in GROUPS if set(cases) & set(results)]
    if accuracy.get("heads"):
        found.append(("Heads: processor time of a request with its response", head_rows(accuracy["heads"])))
    if accuracy.get("delays"):
        rows = [delay_rows(accuracy["delays"], names, ["p50", "p90", "p99"]) for names in (ROUND_TRIPS[:3], WAYS[:3])]
        found.append(("Delays, in µs: a round trip beyond the delay and a direct connection; the way back beyond the delay",
                      [[*trip, *way[1:]] for trip, way in zip(*rows)]))
    return found


def terminal(results, accuracy, typically, promises):
    parts = []
    for title, rows in sections(results, accuracy, typically):
        parts.append(f"{title.replace('`', '')}\n{padded(rows)}\n")
    if not promises:
        return "\n".join(parts)
    parts.append(f"Promises\n{promise_table(promises)}\n\n{summary(promises)}")
    return "\n".join(parts)


def promise_table(promises):
    """Every promise with what was found, the verdict first."""
    return padded_left([[cell.replace("`", "") for cell in (row[3], *row[:3])] for row in promise_rows(promises)])


def padded_left(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def prose(text):
    return textwrap.fill(text, 118, break_long_words=False, break_on_hyphens=False)


def version_rows(versions):
    """The names of the programs that have the same version, by version."""
    rows = {}
    for name, value in versions.items():
        rows[value] = f"{rows[value]}, {name}" if value in rows else name
    return rows


def page(facts, versions, promises, notes):
    """RESULTS.md. `facts` are pairs about the run and its machine."""
    kept, others = ([one for one in promises if bool(one.holds) == holds] for holds in (True, False))
    parts = [
        "# Results",
        prose("What `make bench` found; it writes this page anew. [README.md](README.md) tells what is measured and how. "
              "Figures of different runs can't be compared with each other: only ratios within one can."),
        markdown([["", "this run"], *([name, value] for name, value in facts.items())]),
        markdown([["program", "version"], *([names, f"`{value}`"] for value, names in version_rows(versions).items())]),
        "## Promises", summary(promises) + " A ratio is taken round by round; the median decides.",
    ]
    if others:
        parts.append(markdown(grouped_rows(others)))
    if kept:
        parts += ["These hold:", "\n".join(kept_lines(kept))]
    parts.append("[FIGURES.txt](FIGURES.txt) has the figures of every proxy, and what was found of each promise.")
    if notes:
        parts += ["## What went wrong", "\n".join(f"- {note}" for note in notes)]
    return "\n\n".join(parts) + "\n"


def figures(results, accuracy, typically, promises):
    """FIGURES.txt."""
    parts = [WORDS.replace("`", "")]
    for title, rows in page_sections(results, accuracy, typically):
        parts.append(f"{title}\n\n{padded([[cell.replace('`', '') for cell in row] for row in rows])}")
        if title.startswith("Typical"):
            parts.append(typical.NOTE.replace("`", ""))
    if accuracy.get("rates") or accuracy.get("delays"):
        parts.append(prose(
            f"The {OTHERS:,} others make a round trip of 64 bytes every {OTHERS_INTERVAL // 1000} ms each, through the "
            "same proxy and the same faults. All of this is one thread of Squall. On a busy machine there are "
            f"{BUSY_PROGRAMS} programs that never wait; nothing is promised for it."))
    if promises:
        parts.append(f"Promises\n\n{promise_table(promises)}")
    return "\n\n".join(parts) + "\n"
