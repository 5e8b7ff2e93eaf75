"""What a file of flows amounts to, cell by cell."""
import bisect, gzip, json, math, statistics
from collections import defaultdict

from .cells import SIZES, key

# ms, and a share of the round trip: a flow whose link is later than both is left out. Slow start into a full queue costs the
# kernel milliseconds of processor time for its lists of segments, so that a long round trip is never below 2 ms.
LATE, LATE_SHARE = 2.0, 0.05
# s after half of the round trip: a transfer whose server was connected later is left out, since a SYN was lost.
LATE_ACCEPT = 0.02
SETTLED = 2_000  # ms: the start of a bulk flow, which the distribution of its rate leaves out
BIN = 100  # ms


def opened(path, mode):
    return gzip.open(path, mode + "t") if path.endswith(".gz") else open(path, mode)


class Measured:
    """The metrics of a cell from its lines of a file."""

    def __init__(self, round_trip):
        self.round_trip = round_trip
        self.flows, self.times, self.late = [], defaultdict(list), 0

    def add(self, line):
        if line.get("late", 0) > max(LATE, LATE_SHARE * self.round_trip):
            self.late += 1
        elif line["kind"] == "bulk":
            self.flows.append(Flow(line))
        elif line["kind"] == "connect":
            self.times["connect"].append(line["time"] + line.get("connect", 0))
        elif line.get("accept", 0) <= self.round_trip / 2000 + LATE_ACCEPT:
            self.times[line["kind"]].append(line["time"])

    def half(self, number):
        part = Measured(self.round_trip)
        part.flows = self.flows[number::2]
        part.times = defaultdict(list, {kind: times[number::2] for kind, times in self.times.items()})
        return part

    @property
    def goodput(self):
        """Mbit/s."""
        return statistics.fmean(flow.goodput for flow in self.flows) / 1e6 if self.flows else math.nan

    def stalled(self, least):
        """The share of time in gaps of more than so many round trips."""
        length = sum(flow.length for flow in self.flows)
        found = sum(gap for flow in self.flows for gap in flow.gaps if gap > least * self.round_trip)
        return found / length if length else math.nan

    def gaps(self, low, high=math.inf):
        """Gaps a second from `low` to `high` ms."""
        length = sum(flow.length for flow in self.flows) / 1000
        found = sum(low <= gap < high for flow in self.flows for gap in flow.gaps)
        return found / length if length else math.nan

    @property
    def longest(self):
        """The longest gap of a flow in ms, the median."""
        return statistics.median(max(flow.gaps) for flow in self.flows) if self.flows else math.nan

    @property
    def bins(self):
        return [count for flow in self.flows for count in flow.bins]

    def quantile(self, kind, share):
        """Seconds."""
        times = sorted(self.times[kind])
        return times[min(len(times) - 1, int(share * len(times)))] if times else math.nan

    def dictionary(self):
        trip = self.round_trip
        return {"flows": len(self.flows), "late": self.late, "goodput": self.goodput, "stalled0.6": self.stalled(0.6),
                "stalled1.5": self.stalled(1.5),
                **{f"gaps{low}-{low + 1}": self.gaps(low * trip, (low + 1) * trip) for low in (1, 2, 3)},
                "gaps200": self.gaps(200) * 60, "longest": self.longest,
                **{f"{kind}p{part}": self.quantile(kind, part / 100) for kind in SIZES for part in (50, 90)}}


class Flow:
    """A bulk flow: gaps between its deliveries in ms, and bytes in each 100 ms."""

    def __init__(self, line):
        deliveries, end = line["deliveries"], line["seconds"] * 1000
        deliveries = [(moment, count) for moment, count in deliveries if moment <= end]
        first = deliveries[0][0] if deliveries else 0
        self.seconds = line["seconds"]
        self.length = end - first
        self.goodput = sum(count for _, count in deliveries) * 8000 / self.length
        moments = [moment for moment, _ in deliveries] + [end]
        self.gaps = [after - before for before, after in zip(moments, moments[1:])] or [self.length]
        self.bins = [0] * max(0, int((end - SETTLED) // BIN))
        for moment, count in deliveries:
            index = int((moment - SETTLED) // BIN)
            if 0 <= index < len(self.bins):
                self.bins[index] += count


def read_file(path):
    """The measured cells of a file; those of the connects have a key of their own."""
    found = {}
    with opened(path, "r") as lines:
        for text in lines:
            line = json.loads(text)
            if line["kind"] in ("bulk", "connect") or line["kind"].isdigit():
                place = (*key(line), "connect") if line["kind"] == "connect" else key(line)
                found.setdefault(place, Measured(line["roundTrip"])).add(line)
    return found


def distance(one, other):
    """The Kolmogorov–Smirnov distance of two samples."""
    if not one or not other:
        return math.nan
    one, other = sorted(one), sorted(other)
    return max(abs(bisect.bisect_right(one, value) / len(one) - bisect.bisect_right(other, value) / len(other))
               for value in set(one) | set(other))


def within(one, other, factor):
    return one > 0 and other > 0 and max(one, other) / min(one, other) <= factor


def apart(one, other, part):
    """Whether `other` is within a part of `one`."""
    return one > 0 and abs(other / one - 1) <= part
