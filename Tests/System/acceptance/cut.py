"""A cut at byte N: stock clients hold exactly N bytes."""
import random, subprocess

from acceptance.harness import Nginx, Squall, need, verdict


def measure():
    need("curl")
    count = 200
    generator = random.Random(2026)
    with Nginx() as nginx:
        nginx.file("file.bin", 12_000_000)
        for how in ("close", "reset"):
            offsets = [generator.randint(1_000_000, 10_000_000) for _ in range(count)]
            fault = {"kind": "cut", "stream": "downstream", "at": [f"{o} B" for o in offsets], "how": how}
            exact = 0
            with Squall({"faults": [fault]}, nginx.port) as squall:
                for offset in offsets:
                    url = f"http://127.0.0.1:{squall.port}/file.bin"
                    got = subprocess.run(["curl", "-s", "-i", url], stdout=subprocess.PIPE).stdout
                    exact += len(got) == offset
            verdict("cut", exact == count, f"{how}: {exact} of {count} clients hold exactly N bytes (curl, nginx)")
