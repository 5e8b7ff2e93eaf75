"""Outages: how long a receiver waits behind a link that fails, beside kernel senders and through Squall's `tcp-backoff`."""
import math, statistics

from .cells import LINK
from .namespaces import Unfit
from .sides import LOSS_LINK, SQUALL, fetch_through_link, fetch_through_squall, need_built

ROUND_TRIPS = [20, 50, 100]  # ms
LENGTHS = [1, 2, 5, 10]  # s
QUEUE = 20  # packets, so that it adds 2.4 ms at most
BEGIN = 3.0  # s after the connect, and so much later for each further flow of a cell: all begin alike
LATER = 0.17
FIRST_PORT = 22_000
START_GAP = 1.2  # s between two flows, which need the whole link until their outage begins
WITHIN = 0.1  # of the kernel's median


class Flows:
    """The flows of all cells, as `fetch` wants a plan. Each flow has a port of its own, for its outage."""

    def __init__(self, count):
        self.cells = [{"roundTrip": round_trip, "length": length} for round_trip in ROUND_TRIPS for length in LENGTHS]
        self.flows = [{**cell, "cell": index, "begin": BEGIN + LATER * number, "sender": "cubic",
                       "port": FIRST_PORT + index * count + number}
                      for index, cell in enumerate(self.cells) for number in range(count)]
        # The long ones first.
        order = sorted(self.flows, key=lambda flow: -flow["length"])
        self.jobs = [(index * START_GAP, flow, flow["begin"] + 2.3 * flow["length"] + 2) for index, flow in enumerate(order)]
        self.seconds = max(begin + seconds for begin, _, seconds in self.jobs)

    def table(self, ports):
        return "".join(f"{index} {begin * 1000:.0f} {ports[flow['port']]} bulk {seconds}\n"
                       for index, (begin, flow, seconds) in enumerate(self.jobs)) + "\n"

    def stalls(self, results):
        """(cell, port, the longest gap around the outage in seconds) of each flow."""
        for index, (_, flow, _) in enumerate(self.jobs):
            result = results.get(index, {"error": "no result"})
            if "error" in result:
                raise Unfit(f"a flow failed: {result['error']}")
            moments = [moment for moment, _ in result["deliveries"] if moment > flow["begin"] * 1000 - 1000]
            gap = max((later - sooner for sooner, later in zip(moments, moments[1:])), default=math.nan)
            yield flow["cell"], flow["port"], gap / 1000


def kernel(flows, seed):
    """[(time of the retransmission that got through, its number, stall, log)] of each cell; the time is since the outage began."""
    def line(flow):
        return (f"{flow['port']} {LINK:.0f} {flow['roundTrip'] * 1000} {QUEUE} 0 1 0"
                f" {flow['begin'] * 1000:.0f} {flow['length'] * 1000}")
    results, logs, _ = fetch_through_link(flows.flows, flows, line, seed, lambda output: dict(transmissions(output)))
    found = [[] for _ in flows.cells]
    for cell, port, stall in flows.stalls(results):
        log = logs[port]
        if not log:
            raise Unfit("the server of a flow sent nothing after its outage")
        found[cell].append((log[-1][0] / 1000, sum(again for _, again in log), stall, log))
    return found


def transmissions(lines):
    """What the server's timers sent from each outage on: [(milliseconds since it began, whether again)]."""
    for line in lines:
        words = line.split()
        if words[0] == "flow":
            yield int(words[1]), [(float(time), name == "again") for name, time in
                                  (word.split("=") for word in words[8:])]


def profile(flow):
    return {"name": f"flow-{flow['port']}", "faults": [
        {"kind": "bandwidth", "stream": "downstream", "rate": "20 Mbit/s"},
        {"kind": "latency", "delay": f"{flow['roundTrip'] / 2:g} ms"},
        {"kind": "outage", "how": "silence", "recovery": "tcp-backoff", "rtt": f"{flow['roundTrip']} ms",
         "when": {"age": f"{flow['begin']:g} s..{flow['begin'] + flow['length']:g} s"}}]}


def proxy(flows, seed):
    """The stalls of each cell through Squall."""
    found = [[] for _ in flows.cells]
    for cell, _, stall in flows.stalls(fetch_through_squall(flows.flows, flows, profile, seed)):
        found[cell].append(stall)
    return found


def number(stall, round_trip):
    """The retransmission by which Squall went on: their times are 1 + 2 + 4 + … time-outs after the probe."""
    return round(math.log2(stall / (round_trip / 1000 + 0.2) + 1))


def compare(count, seed, verbose=False):
    """Prints the table; whether 10 of the 12 cells have the same retransmission, and its time within 10 %."""
    need_built(LOSS_LINK, "swift build -c release --product loss-link")
    need_built(SQUALL, "make build")
    flows = Flows(count)
    print(f"{count} flows a cell, twice {flows.seconds:.0f} s; s from the outage on: least, median, most; the retransmission")
    ours, theirs = proxy(flows, seed), kernel(flows, seed)
    print("outage  round trip |            kernel   number |            Squall   number | ratio of the medians")
    fine = 0
    for cell, kernels, stalls in zip(flows.cells, theirs, map(sorted, ours)):
        times = sorted(time for time, _, _, _ in kernels)
        median, squall = statistics.median(times), statistics.median(stalls)
        usual = statistics.mode(sorted(again for _, again, _, _ in kernels))
        same = usual == number(squall, cell["roundTrip"]) and abs(squall / median - 1) <= WITHIN
        fine += same
        print(f"{cell['length']:4} s  {cell['roundTrip']:7} ms | {times[0]:6.2f} {median:6.2f} {times[-1]:6.2f}   {usual:4}   |"
              f" {stalls[0]:6.2f} {squall:6.2f} {stalls[-1]:6.2f}   {number(squall, cell['roundTrip']):4}   |"
              f" {squall / median:5.2f}{'' if same else '  *'}")
        if verbose:
            for time, again, stall, log in kernels:
                print(f"    {time:.3f} {again}, without bytes for {stall:.3f}", *(f"{'again' if is_again else 'new'} {time:.0f}" for time, is_again in log))
    print(f"{fine} of {len(flows.cells)} cells hold; * doesn't")
    return fine >= 10
