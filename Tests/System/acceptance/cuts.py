"""100 runs with drawn sizes and ways to end, a third of them each through cuts at every 16, 64 and 256 KiB."""
import os, random, statistics, subprocess, time

from acceptance.harness import FOLDER, Nginx, SQUALL, Squall, need, verdict


def measure():
    need("wget")
    generator = random.Random(16)
    late, wrong, worst, all_seconds = [], [], 0.0, {}
    with Nginx() as nginx:
        for run in range(100):
            every = (16, 64, 256)[run % 3]
            fault = {"kind": "cut", "stream": "downstream", "every": f"{every} KiB",
                     "how": generator.choice(("reset", "close"))}
            data = nginx.file("file.bin", generator.randrange(1 << 20, 5 << 20))
            seconds = {}
            with Squall({"seed": run, "faults": [fault]}, nginx.port) as squall:
                url = f"http://127.0.0.1:{squall.port}/file.bin"
                for name, command in (
                    ("get", [SQUALL, "get", url, "--seed", str(run), "--output", f"{FOLDER}/get.bin"]),
                    ("wget", ["wget", "-q", "-c", "-t", "0", "--retry-connrefused", "--waitretry=0", "--no-proxy",
                              url, "-O", f"{FOLDER}/wget.bin"])):
                    start = time.monotonic()
                    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                    seconds[name] = time.monotonic() - start
                    try:
                        with open(f"{FOLDER}/{name}.bin", "rb") as file:
                            equal = file.read() == data
                        os.unlink(f"{FOLDER}/{name}.bin")
                    except FileNotFoundError:
                        equal = False
                    if name == "get" and (done.returncode != 0 or not equal):
                        wrong.append(f"run {run}: exit code {done.returncode}, equal: {equal}")
            limit = max(1.0, 3 * seconds["wget"])
            worst = max(worst, seconds["get"] / limit)
            all_seconds.setdefault(every, []).append((seconds["get"], seconds["wget"]))
            if seconds["get"] > limit:
                late.append(f"run {run}: {seconds['get']:.2f} s, wget {seconds['wget']:.2f} s")
    for every, pairs in all_seconds.items():
        ours, theirs = (statistics.median(column) for column in zip(*pairs))
        print(f"      cuts every {every} KiB: {len(pairs)} runs, median {ours:.3f} s, wget {theirs:.3f} s")
    verdict("cuts", not wrong and not late,
            f"100 runs of `squall get` through cuts, {len(wrong)} failed and {len(late)} late; the slowest took "
            f"{worst:.0%} of its limit, 1 s or three times wget's time {' '.join(wrong + late)}")
