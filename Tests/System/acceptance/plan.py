"""`squall plan` predicts the seconds of `squall demo`."""
import json, subprocess

from acceptance.harness import SQUALL, predicted, verdict


def measure():
    for name, size in (("wifi-walkaway", "64MiB"), ("elevator", "8MiB"), ("wifi-roam", "16MiB"),
                       ("cut-every-mebibyte", "16MiB")):
        forecast, _ = predicted(name, "--size", size, "--seed", "7")
        out = subprocess.run([SQUALL, "demo", name, "--direction", "downstream", "--size", size, "--seed", "7",
                              "--events", "json"], stdout=subprocess.PIPE, check=True, text=True).stdout
        done = next(e for e in map(json.loads, out.splitlines()) if e["event"] == "finished")
        # Connecting takes the machine some milliseconds, and a forecast none.
        late = done["seconds"] - forecast["seconds"]
        verdict("plan", abs(late) <= max(0.1 * forecast["seconds"], 0.01 * done["connections"]),
                f"{size} through {name}: predicted {forecast['seconds']:.2f} s, took {done['seconds']:.2f} s")
