"""What reading a request with its response costs, their heads and what faults ask of them; `head-reading` measures it."""
import os, subprocess

from . import programs

PROGRAM = os.path.join(programs.ROOT, ".build", "release", "head-reading")
# Nanoseconds of processor for a request with its response.
LIMIT = 5_000


def measure():
    """Nanoseconds by case; None where the program is missing or ends otherwise than by saying them."""
    try:
        done = subprocess.run([PROGRAM], stdout=subprocess.PIPE, text=True, timeout=120)
        pairs = [line.rsplit(": ", 1) for line in done.stdout.splitlines()[1:]]
        return {name: float(nanoseconds) for name, nanoseconds in pairs} or None
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
