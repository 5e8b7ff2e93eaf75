"""Offsets of the resource: behind other requests on one connection, in chunks, and after a range."""
import os, random, subprocess

from acceptance.harness import FOLDER, Nginx, Squall, need, verdict


def measure():
    need("curl")
    count = 200
    generator = random.Random(2027)
    with Nginx() as nginx:
        size = 6_000_000
        data = nginx.file("file.bin", size)
        nginx.file("small.bin", 700)
        offsets = [generator.randint(1, size - 1) for _ in range(count)]
        fault = {"kind": "cut", "stream": "downstream", "at": [f"{o} B" for o in offsets], "of": "resource",
                 "when": {"http": {"path": "/file.bin"}}}
        exact = {"kept": 0, "ranged": 0}
        with Squall({"faults": [fault]}, nginx.port) as squall:
            url = f"http://127.0.0.1:{squall.port}"
            out = f"{FOLDER}/body"
            for number, offset in enumerate(offsets):
                if number % 2 == 0:
                    # Small requests first, on the same connection: curl keeps it.
                    command = ["curl", "-s"]
                    for _ in range(1 + number % 3):
                        command += [f"{url}/small.bin", "-o", f"{out}-small"]
                    start, kind, ranged = 0, "kept", []
                else:
                    start, kind = generator.randint(0, offset - 1), "ranged"
                    command, ranged = ["curl", "-s", "-r", f"{start}-"], []
                if os.path.exists(out):
                    os.remove(out)
                subprocess.run([*command, *ranged, f"{url}/file.bin", "-o", out])
                with open(out, "rb") as file:
                    exact[kind] += file.read() == data[start:offset]
            lines = squall.journal()
        told = [line["offset"] for line in lines if line.get("of") == "resource"]
        verdict("body", sum(exact.values()) == count,
                f"{sum(exact.values())} of {count} clients hold exactly N bytes of the resource: {exact['kept']} behind "
                f"other requests on a connection that is kept, {exact['ranged']} after a Range (curl, nginx)")
        verdict("body", told == offsets, "the journal tells the same offsets of the resource")
