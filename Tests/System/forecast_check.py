#!/usr/bin/env python3
"""Whether `squall plan` predicts what a run takes, for random valid profiles.

    make forecast-check                                    200 profiles, about 5 minutes
    python3 Tests/System/forecast_check.py --seed 7 --profiles 40 --jobs 4
    python3 Tests/System/forecast_check.py --kind loss --profiles 50 --tolerance 3     each with a loss, and within 3 %

Each profile has one to four faults of all kinds that take time, some of them in phases or by a duty cycle. The size of
the file is chosen so that the forecast is 2 to 6 s. Then `squall demo` sends the file through the profile with the same
seed, every fourth one as an upload if the forecast has an accuracy for it, and its time is compared with the forecast: it is within 3 %, or within 10 % where a fault is a loss, or within
30 ms, which is what starting the programs and waking them takes. A miss is run once more with nothing beside it, and
counts if that run misses as well.
Prints each miss with the path of its profile; exits 1 if there is one.
"""
import argparse, json, os, random, subprocess, sys, tempfile, time
from concurrent.futures import ThreadPoolExecutor

from kit.programs import ROOT, SQUALL

SHORTEST, LONGEST = 2.0, 6.0
TOLERANCE, LOSS_TOLERANCE, FLOOR = 0.03, 0.10, 0.030


def milliseconds(generator, low, high):
    """A duration whose logarithm is drawn evenly."""
    return f"{low * (high / low) ** generator.random():.0f} ms"


def rate(generator, low=100e3, high=20e6):
    return f"{low * (high / low) ** generator.random():.0f} B/s"


def latency(g):
    delay = g.randint(1, 120)
    fault = {"kind": "latency", "delay": f"{delay} ms"}
    if g.random() < 0.4:
        fault["jitter"] = f"{g.randint(1, delay)} ms"
    return fault


def bandwidth(g):
    form = g.choice(["steady", "steps", "repeat", "wave", "shared", "burst"])
    fault = {"kind": "bandwidth", "stream": "downstream"}
    if form == "wave":
        low = 10 ** g.uniform(5, 6.5)
        fault["wave"] = {"low": f"{low:.0f} B/s", "high": f"{low * g.uniform(1.5, 10):.0f} B/s",
                         "period": milliseconds(g, 200, 3000)}
    else:
        fault["rate"] = rate(g)
    if form in ("steps", "repeat"):
        moments = sorted(g.sample(range(100, 3000), g.randint(1, 3)))
        fault["steps"] = [{"after": f"{moment} ms", "rate": rate(g)} for moment in moments]
        if form == "repeat":
            fault["repeat"] = f"{moments[-1] + g.randint(50, 1000)} ms"
    if form == "burst":
        fault["burst"] = f"{g.randint(1, 256)} KiB"
    if form == "shared" or g.random() < 0.3:
        fault["per"] = g.choice(["proxy", "client", "global"])
    return fault


def slow_reader(g):
    return {"kind": "slow-reader", "stream": "downstream", "rate": rate(g, 200e3, 5e6)}


def stall(g):
    return {"kind": "stall", "stream": "downstream", "at": f"{g.randint(0, 200_000)} B", "for": milliseconds(g, 50, 1500)}


def slicing(g):
    return {"kind": "slice", "stream": "downstream", "size": f"{g.randint(200, 20_000)} B",
            "pause": f"{g.randint(1, 20)} ms"}


def trace(g):
    name = g.choice(["12mbit", "cell-edge"])
    return {"kind": "trace", "stream": "downstream",
            "file": os.path.join(ROOT, "Profiles", "traces", f"{name}.trace"), "queue": f"{g.choice([16, 64, 256, 1024])} KiB"}


def outage(g):
    how = g.choice(["silence", "silence", "reset", "refuse"])
    fault = {"kind": "outage", "how": how}
    if how == "silence" and g.random() < 0.3:
        fault["recovery"] = "tcp-backoff"
    if how == "silence":
        fault["when"] = {"duty": {"on": milliseconds(g, 20, 600), "off": milliseconds(g, 100, 1500)}}
    else:
        begin = g.randint(200, 2000)
        fault["when"] = {"clock": f"{begin} ms..{begin + g.randint(100, 800)} ms"}
    return fault


def cut(g):
    at = g.choice([{"at": [f"{g.randint(10_000, 2_000_000)} B" for _ in range(g.randint(1, 3))]},
                   {"after": milliseconds(g, 300, 1500), "when": {"connection": f"1..{g.randint(1, 2)}"}}])
    fault = {"kind": "cut", "how": g.choice(["close", "reset"]), **at}
    if "at" in at:
        fault["stream"] = "downstream"
    return fault


def connect(g):
    if g.random() < 0.4:
        # The end lies between two packets of a client, which come each second.
        return {"kind": "connect", "how": "hang", "when": {"clock": f"..{1000 * g.randint(0, 3) + g.randint(300, 900)} ms"}}
    return {"kind": "connect", "how": "delay", "for": milliseconds(g, 50, 1500), "when": {"connection": "1..2"}}


def http(g):
    return {"kind": "http", "answer": {"status": 503}, "when": {"connection": "1" if g.random() < 0.5 else "1..2"}}


def loss(g):
    return {"kind": "loss", "stream": "downstream", "rate": f"{10 ** g.uniform(-2, 0.5):.3f} %",
            "rtt": milliseconds(g, 5, 150), "sender": g.choice(["reno", "cubic", "bbr"]),
            "link": f"{10 ** g.uniform(0.5, 2):.1f} Mbit/s", **({"burst": g.randint(2, 6)} if g.random() < 0.3 else {})}


KINDS = [latency, latency, bandwidth, bandwidth, bandwidth, slow_reader, stall, slicing, trace, outage, cut, connect, http,
         loss]


def draw(seed, index, needed=None):
    """The profile of a number, as a dictionary; `needed` is the name of a kind that it has."""
    g = random.Random(f"{seed} {index}")
    faults = []
    kinds = g.sample(KINDS, g.randint(1, 4))
    if needed and needed not in [kind.__name__ for kind in kinds]:
        kinds[0] = next(kind for kind in KINDS if kind.__name__ == needed)
    for number, kind in enumerate(kinds):
        fault = kind(g)
        fault["name"] = f"{fault['kind']}-{number}"
        if fault.get("when", {}).get("connection", "").isdigit():
            fault["when"]["connection"] = int(fault["when"]["connection"])
        if "when" not in fault and g.random() < 0.2 and fault["kind"] in ("latency", "bandwidth", "trace", "slice"):
            fault["when"] = {"duty": {"on": milliseconds(g, 100, 1500), "off": milliseconds(g, 100, 1000)}}
        faults.append(fault)
    if not any(f["kind"] in ("bandwidth", "slow-reader", "trace", "loss") and "when" not in f for f in faults):
        # Something that the size of the file decides about.
        faults.append({"kind": "bandwidth", "name": "base", "stream": "downstream", "rate": rate(g, 300e3, 5e6)})
    profile = {"name": f"random-{index}", "faults": faults}
    if g.random() < 0.25:
        timed = [f for f in faults if f["kind"] in ("latency", "bandwidth", "stall", "slice")
                 and f.get("per", "connection") == "connection"]
        chosen = [f for f in timed if g.random() < 0.6][:2]
        profile["faults"] = [f for f in faults if f not in chosen]
        profile["phases"] = [
            {"name": "first", "for": milliseconds(g, 200, 1500), "faults": chosen[:1]},
            {"name": "second", "for": milliseconds(g, 200, 1500), "faults": chosen[1:]}]
        profile["repeat"] = g.random() < 0.7
        if not any(f["kind"] in ("bandwidth", "slow-reader", "trace", "loss") and "when" not in f
                   for f in profile["faults"]):
            profile["faults"].append(
                {"kind": "bandwidth", "name": "base again", "stream": "downstream", "rate": rate(g, 300e3, 5e6)})
    return profile


def plan(path, size, seed, direction):
    out = subprocess.run([SQUALL, "plan", path, "--size", f"{size}B", "--seed", str(seed), "--direction", direction,
                          "--events", "json"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if out.returncode:
        raise SystemExit(f"squall plan {path} ends with {out.returncode}: {out.stderr}")
    return json.loads(out.stdout.splitlines()[-1])


def choose(path, seed, direction):
    """A size, and its forecast; `None` where no size has one of 2 to 6 s, for an upload with an accuracy."""
    size = 1_000_000
    for _ in range(12):
        predicted = plan(path, size, seed, direction)
        seconds = predicted["seconds"]
        if predicted["outcome"] == "complete" and SHORTEST <= seconds <= LONGEST:
            return None if direction == "upstream" and "withinPercent" not in predicted else (size, predicted)
        factor = 3.0 / max(seconds, 0.05)
        size = int(min(2e9, max(1, size * min(max(factor, 0.1), 10))))
        if predicted["outcome"] != "complete":
            size //= 4
        if size < 1:
            return None
    return None


def run(path, size, seed, direction, folder):
    """What a run took, in seconds, and what it says of a machine that was too busy."""
    out = subprocess.run([SQUALL, "demo", path, "--direction", direction, "--size", f"{size}B", "--seed", str(seed),
                          "--events", "json"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120,
                         env={**os.environ, "TMPDIR": folder})
    for line in out.stdout.splitlines():
        event = json.loads(line)
        if event["event"] == "finished":
            return event["seconds"], out.stderr.strip()
    return None, (out.stdout[-300:] + out.stderr[-300:])


def holds(seconds, predicted, tolerance):
    return seconds is not None and abs(seconds - predicted) <= max(FLOOR, tolerance * seconds)


class Case:
    def __init__(self, arguments, folder, index):
        self.seed = arguments.seed * 1000 + index
        self.profile = draw(arguments.seed, index, arguments.kind)
        self.direction = "upstream" if index % 4 == 3 else "downstream"
        faults = self.profile["faults"] + [f for p in self.profile.get("phases", []) for f in p["faults"]]
        for fault in faults:
            if "stream" in fault:
                fault["stream"] = self.direction
        self.path = os.path.join(folder, f"random-{index}.json")
        with open(self.path, "w") as file:
            json.dump(self.profile, file, indent=1)
        self.kinds = sorted({fault["kind"] for fault in faults})
        self.tolerance = LOSS_TOLERANCE if "loss" in self.kinds else TOLERANCE
        if arguments.tolerance is not None:
            self.tolerance = arguments.tolerance / 100
        self.size = self.predicted = self.seconds = None
        self.retried = False
        self.told = ""

    def measure(self, folder):
        chosen = choose(self.path, self.seed, self.direction)
        if chosen:
            self.size, prediction = chosen
            self.predicted = prediction["seconds"]
            self.seconds, self.told = run(self.path, self.size, self.seed, self.direction, folder)

    @property
    def holds(self):
        return holds(self.seconds, self.predicted, self.tolerance)

    @property
    def deviation(self):
        return (self.predicted - self.seconds) / self.seconds if self.seconds else float("nan")

    def line(self):
        taken = f"{self.seconds:.3f} s" if self.seconds is not None else f"no end: {self.told}"
        return (f"{self.path} ({', '.join(self.kinds)}; --direction {self.direction} --size {self.size}B --seed {self.seed}): "
                f"predicted {self.predicted:.3f} s, took {taken} ({self.deviation * 100:+.1f} %) {self.told}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="the seed of the profiles (default: 1)")
    parser.add_argument("--profiles", type=int, default=200, help="how many (default: 200)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first (default: 0)")
    parser.add_argument("--jobs", type=int, default=4, help="runs at a time (default: 4)")
    parser.add_argument("--keep", help="the folder of the profiles (default: a new one)")
    parser.add_argument("--kind", choices=sorted({kind.__name__ for kind in KINDS}), help="a fault that each profile has")
    parser.add_argument("--tolerance", type=float, help="percent, instead of 3, or 10 with a loss")
    arguments = parser.parse_args()
    folder = arguments.keep or tempfile.mkdtemp(prefix="squall-forecast-")
    os.makedirs(folder, exist_ok=True)
    cases = [Case(arguments, folder, index) for index in range(arguments.first, arguments.first + arguments.profiles)]
    start = time.monotonic()
    with ThreadPoolExecutor(arguments.jobs) as pool:
        list(pool.map(lambda case: case.measure(folder), cases))
    measured = [case for case in cases if case.size]
    for case in measured:
        if not case.holds:
            print("again, alone:", case.line(), flush=True)
            case.seconds, case.told = run(case.path, case.size, case.seed, case.direction, folder)
            case.retried = True
    misses = [case for case in measured if not case.holds]
    deviations = sorted(abs(case.deviation) for case in measured if case.seconds)
    for case in misses:
        print("MISS", case.line())
    if deviations:
        parts = [0.5, 0.9, 0.95, 0.99, 1]
        figures = ", ".join(f"{part * 100:.0f} %: {deviations[min(len(deviations) - 1, int(part * len(deviations)))] * 100:.2f} %"
                            for part in parts)
        print(f"deviation of the forecast from the run, by quantile: {figures}")
    unusable = len(cases) - len(measured)
    print(f"{len(measured) - len(misses)} of {len(measured)} forecasts hold"
          f" ({sum(case.retried for case in measured)} were run again"
          f"{f'; {unusable} profiles have no size that takes 2 to 6 s' if unusable else ''}),"
          f" seed {arguments.seed}, {time.monotonic() - start:.0f} s")
    if misses:
        sys.exit(1)


if __name__ == "__main__":
    main()
