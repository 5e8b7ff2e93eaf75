"""`squall plan` takes less than a second for an hour of any shipped profile."""
import os

from acceptance.harness import ROOT, predicted, verdict


def measure():
    folder = os.path.join(ROOT, "Profiles")
    names = [name[:-5] for part in ("", "presets") for name in os.listdir(os.path.join(folder, part))
             if name.endswith(".json") and not name.endswith(".schema.json")]
    times = {name: predicted(name, "--size", "400GiB", "--until", "1h", "--seed", "7")[1] for name in names}
    slowest = max(times, key=times.get)
    verdict("hour", times[slowest] < 1, f"an hour of each of {len(names)} profiles: {times[slowest]:.2f} s at most ({slowest})")
