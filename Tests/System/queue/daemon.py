#!/usr/bin/env python3
"""Whether the daemon of `squall queue` keeps its promises when it is killed, when something is missing, and when idle.

    make queue                                        every part, with a release build (8 minutes; as root)
    python3 Tests/System/queue/daemon.py PART…        only these parts: kills waits network thousand night
    python3 Tests/System/queue/daemon.py kills --seed 7 --kills 20

kills     100 jobs, half of them uploads, while the daemon is killed 100 times, at random moments. Two daemons are started
          each time, and one of them ends with 75. All jobs finish with equal digests. No request of a
          download repeats more than 2 s of its rate and 256 KiB, and no kill has uploads send more than 128 KiB twice, on
          the average. Each completion is reported at least once, and is
          one event
waits     a full disk, a folder that isn't mounted, a 401 and an expired URL: four jobs wait with their reasons while 20
          finish, and finish when they are given what they need. Needs the right to mount
network   the network goes and comes back: no thread of the daemon wakes up in 10 s without it, and the job goes on within
          1 s of the route. Needs the right to make a network namespace
thousand  1,000 waiting jobs: at most 8 MiB more than none, ready after 200 ms (the median of five starts), and at most 10 ms
          of a processor in 10 s
night     a download over a slow Wi-Fi that loses and resets, with a window of the night: everything is stopped twice
          (SIGSTOP), and the clock of the daemon jumps. The file is whole in the morning

Prints a line for each promise; exits 1 if one doesn't hold. Loopback and free ports only.
"""
import argparse, ctypes, json, os, random, shutil, signal, statistics, subprocess, sys, tempfile, time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.append(os.path.dirname(os.path.abspath(__file__)))
from files import Files, Relay
from kit import machine, network, programs
from kit.programs import SQUALL, Failure
from kit.squall import Origin, Program, digest
from kit.verdicts import finish, verdict

# What a connection of the kills has; what may be in its sockets, with the 64 KiB that a download repeats; and what a kill may
# have four uploads send twice.
RATE, UNDER_WAY, UPLOADED_TWICE = 768 << 10, 256 << 10, 128 << 10
CHECKPOINT = 2  # seconds, and 8 MiB at most: docs/queue.md
PATIENCE = 300


class Queue:
    """A queue in a folder of its own, and its daemon."""

    def __init__(self, **environment):
        self.folder = tempfile.mkdtemp(prefix="queue-")
        self.environment = {**os.environ, "XDG_STATE_HOME": self.folder, **environment}
        self.daemon = None

    def __enter__(self):
        return self

    def __exit__(self, error, *_):
        if error:
            for name in ("daemon.log", "daemon.out"):
                sys.stderr.write(machine.read(os.path.join(self.folder, "squall/queues/default", name))[-4096:])
        programs.end(self.daemon)
        shutil.rmtree(self.folder, ignore_errors=True)

    def spawn(self, *arguments):
        return programs.start([SQUALL, "queue", "serve", "--stay", *arguments], env=self.environment, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def serve(self, *arguments):
        """Starts the daemon; returns how long it took to be ready."""
        began = time.monotonic()
        self.daemon = self.spawn(*arguments)
        if not self.daemon.stdout.readline().startswith("ready: "):
            raise Failure(f"the daemon doesn't start: {self.daemon.stderr.read()}")
        return time.monotonic() - began

    def kill(self):
        self.daemon.kill()
        programs.end(self.daemon)
        self.daemon = None

    def call(self, *arguments):
        done = subprocess.run([SQUALL, "queue", *arguments], env=self.environment, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        if done.returncode:
            raise Failure(f"squall queue {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def submit(self, *arguments):
        return int(self.call("submit", *arguments).split()[-1])

    def jobs(self):
        """The status of each job by its number."""
        told = map(json.loads, self.call("status", "--events", "json").splitlines())
        return {status["job"]: status for status in told}

    def wait(self, holds, what, seconds=PATIENCE):
        end = time.monotonic() + seconds
        while not holds(jobs := self.jobs()):
            if time.monotonic() > end:
                raise Failure(f"{what}: {[(job['job'], job['phase'], job.get('reason')) for job in jobs.values()]}")
            time.sleep(0.2)
        return jobs


def are_complete(jobs):
    return all(job["phase"] == "completed" for job in jobs.values())


# Kills


def kills(seed, count):
    generator = random.Random(seed)
    files, uploads = Files(RATE), Relay_of_origin()
    with uploads, Queue() as queue:
        told, downloads, sizes, wanted = os.path.join(queue.folder, "told"), {}, {}, {}
        queue.serve()
        command = f'echo "$SQUALL_JOB $SQUALL_EVENT $SQUALL_PHASE" >>{told}'
        for index in range(100):
            size = generator.randrange(256 << 10, 8 << 20)
            if index % 2:
                path = f"/{index}"
                name = os.path.join(queue.folder, f"down-{index}")
                found = files.add(path, size)
                job = queue.submit(files.url(path), "--output", name, "--on-event", command)
                downloads[job] = path
            else:
                source = os.path.join(queue.folder, f"up-{index}")
                with open(source, "wb") as file:
                    file.write(generator.randbytes(size))
                found = digest(source)
                name = os.path.join(uploads.origin.folder, str(index))
                job = queue.submit(f"http://127.0.0.2:{uploads.relay.port}/{index}", "--upload", source,
                                   "--on-event", command)
            sizes[job], wanted[job] = size, (name, found)
        active = refused = 0
        for _ in range(count):
            time.sleep(generator.uniform(0, 1))
            active += not are_complete(queue.jobs())
            queue.kill()
            both = [queue.spawn(), queue.spawn()]
            lines = ThreadPoolExecutor(2).map(lambda one: one.stdout.readline(), both)
            ready = [one for one, line in zip(both, lines) if line.startswith("ready: ")]
            others = [one for one in both if one not in ready]
            refused += len(ready) == 1 and others[0].wait(20) == 75
            for other in others:
                programs.end(other)
            if not ready:
                raise Failure("none of two daemons is ready")
            queue.daemon = ready[0]
        jobs = queue.wait(lambda jobs: are_complete(jobs), "jobs don't end")
        equal = sum(os.path.exists(name) and digest(name) == found == jobs[job]["sha256"]
                    for job, (name, found) in wanted.items())
        verdict("kills", len(jobs) == 100 and equal == 100,
                f"{equal} of 100 jobs have ended with equal digests, after {count} kills, {active} of them during transfers")
        verdict("kills", refused == count, f"one of two daemons ended with 75 at {refused} of {count} starts")
        repeated = [count for path in downloads.values() for count in files.repeated(path)]
        verdict("kills", max(repeated) <= CHECKPOINT * RATE + UNDER_WAY,
                f"downloads got {sum(repeated) >> 10} KiB twice in {len(repeated)} further requests, at most "
                f"{max(repeated) >> 10} KiB in one (checkpoint: {CHECKPOINT * RATE >> 10})")
        sent, size = uploads.relay.count, sum(sizes[job] for job in sizes if job not in downloads)
        verdict("kills", sent - size <= count * UPLOADED_TWICE,
                f"uploads of {size >> 20} MiB sent {(sent - size) >> 10} KiB twice, heads included")
        queue.wait(lambda _: len({line.split()[0] for line in open(told)}) == 100, "completions aren't reported", 60)
        events = [line.split() for line in open(told)]
        numbers = {}
        for job, event, phase in events:
            numbers.setdefault(int(job), set()).add((event, phase))
        verdict("kills", all(len(found) == 1 and {phase for _, phase in found} == {"completed"}
                             for found in numbers.values()) and set(numbers) == set(wanted),
                f"{len(numbers)} completions were reported, {len(events) - len(numbers)} of them once more, each as one event")


class Relay_of_origin:
    """A server for uploads, and the way to it."""

    def __enter__(self):
        self.origin = Origin()
        self.relay = Relay(self.origin.port, RATE)
        return self

    def __exit__(self, *_):
        self.origin.__exit__()


# What a job waits for


def mount(kind, folder, options="", flags=0):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(kind.encode(), folder.encode(), kind.encode(), flags, options.encode()):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def waits(*_):
    libc = ctypes.CDLL(None, use_errno=True)
    MS_PRIVATE, MS_REC, MS_REMOUNT, NEW_MOUNTS = 1 << 18, 1 << 14, 32, 0x20000
    if libc.unshare(NEW_MOUNTS):
        raise OSError(ctypes.get_errno(), "unshare")
    mount("none", "/", flags=MS_PRIVATE | MS_REC)
    files = Files()
    with Queue() as queue:
        small, disk = os.path.join(queue.folder, "small"), os.path.join(queue.folder, "disk")
        for folder in (small, disk):
            os.mkdir(folder)
            mount("tmpfs", folder, "size=4m" if folder == small else "size=64m")
        os.mkdir(os.path.join(disk, "films"))
        queue.serve()
        token = os.path.join(queue.folder, "token")
        with open(token, "w") as file:
            file.write("Bearer right\n")
        files.authorizations["/login"], files.signatures["/signed"] = "Bearer right", "signature=new"
        # The disk is there when the job is submitted, and gone when it starts.
        outputs = {"/full": f"{small}/full", "/films": f"{disk}/films/film", "/login": f"{queue.folder}/login",
                   "/signed": f"{queue.folder}/signed"}
        reasons = {"/full": "disk-full", "/films": "folder", "/login": "credentials", "/signed": "url"}
        found = {path: files.add(path, 16 << 20 if path == "/full" else 1 << 20) for path in outputs}
        if libc.umount2(disk.encode(), 2):
            raise OSError(ctypes.get_errno(), "umount2")
        jobs = {path: queue.submit(files.url(path) + ("?signature=old" if path == "/signed" else ""), "--output", output)
                for path, output in outputs.items()}
        for index in range(20):
            path = f"/other-{index}"
            outputs[path], found[path] = f"{queue.folder}/other-{index}", files.add(path, 1 << 20)
            queue.submit(files.url(path), "--output", outputs[path])
        first = queue.wait(lambda jobs: sum(job["phase"] == "completed" for job in jobs.values()) == 20
                           and sum("reason" in job for job in jobs.values()) == 4, "not four wait while 20 finish", 60)
        told = {path: first[job].get("reason") for path, job in jobs.items()}
        verdict("waits", told == reasons, f"20 finish while four wait: {', '.join(map(str, told.values()))}")
        mount("tmpfs", small, "size=64m", MS_REMOUNT)
        mount("tmpfs", disk, "size=64m")
        os.mkdir(os.path.join(disk, "films"))
        queue.call("resume", str(jobs["/full"]))
        queue.call("resume", str(jobs["/films"]))
        queue.call("resume", str(jobs["/login"]), "--header-file", f"Authorization={token}")
        queue.call("resume", str(jobs["/signed"]), "--url", files.url("/signed") + "?signature=new")
        queue.wait(are_complete, "jobs don't end", 60)
        equal = sum(digest(output) == found[path] for path, output in outputs.items())
        verdict("waits", equal == 24, f"{equal} of 24 have equal digests, after they were given what they need")
        for folder in (small, disk):
            libc.umount2(folder.encode(), 2)


# Nothing to do


def switches(process):
    """How often each thread has slept."""
    found = {}
    for thread in os.listdir(f"/proc/{process}/task"):
        text = machine.read(f"/proc/{process}/task/{thread}/status")
        found[thread] = sum(int(line.split()[1]) for line in text.splitlines() if "ctxt_switches" in line)
    return found


def wake_ups(process, seconds=10):
    """Wake-ups of all threads in a time. Threads that end have woken up too."""
    before = switches(process)
    time.sleep(seconds)
    after = switches(process)
    return sum(after[one] - before[one] if one in after else 1 for one in before) + len(set(after) - set(before))


def ip(*arguments):
    done = subprocess.run(["ip", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise Failure(f"ip {' '.join(arguments)}: {done.stderr.strip()}")


def network_gone(*_):
    network.enter()
    files = Files(256 << 10, host="0.0.0.0")
    found = files.add("/file", 1 << 20)
    address = ("addr", "add", "10.91.0.1/24", "dev", "squall0")
    ip("link", "add", "squall0", "type", "veth", "peer", "name", "squall1")
    for end in ("squall0", "squall1"):
        ip("link", "set", end, "up")
    ip(*address)
    with Queue() as queue:
        queue.serve()
        output = os.path.join(queue.folder, "file")
        queue.submit(files.url("/file", "10.91.0.1"), "--output", output, "--request-time-limit", "2s")
        queue.wait(lambda jobs: jobs[1]["phase"] == "running", "it doesn't start", 20)
        ip("addr", "del", *address[2:])
        queue.wait(lambda jobs: jobs[1].get("reason") == "network", "it doesn't wait for the network", 60)
        time.sleep(12)  # Threads that have worked end after 5 s.
        woken = wake_ups(queue.daemon.pid)
        verdict("network", woken == 0, f"{woken} wake-ups in 10 s without a network")
        requests, began = len(files.requests["/file"]), time.monotonic()
        ip(*address)
        while len(files.requests["/file"]) == requests and time.monotonic() < began + 60:
            time.sleep(0.01)
        took = time.monotonic() - began
        verdict("network", took < 1, f"goes on {took * 1000:.0f} ms after the route")
        queue.wait(are_complete, "it doesn't end", 60)
        verdict("network", digest(output) == found, "the file is whole")


def thousand(*_):
    with Queue() as queue:
        starts = []
        for _ in range(5):
            queue.serve()
            time.sleep(1)
            empty = machine.resident_bytes(queue.daemon.pid)
            queue.kill()
        queue.serve()
        with ThreadPoolExecutor(4) as several:
            list(several.map(lambda index: queue.submit(
                f"http://127.0.0.1:9/{index}", "--output", os.path.join(queue.folder, f"file-{index}"), "--after", "+10h"),
                range(1_000)))
        for _ in range(5):
            queue.kill()
            starts.append(queue.serve())
        time.sleep(12)
        full = machine.resident_bytes(queue.daemon.pid)
        before = machine.processor_seconds(queue.daemon.pid)
        woken = wake_ups(queue.daemon.pid)
        used = machine.processor_seconds(queue.daemon.pid) - before
        took = statistics.median(starts)
        verdict("thousand", len(queue.jobs()) == 1_000 and full - empty <= 8 << 20,
                f"{(full - empty) / 2 ** 20:.1f} MiB above {empty / 2 ** 20:.1f} MiB of an empty daemon")
        verdict("thousand", took <= 0.2, f"ready after {took * 1000:.0f} ms (median of 5 starts)")
        verdict("thousand", used < 0.01, f"{used * 1000:.1f} ms of a processor and {woken} wake-ups in 10 s")


# A night in a hotel

CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <sys/time.h>
static long ahead(void) {
    long seconds = 0;
    FILE *file = fopen(getenv("CLOCK_AHEAD"), "r");
    if (file) { if (fscanf(file, "%ld", &seconds) != 1) seconds = 0; fclose(file); }
    return seconds;
}
int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, time);
    if (clock == CLOCK_REALTIME && result == 0) time->tv_sec += ahead();
    return result;
}
int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    struct timespec now;
    int result = clock_gettime(CLOCK_REALTIME, &now);
    time->tv_sec = now.tv_sec, time->tv_usec = now.tv_nsec / 1000;
    return result;
}
"""
# Slow, lossy, and gone for a while; connections are reset after some minutes.
HOTEL = {"name": "hotel", "faults": [
    {"kind": "latency", "delay": "60 ms", "jitter": "20 ms"},
    {"kind": "bandwidth", "stream": "downstream", "rate": "8 Mbit/s", "shared": True},
    {"kind": "loss", "rate": "1 %", "rtt": "120 ms"},
    {"kind": "cut", "stream": "downstream", "between": ["1 MiB", "4 MiB"], "how": "reset"}]}


def night(*_):
    with tempfile.TemporaryDirectory(prefix="night-") as own:
        night_in(own)


def night_in(own):
    source, library, ahead = (os.path.join(own, name) for name in ("clock.c", "clock.so", "ahead"))
    with open(source, "w") as file:
        file.write(CLOCK)
    with open(ahead, "w") as file:
        file.write("0")
    subprocess.run([shutil.which("cc") or shutil.which("clang"), "-shared", "-fPIC", "-o", library, source], check=True)
    profile = os.path.join(own, "hotel.json")
    with open(profile, "w") as file:
        json.dump(HOTEL, file)
    files = Files()
    found = files.add("/film", 12 << 20)
    begins = time.strftime("%H:%M", time.localtime(time.time() + 6 * 3600))
    ends = time.strftime("%H:%M", time.localtime(time.time() + 12 * 3600))
    with Program("run", profile, "--listen", "127.0.0.1:0", "--upstream", f"127.0.0.1:{files.port}") as proxy, \
            Queue(LD_PRELOAD=library, CLOCK_AHEAD=ahead) as queue:
        queue.serve()
        output = os.path.join(queue.folder, "film")
        queue.submit(f"http://127.0.0.1:{proxy.port}/film", "--output", output, "--window", f"{begins}-{ends}",
                     "--sha256", found)
        queue.wait(lambda jobs: jobs[1].get("reason") == "window", "it doesn't wait for its window", 20)

        def close_the_lid(hours):
            for one in (queue.daemon, proxy.process):
                one.send_signal(signal.SIGSTOP)
            time.sleep(3)
            with open(ahead, "w") as file:
                file.write(str(hours * 3600))
            for one in (queue.daemon, proxy.process):
                one.send_signal(signal.SIGCONT)

        began = time.monotonic()
        close_the_lid(7)
        queue.wait(lambda jobs: jobs[1]["bytes"] > 1 << 20, "it doesn't start in its window", 120)
        started = time.monotonic() - began
        verdict("night", True, f"waits for its window, and has 1 MiB {started:.0f} s after the lid was opened in it")
        close_the_lid(9)
        jobs = queue.wait(lambda jobs: jobs[1]["phase"] in ("completed", "failed"), "it doesn't end", PATIENCE)
        verdict("night", jobs[1]["phase"] == "completed" and digest(output) == found,
                f"{jobs[1]['phase']} with an equal digest {time.monotonic() - began:.0f} s later, "
                f"after {len(files.requests['/film'])} requests and two closed lids")


PARTS = {"kills": kills, "waits": waits, "network": network_gone, "thousand": thousand, "night": night}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int, default=100)
    chosen = parser.parse_args()
    if unknown := set(chosen.parts) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}: it is one of {', '.join(PARTS)}")
    programs.need_squall()
    if len(chosen.parts) == 1:
        try:
            PARTS[chosen.parts[0]](chosen.seed, chosen.kills)
        except (Failure, OSError) as error:
            verdict(chosen.parts[0], False, str(error))
        return finish()
    # Each in a process of its own: two of them move into namespaces.
    for part in chosen.parts or PARTS:
        done = subprocess.run([sys.executable, os.path.abspath(__file__), part, "--seed", str(chosen.seed), "--kills",
                               str(chosen.kills)])
        if done.returncode:
            verdict(part, False, "see above")
    finish()


if __name__ == "__main__":
    main()
