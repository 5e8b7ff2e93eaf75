#!/usr/bin/env python3
"""Squall beside other proxies, on loopback, in one interleaved run.

    make bench                                     everything, about 27 minutes; writes Benchmarks/RESULTS.md
    python3 Benchmarks/bench.py --quick            everything, too short to trust, about 2 minutes
    python3 Benchmarks/bench.py --cases conn,rr    only these: typical conn bulk rr idle loops heads accuracy
    python3 Benchmarks/bench.py --peers squall,haproxy-splice --cases bulk --rounds 9
    python3 Benchmarks/bench.py --cases bulk --congestion reno      all of them without pacing
    python3 Benchmarks/bench.py --old BINARY       this build of Squall and another, in turns
    TOXIPROXY=/opt/toxiproxy-server python3 Benchmarks/bench.py     with Toxiproxy

Prints a table for each case and the verdict on each promise. What is measured and how, and how to add a peer, is in
Benchmarks/README.md. A run that leaves something out, or is quick, writes its page to .build/bench/RESULTS.md.
"""
import argparse, datetime, json, os, statistics, subprocess, sys, time

from measuring import accuracy, cases, heads, peers, programs, promises, report, typical
from kit import machine, network

GROUPS = {"typical": (), "conn": peers.CONNECTIONS, "bulk": peers.BULK, "rr": peers.ROUNDS, "idle": ("idle",), "loops": peers.LOOPS,
          "heads": (), "accuracy": ()}
# What two binaries are compared in, if nothing else is said.
BESIDE_OLD = ("typical", "conn", "bulk", "rr", "loops")
# From so much of a core that others use on, a sample is taken again, once.
DISTURBED = 0.25


class Scale:
    """How long and how much: for a run to trust, and for one that only shows that everything works."""

    def __init__(self, quick):
        self.quick = quick
        self.bulk_seconds = 0.3 if quick else 0.4
        self.connections = 1_500 if quick else 12_000
        self.round_seconds = 0.3 if quick else 0.5
        self.idle_connections = 1_000 if quick else 8_000
        self.pause = 0.3 if quick else 1.0
        self.rate_seconds = 1.5 if quick else 5
        self.delay_seconds = 1 if quick else 2
        self.delay_turns = 1 if quick else 5
        self.typical_seconds = 0.5 if quick else 2
        self.typical_rounds = 1 if quick else 3
        self.forecasts = {}
        # Who runs beside whom is decided anew for each sample, and what others do to the machine changes as well: several
        # short samples tell more than a long one.
        self.passes = 1 if quick else 3
        # And then this often those alone that are nearly the same.
        self.close_passes = 0 if quick else 4


class Run:
    def __init__(self, options):
        self.options, self.scale = options, Scale(options.quick)
        self.chosen = [peer for peer in peers.PEERS if not options.peers or peer.name in options.peers]
        if options.old:
            ours = [peer for peer in self.chosen if "{squall}" in peer.command]
            self.chosen = [one for peer in ours for one in (peer, peer.twin())] + \
                [peer for peer in self.chosen if options.peers and peer not in ours]
        self.typical = {}
        self.results, self.notes, self.again, self.start = {}, [], 0, time.monotonic()
        self.stolen, self.spent, self.lateness = machine.stolen_seconds(), machine.machine_seconds(), []
        for peer in [peer for peer in self.chosen if not peer.is_there()]:
            self.note(f"`{peer.name}` was left out: `{peer.program}` is missing")
            self.chosen.remove(peer)

    def tell(self, text):
        if not self.options.silent:
            print(f"{time.monotonic() - self.start:6.0f} s  {text}", flush=True)

    def note(self, text):
        self.notes.append(text)
        self.tell(text.replace("`", ""))

    def keep(self, case, peer, turn, sample):
        rows = self.results.setdefault(case, {}).setdefault(peer.name, [])
        rows += [None] * (turn - len(rows)) + [sample]

    def out_of_time(self):
        return time.monotonic() - self.start > self.options.minutes * 60

    def sample(self, case, peer, proxy, backend):
        try:
            found = cases.run(case, proxy, backend, self.scale)
            if found["others"] > DISTURBED and not self.options.quick:
                self.again += 1
                other = cases.run(case, proxy, backend, self.scale)
                found = min(found, other, key=lambda sample: sample["others"])
            return found
        except (programs.Failure, OSError) as failure:
            self.note(f"`{case}` of `{peer.name}` failed: {failure}")
            return None

    def round(self, turn, wanted):
        """One round: every proxy is started, and each case goes from proxy to proxy, in another order each time."""
        running, backend = {}, programs.Backend()
        try:
            for peer in self.chosen:
                if not set(wanted) & set(peer.cases):
                    continue
                try:
                    running[peer] = programs.Proxy(peer, backend.port)
                    if turn == 0 and not programs.echoes(running[peer].port):
                        self.note(f"`{peer.name}` did not give back what it was given")
                except (programs.Failure, OSError) as failure:
                    self.note(str(failure))
            for case in wanted:
                if case in peers.ROUNDS:
                    machine.wait_for_ended_connections()
                those = [peer for peer in running if case in peer.cases]
                first = turn * len(those) // self.options.rounds
                those = those[first:] + those[:first]
                close = [peer for peer in those if self.options.old or peer.name in peers.CLOSE.get(case, ())]
                passes = [those] * (1 if case in peers.LOOPS else self.scale.passes)
                passes += [close] * (self.scale.close_passes if len(close) > 1 else 0)
                for number, these in enumerate(passes):
                    for peer in these[::-1] if (turn + number) % 2 else these:
                        self.keep(case, peer, turn * len(passes) + number,
                                  self.sample(case, peer, running[peer], backend))
        finally:
            for proxy in running.values():
                proxy.close()
            backend.__exit__()

    def idle_round(self, turn):
        for peer in [peer for peer in self.chosen if "idle" in peer.cases]:
            try:
                self.keep("idle", peer, turn, cases.idle(peer, self.scale))
            except (programs.Failure, OSError) as failure:
                self.note(f"`idle` of `{peer.name}` failed: {failure}")
                self.keep("idle", peer, turn, None)

    def typical_profiles(self):
        """Round by round under each congestion control, every proxy after the other."""
        own = network.control()
        controls = [own] if self.options.congestion else [name for name in typical.CONTROLS if network.control(name)]
        if not controls:
            controls = [own]
            self.note("typical profiles have the machine's congestion control alone: another can't be set here")
        if not self.scale.quick:
            self.scale.forecasts = {case: typical.forecast(case) for case in typical.SIZES}
        pairs = [(case, peer) for case, peer in typical.peers(self.options.old) if peer.is_there()]
        rounds = min(self.scale.typical_rounds, self.options.rounds)
        for turn in range(rounds):
            for control in controls[::-1] if turn % 2 else controls:
                network.control(control)
                self.tell(f"typical profiles, {control}, round {turn + 1} of {rounds}")
                for case, peer in pairs[::-1] if turn % 2 else pairs:
                    try:
                        sample = typical.sample(case, peer, self.scale)
                    except (programs.Failure, OSError) as failure:
                        self.note(f"`{case}` of `{peer.name}` failed: {failure}")
                        sample = None
                    key = f"{case}, {control}"
                    self.typical.setdefault(key, {}).setdefault(peer.name, []).append(sample)
        order = [f"{case}, {control}" for case in typical.CASES for control in controls]
        names = list(dict.fromkeys(peer.name for _, peer in pairs))
        self.typical = {key: {name: self.typical[key][name] for name in names if name in self.typical[key]}
                        for key in order if key in self.typical}
        network.control(own)

    def everything(self):
        """Case by case and peer by peer, and the accuracy of Squall."""
        if "typical" in self.options.cases:
            self.typical_profiles()
        wanted = [case for group in self.options.cases for case in GROUPS[group] if case != "idle"]
        for peer in self.chosen:  # In the order of the table, whatever the order of the first round.
            for case in peer.cases:
                if case in wanted or (case == "idle" and "idle" in self.options.cases):
                    self.results.setdefault(case, {})[peer.name] = []
        for turn in range(self.options.rounds if wanted else 0):
            if self.out_of_time():
                self.note(f"the time was over after {turn} of {self.options.rounds} rounds")
                break
            self.tell(f"round {turn + 1} of {self.options.rounds}: {' '.join(wanted)}")
            self.round(turn, wanted)
        idle_rounds = min(2, self.options.rounds) if "idle" in self.options.cases else 0
        for turn in range(idle_rounds):
            self.tell(f"idle connections, round {turn + 1} of {idle_rounds}")
            self.idle_round(turn)
        found = {}
        if "accuracy" in self.options.cases and any(peer.name == "squall" for peer in self.chosen):
            self.tell("accuracy")
            self.lateness.append(machine.lateness())
            found = accuracy.measure(self.scale, self.tell)
            self.lateness.append(machine.lateness())
        if "heads" in self.options.cases:
            self.tell("heads")
            found["heads"] = heads.measure()
            if not found["heads"]:
                self.note("heads were not measured: `swift build -c release --product head-reading` builds what does it")
        if self.again:
            self.note(f"{self.again} samples were taken twice, since others used more than {DISTURBED} cores")
        return found

    def facts(self, description):
        commit = subprocess.run(["git", "-C", programs.ROOT, "rev-parse", "--short", "HEAD"], stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, text=True).stdout.strip() or "unknown"
        took = time.monotonic() - self.start
        lengths = "quick: too short to trust" if self.options.quick else f"{self.options.rounds}, interleaved"
        others = [sample["others"] for case in self.results.values() for rows in case.values() for sample in rows
                  if sample and "others" in sample]
        busy = f"{statistics.median(others):.2f} cores in the median, {max(others):.2f} at most" if others else "–"
        stolen = machine.stolen_seconds() - self.stolen
        stolen /= max(1, stolen + machine.machine_seconds() - self.spent)
        late = ", ".join(f"p50 {p50:+,.0f} and p99 {p99:+,.0f} µs" for p50, p99 in self.lateness)
        sleeps = {"a sleep of 1 ms, before and after accuracy": late} if late else {}
        return {"date": datetime.date.today().isoformat(), "commit": commit, **description, "rounds": lengths,
                "used by others meanwhile": busy, "taken by the host": f"{stolen:.1%} of what was wanted of its processors",
                **sleeps, "took": f"{took / 60:.1f} min"}


def versions(chosen):
    told = {"squall": machine.first_line([programs.SQUALL, "--version"]), "cc": machine.first_line(["cc", "--version"])}
    return told | {peer.name: machine.first_line(peer.version) for peer in chosen if peer.version}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [peer.name for peer in peers.PEERS]
    parser.add_argument("--quick", action="store_true", help="short samples, one round")
    parser.add_argument("--cases", default=",".join(GROUPS), help=f"some of {','.join(GROUPS)}")
    parser.add_argument("--peers", default="", help=f"some of {','.join(names)}; all of them if nothing is said")
    parser.add_argument("--rounds", type=int, help="how often everything is measured (5; 1 when quick)")
    parser.add_argument("--minutes", type=float, default=16, help="no round begins after so long (16)")
    parser.add_argument("--congestion", metavar="NAME", help="the system's congestion control meanwhile, in a network "
                        "namespace: reno, or what the machine has; as the machine has it if nothing is said")
    parser.add_argument("--old", metavar="BINARY", help="another build of squall, measured in turns with this one")
    parser.add_argument("--json", metavar="FILE", help="the raw figures, sample by sample")
    parser.add_argument("--results", metavar="FILE", help="where the page goes")
    parser.add_argument("--silent", action="store_true", help="no line for each step")
    options = parser.parse_args()
    if options.old:
        if not os.access(options.old, os.X_OK):
            parser.error(f"--old {options.old} is no program")
        programs.OLD = os.path.abspath(options.old)
        if options.cases == ",".join(GROUPS):
            options.cases = ",".join(BESIDE_OLD)
    options.complete = not (options.quick or options.peers or options.congestion or options.old) and options.cases == ",".join(GROUPS)
    for name, known in (("cases", list(GROUPS)), ("peers", names)):
        words = [word for word in getattr(options, name).split(",") if word]
        unknown = [word for word in words if word not in known]
        if unknown:
            parser.error(f"--{name} knows no {unknown[0]}, only {', '.join(known)}")
        setattr(options, name, words)
    options.rounds = options.rounds or (1 if options.quick else 5)
    folder = os.path.join(programs.ROOT, "Benchmarks") if options.complete else programs.BUILT
    options.results = options.results or os.path.join(folder, "RESULTS.md")
    return options


def main():
    options = parse()
    programs.prepare()
    try:
        surroundings = network.enter(options.congestion)
    except OSError as error:
        sys.exit(f"--congestion {options.congestion}: {error.strerror}. It needs a network namespace, and a way that "
                 "/proc/sys/net/ipv4/tcp_allowed_congestion_control names")
    description = machine.description() | {"network": surroundings}
    run = Run(options)
    found = run.everything()
    held = promises.judge(run.results, found) + promises.judge_forecasts(run.typical) + \
        promises.judge_old(run.results, run.typical)
    if not options.complete:
        held = [one for one in held if one.verdict != "not measured"]
    told = versions(run.chosen)
    facts = run.facts(description)
    print("\n" + report.terminal(run.results, found, run.typical, held))
    with open(options.results, "w") as file:
        file.write(report.page(facts, told, held, run.notes))
    with open(os.path.join(os.path.dirname(options.results), "FIGURES.txt"), "w") as file:
        file.write(report.figures(run.results, found, run.typical, held))
    print(f"\nwritten: {os.path.relpath(options.results)}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"facts": facts, "versions": told, "results": run.results, "typical": run.typical, "accuracy": found, "notes": run.notes,
                       "promises": [vars(one) | {"verdict": one.verdict} for one in held]}, file, indent=1)


if __name__ == "__main__":
    main()
