"""`squall plan` takes less than a second for an hour of any shipped profile."""
from acceptance.harness import predicted, presets, scenarios, verdict


def measure():
    names = [*scenarios(), *presets()]
    times = {name: predicted(name, "--size", "400GiB", "--until", "1h", "--seed", "7")[1] for name in names}
    slowest = max(times, key=times.get)
    verdict("hour", times[slowest] < 1, f"an hour of each of {len(names)} profiles: {times[slowest]:.2f} s at most ({slowest})")
