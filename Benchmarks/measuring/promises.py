"""What was promised, held against what was measured. A promise holds, or it does not, or it was not measured."""
import os, statistics
from dataclasses import dataclass

from . import heads
from .accuracy import DELAYS, RATES
from .peers import BULK, CONNECTIONS, FORWARDERS, HAPROXIES, OLD, ROUNDS
from .tables import number, spread

MORE, LESS = "more", "less"
NOTHING = "–"
EQUAL = 0.95  # As much as another program, but for what no run can tell apart.
NAMES = {"down1": "download, 1 connection", "up1": "upload, 1 connection", "down8": "download, 8 connections",
         "up8": "upload, 8 connections", "conn": "new connections",
         "conn-server": "new connections, ended by the server", "rr1": "round trips, 1 connection",
         "rr64": "round trips, 64 connections", "idle": "idle connections",
         "loops-conn": "new connections, all cores", "loops-rr64": "round trips, 64 connections, all cores"}


@dataclass
class Promise:
    text: str
    asked: str
    found: str
    holds: object  # True, False, or None where it was not measured, or can't be shown on this machine

    @property
    def verdict(self):
        if self.holds is None:
            return "not measured" if self.found == NOTHING else "can't be shown here"
        return "holds" if self.holds else "does not hold"


def values(results, case, peer, figure):
    """One figure of a peer, round by round; None where a sample failed."""
    return [sample and sample.get(figure) for sample in results.get(case, {}).get(peer, [])]


def median(results, case, peer, figure):
    known = [value for value in values(results, case, peer, figure) if value is not None]
    return statistics.median(known) if known else None


def best(results, case, peers, figure, better):
    """The peer with the best median."""
    known = [(median(results, case, peer, figure), peer) for peer in peers]
    known = [pair for pair in known if pair[0] is not None]
    return (max if better == MORE else min)(known)[1] if known else None


def ratios(results, case, peer, other, figure):
    """Round by round, so that what slows the machine for a while slows both."""
    pairs = zip(values(results, case, peer, figure), values(results, case, other, figure))
    return [mine / theirs for mine, theirs in pairs if mine is not None and theirs]


def _compare(results, case, figure, better, limit, others, peer="squall"):
    other = best(results, case, others, figure, better)
    found = ratios(results, case, peer, other, figure) if other else []
    text = f"{NAMES[case]}: {figure} to the best {'HAProxy' if others == HAPROXIES else 'bare loop'}"
    if len(others) == 1:
        text = f"{NAMES[case]}: {figure} of `{peer}` to `{other or others[0]}`"
    asked = f"{limit} or {better}"
    if not found:
        return Promise(text, asked, NOTHING, None)
    middle = statistics.median(found)
    named = f", `{other}`" if len(others) > 1 else ""
    return Promise(text, asked, spread(found) + named, middle >= limit if better == MORE else middle <= limit)


def _idle(results):
    found = [median(results, "idle", "squall", figure) for figure in ("KiB unused", "KiB used once")]
    if None in found:
        return Promise("an idle connection", "1 KiB or less", NOTHING, None)
    return Promise("an idle connection, never used; used once", "1 KiB or less",
                   f"{number(found[0])} KiB; {number(found[1])} KiB", max(found) <= 1)


def _gone(results):
    """What the connections leave behind; a page more or less is nobody's."""
    text, asked = "when the idle connections have gone: memory over the base; descriptors", "1 MiB or less; none"
    base, after, left = (median(results, "idle", "squall", name) for name in ("base MiB", "after MiB", "left open"))
    if base is None:
        return Promise(text, asked, NOTHING, None)
    return Promise(text, asked, f"{number(after - base)} MiB; {number(left, 0)}", after - base <= 1 and left <= 0)


def _loops(results, case, figure, cost):
    """Two loops to one, and what the generators leave of the cores: they and the proxy share them."""
    text, asked = f"{NAMES[case]}: {figure} with two loops to one", "1.6 or more"
    found = ratios(results, case, "squall-2-loops", "squall-1-loop", figure)
    mine, load, one = (median(results, case, "squall-1-loop", name) for name in (*cost, figure))
    if not found or not mine:
        return Promise(text, asked, NOTHING, None)
    cores = len(os.sched_getaffinity(0))
    permitted = cores / ((mine + load) * (1e-4 if figure == "conn/s" else 1e-6)) / one
    middle = statistics.median(found)
    each = ratios(results, case, "squall-2-loops", "squall-1-loop", cost[0])
    told = (f"{spread(found)}; with the generators on the same {cores} cores at most {number(permitted)}; "
            f"each takes {number(statistics.median(each))} of the processor time that it takes with one; "
            f"without a proxy they make {number(median(results, case, 'direct', figure))} {figure}")
    return Promise(text, asked, told, True if middle >= 1.6 else None if permitted < 1.6 else False)


def _accuracy(part, text, asked, judge):
    """A promise alone and one beside others; `judge` gives what was found, and whether it is right."""
    promises = []
    for how, words in (("alone", "alone"), ("busy", "1,000 others busy")):
        found = part.get(how)
        known = bool(found) and not isinstance(found, str)
        told, holds = judge(found) if known else (found or NOTHING, False if found else None)
        promises.append(Promise(f"{text}, {words}", asked, told, holds))
    return promises


def _rates(found):
    told = ", ".join(f"{name} {number(result['ratio'], 4)}" for name, result in found.items())
    return told, all(abs(result["ratio"] - 1) <= 0.005 for result in found.values())


def _smoothness(found):
    value = found.get("10 MB/s", {}).get("variation")
    return (NOTHING, None) if value is None else (f"{value:.2%}", value < 0.05)


def _lateness(figure, limit):
    def judge(found):
        told = ", ".join(f"{name} {result[figure]:+,.0f} µs" for name, result in found.items())
        plain = ", ".join(f"{result[figure.replace(' µs', ' of plain µs')]:+,.0f}" for result in found.values())
        told += f" (Squall without a fault {plain})"
        # A p99 that is earlier only says that the direct connection was disturbed.
        return told, all(-limit <= result[figure] <= limit or (result[figure] < 0 and figure == "p99 µs")
                         for result in found.values())
    return judge


def _cuts(found):
    return f"{found['exact']} of {found['tried']}", found["exact"] == found["tried"]


def _heads(found):
    text, asked = "heads of a request and its response, the dearest case", f"{heads.LIMIT / 1000:.0f} µs or less"
    if not found:
        return Promise(text, asked, NOTHING, None)
    most = max(found.values())
    return Promise(text, asked, f"{most / 1000:.1f} µs of processor", most <= heads.LIMIT)


def judge(results, accuracy):
    """Every promise of the benchmark, in order."""
    promises = []
    for case in BULK:
        promises.append(_compare(results, case, "MB/s", MORE, EQUAL, HAPROXIES))
        promises.append(_compare(results, case, "s/GB", LESS, 1.0, HAPROXIES))
    promises += [_compare(results, case, "conn/s", MORE, EQUAL, HAPROXIES) for case in CONNECTIONS]
    for case in ("rr1", "rr64"):
        promises += [_compare(results, case, figure, LESS, 1.0, HAPROXIES) for figure in ("p50 µs", "p99 µs")]
    promises.append(_compare(results, "idle", "KiB used once", LESS, 1.0, HAPROXIES))
    promises += [_idle(results), _gone(results)]
    for case in BULK:
        promises.append(_compare(results, case, "MB/s", MORE, 0.95, FORWARDERS))
        promises.append(_compare(results, case, "s/GB", LESS, 1.1, FORWARDERS))
    promises += [_compare(results, case, "MB/s", MORE, 0.9, ("squall",), "squall-faults") for case in BULK]
    promises.append(_loops(results, "loops-conn", "conn/s", ("s/10k", "load s/10k")))
    promises.append(_loops(results, "loops-rr64", "trips/s", ("proxy µs", "load µs")))
    promises.append(_compare(results, "loops-rr64", "p99 µs", LESS, 1.0, ("haproxy-as-many-threads",),
                             "squall-default-loops"))
    promises.append(_heads(accuracy.get("heads")))
    rates, delays, cuts = (accuracy.get(part, {}) for part in ("rates", "delays", "cuts"))
    low, high = next(iter(RATES)), list(RATES)[-1]
    promises += _accuracy(rates, f"rates from {low} to {high}", "within 0.5 %", _rates)
    promises += _accuracy(rates, "variation per 50 ms at 10 MB/s", "below 5 %", _smoothness)
    names = ", ".join(DELAYS)
    promises += _accuracy(delays, f"latency of {names}, p50 to direct", "within 100 µs", _lateness("p50 µs", 100))
    promises += _accuracy(delays, f"latency of {names}, p99 to direct", "within 500 µs", _lateness("p99 µs", 500))
    promises += _accuracy(cuts, "cuts at the exact byte", "all", _cuts)
    return promises


def judge_forecasts(typical):
    """The downloads of typical profiles, to what `squall plan` predicts for them."""
    promises = []
    for case in typical:
        within = median(typical, case, "squall", "within")
        if within is not None:
            found = [ratio for ratio in values(typical, case, "squall", "of promise") if ratio is not None]
            differs = abs(1 / statistics.median(found) - 1)
            promises.append(Promise(f"{case}: a download to the forecast of `squall plan`", f"within {within} %",
                                    f"{spread(found)} of its rate", differs <= within / 100))
    return promises


# What is compared of two binaries, by case: figures of which more is better, and those of which less is.
OLD_FIGURES = {**{case: (("MB/s",), ("s/GB",)) for case in BULK},
               **{case: (("conn/s",), ("s/10k",)) for case in (*CONNECTIONS, "loops-conn")},
               **{case: (("trips/s",), ("proxy µs",)) for case in (*ROUNDS, "loops-rr64")}}
# Where a fault decides how much passes, the cost is what can be lost.
OLD_TYPICAL = (("of promise",), ("s/GB", "s/10k"))
OLD_FAULTS, OLD_LEAST = 0.95, 0.9


def beside_old(results, typical):
    """(case, peer, figure, whether there are faults, ratios of the new binary to the old): more than 1 is better."""
    found = []
    for group, is_typical in ((typical, True), (results, False)):
        for case, rows in group.items():
            more, less = OLD_TYPICAL if is_typical else OLD_FIGURES.get(case, ((), ()))
            for peer in [peer for peer in rows if peer + OLD in rows]:
                for figure in (*more, *less):
                    pairs = ratios(group, case, peer, peer + OLD, figure)
                    pairs = [1 / ratio for ratio in pairs if ratio] if figure in less else pairs
                    if pairs:
                        has_faults = is_typical or peer == "squall-faults"
                        found.append((case, peer, figure, has_faults, pairs))
    return found


def judge_old(results, typical):
    """The two promises about the old binary; none where there isn't one."""
    found = beside_old(results, typical)
    promises = []
    for text, limit, wanted in (
            ("every case with faults, to the old binary", OLD_FAULTS, [row for row in found if row[3]]),
            ("every case, to the old binary", OLD_LEAST, found)):
        if not wanted:
            continue
        least = min(wanted, key=lambda row: statistics.median(row[4]))
        value = statistics.median(least[4])
        promises.append(Promise(text, f"{limit} or more", f"the least is {spread(least[4])}: {least[2]} of `{least[0]}`, "
                                f"`{least[1]}`", value >= limit))
    return promises
