#!/usr/bin/env python3
"""Whether `squall test` judges real clients rightly, and leaves nothing behind when it is killed.

    make stage                                       about 2 minutes
    python3 Tests/System/stage.py postgres redis       some of the parts: postgres, redis, grpc, killed
    python3 Tests/System/stage.py killed --seed 7      other moments to kill it at

pgbench, redis-benchmark and a gRPC client are the commands, each alone and with reconnection. What is expected:

first-two-fail  a connection is reset after 64 KiB: a client that doesn't reconnect fails, one that does passes
wifi-roam       the network is silent for 1.5 s, and no connection is lost: pgbench and redis-benchmark wait, and pass with and
                without reconnection. The gRPC calls have a deadline of 1 s, so they fail unless they are repeated

The cases of first-two-fail are made with `--exec` as well, where the client knows of no proxy. Of each run the verdict has to be the expected one, the fault has to be in the figures, and a failed run has to say that the
command passes without faults and how to repeat it. Then `squall test` is killed by SIGKILL at 50 random moments: no process, no
socket and no folder may be left. Exits 1 if something doesn't hold.
"""
import argparse, concurrent.futures, contextlib, json, os, random, re, shutil, signal, subprocess, sys, tempfile, time

from kit import postgres, programs, redis as cache
from kit.verdicts import finish, verdict

GRPC = os.path.join(programs.ROOT, ".build", "grpc")
BLOCKS = os.path.join(programs.ROOT, "Tests/System/kit/grpc_blocks.py")
AGAIN = ["sh", "-c", 'for attempt in 1 2 3 4 5; do "$@" && exit 0; echo "attempt $attempt failed"; done; exit 1', "again"]
KILLS, LONGEST, PATIENCE = 50, 1.5, 10


def environment(**more):
    plain = {name: value for name, value in os.environ.items() if not name.startswith("GITHUB_")}
    return {"SQUALL_PROFILES": os.path.join(programs.ROOT, "Profiles"), **plain, "PYTHONPATH": GRPC, **more}


class Case:
    """A command behind a profile, and the verdict that it ought to have."""

    def __init__(self, step, port, profile, passes, what, command):
        self.step, self.port, self.profile, self.passes, self.what, self.command = step, port, profile, passes, what, command
        self.way = ["--upstream", f"127.0.0.1:{port}"]

    def supervised(self):
        """The same with `--exec`, for the server itself."""
        words = {"{proxy}": f"127.0.0.1:{self.port}", "{proxy.host}": "127.0.0.1", "{proxy.port}": str(self.port)}
        made = Case(self.step, self.port, self.profile, self.passes, f"{self.what}, by --exec", [words.get(word, word) for word in self.command])
        made.way = ["--exec"]
        return made

    def run(self):
        fault = "faults(cut) >= 1" if self.profile == "first-two-fail" else "faults(outage) >= 1"
        if self.passes and self.profile == "wifi-roam":
            fault += " && time > 9.6 s"  # The slow handover ends then.
        began = time.monotonic()
        process = programs.start([programs.SQUALL, "test", "--profile", self.profile, *self.way, "--time-limit", "60 s", "--expect", fault,
                                  "--", *self.command],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                 env=environment())
        try:
            output, _ = process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            output = "no end after 120 s"
        finally:
            programs.end(process)
        self.code, self.output, self.seconds = process.returncode, output, time.monotonic() - began
        return self

    def judge(self):
        line = next((line for line in self.output.splitlines() if re.match("pass|FAIL", line)), "no line of a run")
        problems = []
        if self.code != (0 if self.passes else 1) or not line.startswith("pass" if self.passes else "FAIL"):
            problems.append(f"exit code {self.code}")
        if not self.passes:
            # The command's own failure, and nothing else: not a fault that is missing, and not the time limit.
            reasons = re.findall(r"^\S.* failed: (.*)$", self.output, re.MULTILINE)
            if len(reasons) != 1 or not re.fullmatch(r"the command exited with \d+", reasons[0]):
                problems.append(f"the reasons are {reasons}")
            if "The command passes without faults, with seed " not in self.output:
                problems.append("it isn't said that the command passes without faults")
            if "repeat it: squall test" not in self.output:
                problems.append("no line to repeat it")
        wanted = "pass" if self.passes else "FAIL"
        verdict(self.step, not problems, f"{self.what}: expected {wanted}, came {re.sub(r'  +', '  ', line)}"
                f" ({self.seconds:.1f} s in all){': ' + '; '.join(problems) if problems else ''}")
        if problems:
            print("\n".join(f"    | {line}" for line in self.output.splitlines()[-30:]), flush=True)


def both(step, port, name, short, long):
    """The cases of a client that doesn't reconnect: behind both profiles, alone and started again when it fails."""
    return [Case(step, port, "first-two-fail", False, f"{name} alone", short),
            Case(step, port, "first-two-fail", True, f"{name}, again on a failure", [*AGAIN, *short]),
            Case(step, port, "wifi-roam", True, f"{name} alone", long),
            Case(step, port, "wifi-roam", True, f"{name}, again on a failure", [*AGAIN, *long])]


@contextlib.contextmanager
def of_postgres():
    with postgres.Postgres() as database, tempfile.TemporaryDirectory(prefix="squall-stage-") as folder:
        script = os.path.join(folder, "blocks.sql")
        with open(script, "w") as file:
            file.write("select repeat('x', 8000);\n")
        pgbench = ["pgbench", "-h", "{proxy.host}", "-p", "{proxy.port}", "-U", "squall", "-n", "-c", "1", "-f", script]
        yield both("postgres", database.port, "pgbench", [*pgbench, "-t", "50", "postgres"], [*pgbench, "-T", "10", "postgres"])


@contextlib.contextmanager
def of_redis():
    with cache.Redis() as server:
        benchmark = ["redis-benchmark", "-h", "{proxy.host}", "-p", "{proxy.port}", "-c", "1", "-t", "get", "-q", "-n"]
        # Behind wifi-roam a round trip has two delays of 3 ms in the mean: 1,600 of them last 9.6 s at least, silence aside.
        yield both("redis", server.port, "redis-benchmark", [*benchmark, "300"], [*benchmark, "1600"])


@contextlib.contextmanager
def of_grpc():
    port = programs.free_port()
    server = programs.start([sys.executable, BLOCKS, "serve", str(port)], stdin=subprocess.DEVNULL, env=environment())
    try:
        programs.wait_until_listening(server, port)
        call = [sys.executable, BLOCKS, "call", "{proxy}"]
        yield [Case("grpc", port, profile, repeats == "again", f"calls made {repeats}", [*call, repeats, amount])
               for profile, amount in (("first-two-fail", "30"), ("wifi-roam", "10s")) for repeats in ("once", "again")]
    finally:
        programs.end(server)


def marked(mark):
    """The processes whose environment has a mark."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{name}/environ", "rb") as file:
                if mark.encode() in file.read():
                    found.append(int(name))
    return found


def leftovers(mark, folder):
    sockets = [line.split()[-1] for line in programs.machine.read("/proc/net/unix").splitlines() if folder in line]
    return [f"process {pid}" for pid in marked(mark)] + [f"socket {path}" for path in sockets] + os.listdir(folder)


# Processes in the command's group, in sessions of their own, and one whose parent has ended.
COMMAND = "sleep 300 & setsid sleep 300 & setsid -f sh -c 'sleep 300 & exec sleep 300'; (setsid sleep 300 &); exec sleep 300"


def killed(seed):
    draws = random.Random(seed)
    clean, working, slowest, most = 0, 0, 0.0, 0
    for number in range(1, KILLS + 1):
        mark = f"SQUALL_STAGE_MARK={os.getpid()}-{number}-"
        folder, inputs = (tempfile.mkdtemp(prefix=f"squall-{kind}-", dir="/tmp") for kind in ("kill", "input"))
        scenario = os.path.join(inputs, "scenario.json")
        way = {"exec": True} if number % 2 else {
            "proxies": [{"name": "cache", "listen": "unix", "upstream": "127.0.0.1:9"}, {"name": "db", "upstream": "127.0.0.1:9"}]}
        with open(scenario, "w") as file:
            json.dump({"name": "killed", "profiles": ["wifi-roam"], "seeds": "1..2", "jobs": 2, "command": ["sh", "-c", COMMAND], **way}, file)
        name, _, value = mark.partition("=")
        process = programs.start([programs.SQUALL, "test", scenario], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL, env=environment(TMPDIR=folder, **{name: value}))
        try:
            moment = draws.uniform(0, LONGEST)
            time.sleep(moment)
            before = leftovers(mark, folder)
            if process.poll() is not None:
                verdict("killed", False, f"run {number} had ended by itself before {moment:.3f} s")
            os.kill(process.pid, signal.SIGKILL)
            began = time.monotonic()
            process.wait()
            while (left := leftovers(mark, folder)) and time.monotonic() < began + PATIENCE:
                time.sleep(0.01)
            took = time.monotonic() - began
            is_working = len(before) >= 10 and ("exec" in way or any(one.startswith("socket") for one in before))
            clean, working, most = clean + (not left), working + is_working, max(most, len(before))
            slowest = max(slowest, took)
            if left:
                verdict("killed", False, f"run {number}, after {moment:.3f} s: {left} is left after {took:.1f} s")
        finally:
            for pid in marked(mark):  # Only what this run has started carries its mark.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            programs.end(process)
            for path in (folder, inputs):
                shutil.rmtree(path, ignore_errors=True)
    verdict("killed", clean == KILLS, f"nothing left in {clean} of {KILLS} (seed {seed}); gone {slowest:.2f} s after SIGKILL at most")
    verdict("killed", working >= KILLS // 2,
            f"in {working} of them the command was at work, with up to {most} processes, sockets and folders")


PARTS = {"postgres": of_postgres, "redis": of_redis, "grpc": of_grpc}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, "killed", []], help="the parts; all by default")
    parser.add_argument("--seed", type=int, default=20, help="the seed of the moments to kill it at")
    options = parser.parse_args()
    programs.need_squall()
    if missing := [name for name in ("pgbench", "redis-server", "redis-benchmark", "setsid") if not shutil.which(name)]:
        raise SystemExit(f"missing: {', '.join(missing)} (scripts/install.sh stage installs them)")
    parts, began = options.parts or [*PARTS, "killed"], time.monotonic()
    with contextlib.ExitStack() as stack:
        cases = [case for part in PARTS if part in parts for case in stack.enter_context(PARTS[part]())]
        cases += [case.supervised() for case in cases if case.profile == "first-two-fail"]
        # Two at a time: most of a case is waiting for the clock.
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for case in pool.map(Case.run, cases):
                case.judge()
    if "killed" in parts:
        killed(options.seed)
    print(f"{time.monotonic() - began:.0f} s")
    finish()


if __name__ == "__main__":
    main()
