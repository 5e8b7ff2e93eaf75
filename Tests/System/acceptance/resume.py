"""`squall get` through a cut of each MiB."""
import hashlib, json, os, time

from acceptance.harness import FOLDER, Nginx, Squall, get, verdict


def measure():
    with Nginx() as nginx:
        data = nginx.file("file.bin", 100 << 20)
        target = os.path.join(FOLDER, "resumed.bin")
        fault = {"kind": "cut", "stream": "downstream", "every": "1 MiB", "how": "reset"}
        with Squall({"faults": [fault]}, nginx.port) as squall:
            start = time.monotonic()
            done = get([f"http://127.0.0.1:{squall.port}/file.bin", "--output", target, "--events", "json"])
            seconds = time.monotonic() - start
            connections = len(squall.journal()) + 1
        # A warning that nothing but one validator proves the file may follow the events.
        last = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")][-1]
        with open(target, "rb") as file:
            equal = hashlib.sha256(file.read()).digest() == hashlib.sha256(data).digest()
        # Each range repeats 64 KiB of what is held, which docs/limits.md permits.
        twice, permitted = last["bytesRepeated"], (connections - 1) * (64 << 10)
        verdict("resume", equal and done.returncode == 0 and twice <= permitted,
                f"100 MiB through {connections} connections in {seconds:.1f} s: digest equal: {equal}, "
                f"sent twice: {twice:,} B, permitted {permitted:,}")
