"""What holds and what doesn't: a line for each, and the exit code."""
import sys

failures = []


def verdict(part, holds, text):
    print(f"{'ok  ' if holds else 'BAD '} {part:10} {text}", flush=True)
    if not holds:
        failures.append(part)


def check(holds, what, detail=""):
    """A claim; the detail is told where it doesn't hold."""
    verdict(what, holds, f": {detail}" if detail and not holds else "")


def finish():
    """Ends the program: the exit code is 1 if something doesn't hold."""
    if failures:
        sys.exit(f"doesn't hold: {', '.join(sorted(set(failures)))}")
    print("all hold")
