#!/usr/bin/env python3
"""The memory and the speed of downloads and uploads.

    make transfer-rates                            both parts, with a release build (about 10 minutes)
    python3 Benchmarks/transfer_rates.py memory    one part: memory or throughput
    python3 Benchmarks/transfer_rates.py --quick   files of 256 MiB

Everything is between `squall get` or `squall put` and `squall origin --uploads`. Prints a line for each promise with the figure
that was measured; exits 1 if one does not hold. Needs curl and sha256sum, and room on the disk for three times the file
of `memory`.
"""
import argparse, os, re, shutil, statistics, subprocess, tempfile, threading, time

import measuring  # noqa: F401: leads to kit
from kit import machine, programs
from kit.programs import SQUALL
from kit.squall import Origin, digest, run_parts
from kit.verdicts import verdict

MEMORY_LIMIT = 64
# What is asked of the rates, to that of `curl | sha256sum`. A put reads its file twice, and its server brings it to the
# disk.
GET_RATIO, PUT_RATIO = 1.0, 0.5


def make_file(path, size):
    """A file of random blocks, each with its number at its beginning."""
    block = bytearray(os.urandom(1 << 20))
    with open(path, "wb") as file:
        for number in range(0, size, len(block)):
            block[:8] = number.to_bytes(8, "little")
            file.write(block[:min(len(block), size - number)])


class Peak:
    """The most memory that a process has had resident, in MiB, watched until it ends."""

    def __init__(self, process):
        self.process, self.value = process, 0.0
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def watch(self):
        while self.process.poll() is None:
            self.look()
            time.sleep(0.02)

    def look(self):
        found = re.search(r"VmHWM:\s+(\d+)", machine.read(f"/proc/{self.process.pid}/status"))
        if found:
            self.value = max(self.value, int(found.group(1)) / 1024)


def transfer(command):
    """Runs a client to its end; gives its exit code, its seconds, and its peak of memory."""
    start = time.monotonic()
    process = programs.start(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = Peak(process)
    status = process.wait()
    return status, time.monotonic() - start, peak.value


def memory(options):
    size = options.size
    room = shutil.disk_usage(tempfile.gettempdir()).free
    if room < 3 * size + (1 << 30):
        verdict("memory", False, f"{tempfile.gettempdir()} has room for {room >> 20:,} MiB, and needs it for three files of "
                                 f"{size >> 20:,} MiB")
        return
    own = tempfile.mkdtemp(prefix="memory-")
    source = os.path.join(own, "file.bin")
    make_file(source, size)
    sent = digest(source)
    for name in ("get", "put"):
        with Origin() as origin:
            url = f"http://127.0.0.1:{origin.port}/file.bin"
            served, received = os.path.join(origin.folder, "file.bin"), os.path.join(own, "received.bin")
            if name == "get":
                os.link(source, served)
                command = [SQUALL, "get", url, "--output", received]
            else:
                command = [SQUALL, "put", source, url, "--state", os.path.join(own, "state")]
            server = Peak(origin.process)
            status, seconds, peak = transfer(command)
            server.look()
            result = received if name == "get" else served
            equal = status == 0 and digest(result) == sent
            if os.path.exists(result):
                os.remove(result)
        verdict("memory", equal and max(peak, server.value) < MEMORY_LIMIT,
                f"{name} of {size >> 20:,} MiB in {seconds:.1f} s, digest equal: {equal}: at most {peak:.1f} MiB in the "
                f"client, {server.value:.1f} MiB in the server (below {MEMORY_LIMIT})")
    shutil.rmtree(own)


def throughput(options):
    size = options.speed_size
    own = tempfile.mkdtemp(prefix="throughput-")
    source = os.path.join(own, "file.bin")
    make_file(source, size)
    for encrypted in (False, True):
        speeds(options, own, source, encrypted)
    shutil.rmtree(own)


def speeds(options, own, source, encrypted):
    """The rates of a transfer through no proxy, beside curl's."""
    size, how = options.speed_size, "by TLS " if encrypted else ""
    rates = {}
    with Origin(tls=encrypted) as origin:
        os.link(source, os.path.join(origin.folder, "file.bin"))
        url = f"{'https' if encrypted else 'http'}://127.0.0.1:{origin.port}"
        received, state = os.path.join(own, "received.bin"), os.path.join(own, "state")
        theirs = f"--cacert {origin.authority} " if encrypted else ""
        ours = ["--ca-file", origin.authority] if encrypted else []
        commands = {
            "curl | sha256sum": ["sh", "-c", f"curl -s -f {theirs}{url}/file.bin | sha256sum"],
            "curl -o": ["sh", "-c", f"curl -s -f {theirs}-o {received} {url}/file.bin"],
            "get": [SQUALL, "get", f"{url}/file.bin", "--output", received, *ours],
            "curl -T": ["sh", "-c", f"curl -s -f {theirs}-T {source} {url}/new.bin"],
            "put": [SQUALL, "put", source, f"{url}/new.bin", "--state", state, *ours],
        }
        # The server knows the digest of the file from here on.
        subprocess.run(commands["curl | sha256sum"], stdout=subprocess.DEVNULL)
        for turn in range(options.turns):
            for name in sorted(commands, reverse=turn % 2 == 0):
                for path in (received, os.path.join(origin.folder, "new.bin")):
                    if os.path.exists(path):
                        os.remove(path)
                os.sync()
                start = time.monotonic()
                done = subprocess.run(commands[name], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                rates.setdefault(name, []).append(size / (time.monotonic() - start) / 1e6)
                if done.returncode != 0:
                    verdict("throughput", False, f"{name} ends with {done.returncode}: {done.stderr.decode()[-200:]}")
                    return
    base = statistics.median(rates["curl | sha256sum"])
    medians = (f"{name} {statistics.median(found):,.0f}" for name, found in rates.items())
    print(f"      MB/s {how}medians: {', '.join(medians)}")
    for name, limit in (("get", GET_RATIO), ("put", PUT_RATIO)):
        ratio = statistics.median(mine / theirs for mine, theirs in zip(rates[name], rates["curl | sha256sum"]))
        verdict("throughput", ratio >= limit,
                f"{name} {how}of {size >> 20:,} MiB: {statistics.median(rates[name]):,.0f} MB/s, `curl | sha256sum` "
                f"{base:,.0f}: {ratio:.2f} (medians of {options.turns} turns; {limit} or more)")


PARTS = {"memory": memory, "throughput": throughput}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="memory or throughput (default: both)")
    parser.add_argument("--quick", action="store_true", help="files of 256 MiB")
    options = parser.parse_args()
    options.size, options.speed_size, options.turns = (256 << 20, 256 << 20, 3) if options.quick else (4 << 30, 512 << 20, 5)
    run_parts(PARTS, options)


if __name__ == "__main__":
    main()
