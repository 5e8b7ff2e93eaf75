"""The cells of the lab, how many flows each has, and when each flow begins."""
import math, random

LINK = 100e6  # bit/s
QUEUE = 200  # packets
SENDERS = ["reno", "cubic", "bbr"]
LOSSES = [0.1, 1.0, 2.0, 5.0, 10.0]  # percent
BURST_LOSSES = [1.0, 2.0, 5.0]
BURST = 4  # packets
ROUND_TRIPS = [20, 50, 100]  # ms
CONNECT_LOSSES = [1.0, 5.0, 10.0]  # percent, for SYN and SYN-ACK too
SIZES = {"10000": 0.5, "100000": 1.0, "1000000": 0.5}  # bytes, and how many there are for each transfer of 100 KB
FIRST_PORT, FIRST_PROXY_PORT = 20_000, 21_000
JOB_LIMIT = 120  # s, for a transfer: what isn't through by then counts as having taken that long
CHECK_SECONDS = 10  # of the flow without loss
START_GAP = 0.3  # s between two starts at least, since slow start fills the whole link for a moment


def all_cells(seed):
    """The cells, with their ports and what they are for."""
    found = [{"sender": sender, "loss": loss, "roundTrip": round_trip, "burst": burst}
             for sender in SENDERS for burst in (1, BURST) for loss in (LOSSES if burst == 1 else BURST_LOSSES)
             for round_trip in ROUND_TRIPS]
    judging = set(random.Random(seed).sample(range(len(found)), len(found) // 2))
    for index, cell in enumerate(found):
        cell.update(part="judging" if index in judging else "fitting", handshake=0.0)
    found += [{"sender": "cubic", "loss": loss, "roundTrip": 50, "burst": 1, "part": "connect", "handshake": loss}
              for loss in CONNECT_LOSSES]
    found.append({"sender": "cubic", "loss": 0.0, "roundTrip": 20, "burst": 1, "part": "check", "handshake": 0.0})
    for index, cell in enumerate(found):
        cell["port"] = FIRST_PORT + index
    return found


def key(line):
    return line["sender"], float(line["loss"]), line["roundTrip"], line["burst"]


def name(place):
    sender, loss, round_trip, burst = place[:4]
    return f"{sender:5} {loss:4g} % {round_trip:4} ms {burst}"


def expected_rate(cell):
    """About what a flow gets at most, in bit/s: Mathis's formula."""
    if cell["sender"] == "bbr" or cell["loss"] == 0:
        return 0.95 * LINK
    events = cell["loss"] / 100 / cell["burst"]
    return min(0.95 * LINK, 1.3 * 1448 * 8 / (cell["roundTrip"] / 1000) / math.sqrt(events))


class Amounts:
    """How many flows and transfers each cell has."""

    def __init__(self, bulk, bbr, transfers, seconds):
        self.bulk, self.bbr, self.transfers, self.seconds = bulk, bbr, transfers, seconds

    @classmethod
    def within(cls, cells, minutes, budget, seconds):
        """The most that fit into a time, or the least."""
        best = cls(1, 1, 20, seconds)
        for bulk in range(2, 25):
            more = cls(bulk, max(1, bulk // 2), min(120, 30 * bulk), seconds)
            if Plan(cells, more, budget).seconds > 60 * minutes:
                break
            best = more
        return best

    def __str__(self):
        return (f"{self.bulk} bulk flows of {self.seconds:g} s a cell ({self.bbr} with bbr), {self.transfers} transfers of "
                f"100 KB, {self.transfers // 2} of 10 KB and of 1 MB")


class Plan:
    """When each job begins, so that the flows of a moment need no more than `budget` bit/s together."""

    def __init__(self, cells, amounts, budget, seed=1):
        generator = random.Random(seed)
        bulk, shorts = [], []
        for cell in cells:
            if cell["part"] == "connect":
                shorts += [(cell, "connect")] * (5 * amounts.transfers)
            elif cell["part"] == "check":
                bulk.append((cell, CHECK_SECONDS))
                shorts += [(cell, "8")] * 20
            else:
                flows = amounts.bbr if cell["sender"] == "bbr" else amounts.bulk
                # Bursts make few and long stalls, so that flows differ more.
                flows *= 2 if cell["burst"] > 1 and cell["loss"] >= 2 and cell["sender"] != "bbr" else 1
                bulk += [(cell, amounts.seconds)] * flows
                for size, share in SIZES.items():
                    shorts += [(cell, size)] * round(amounts.transfers * share)
        bits = sum(8.3 * int(kind) for _, kind in shorts if kind != "connect")
        # The transfers get a share of the budget for as long as the bulk flows need.
        work = sum(min(expected_rate(cell), budget / 2) * (seconds + 1) for cell, seconds in bulk)
        length = max(30.0, 1.1 * (work + bits) / budget)
        room = max(budget - bits / length, budget / 2, 0.95 * LINK)
        # Flows of a cell are spread over the run, so that a moment in which the machine is busy hits several cells.
        generator.shuffle(bulk)
        self.jobs, free_at, running, now, next_start = [], [], 0.0, 0.0, 0.0
        left = bulk
        while left:
            for end, rate in [entry for entry in free_at if entry[0] <= now]:
                free_at.remove((end, rate))
                running -= rate
            kept = []
            for cell, seconds in left:
                rate = expected_rate(cell)
                if running == 0 or running + rate <= room:
                    begin = max(now, next_start)
                    next_start = begin + START_GAP
                    self.jobs.append((begin, cell, "bulk", seconds))
                    free_at.append((begin + seconds + 0.3, rate))
                    running += rate
                else:
                    kept.append((cell, seconds))
            left = kept
            if left:
                now = min(end for end, _ in free_at)
        ends = max((begin + seconds for begin, _, _, seconds in self.jobs), default=0)
        window = max(30.0, ends - 15, 1.1 * bits / budget)
        self.jobs += [(generator.uniform(0, window), cell, kind, JOB_LIMIT) for cell, kind in shorts]
        self.seconds = max(ends, window + 20)

    def table(self, ports):
        return "".join(f"{index} {begin * 1000:.0f} {ports[cell['port']]} {kind} {seconds}\n"
                       for index, (begin, cell, kind, seconds) in enumerate(self.jobs)) + "\n"
