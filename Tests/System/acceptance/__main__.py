"""What Squall promises, measured on the built program between stock programs.

    make acceptance                          every promise, with a release build
    python3 Tests/System/acceptance NAME…      only these promises
    python3 Tests/System/acceptance --list     their names

Each promise is a file of this folder. Prints a line for each figure that was measured; exits 1 if a promise does not
hold. Needs curl, haproxy, nginx, postgresql and wget (Debian's packages; installed when missing and permitted).
Loopback and free ports only.
"""
import importlib, os, shutil, sys

# The folder's files are modules of a package; some have the names of modules of Python.
sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

PROMISES = ("cut", "body", "answer", "http-speed", "heads", "foreign", "half-close", "reset", "bandwidth", "shared",
            "scope", "wave", "trace", "slice", "latency", "silence", "silent-cut", "half-open", "give-up", "hang",
            "full", "refuse", "postgres", "determinism", "resume", "cuts", "kill", "throughput", "plan", "hour")


def chosen():
    """The promises that the command line asks for."""
    files = {name[:-3].replace("_", "-") for name in os.listdir(os.path.dirname(os.path.abspath(__file__)))
             if name.endswith(".py") and not name.startswith("__")} - {"harness"}
    if files != set(PROMISES):
        sys.exit(f"PROMISES and the files of the folder differ: {', '.join(sorted(files ^ set(PROMISES)))}")
    unknown = [name for name in sys.argv[1:] if name not in PROMISES]
    if unknown:
        sys.exit(f"unknown promise {unknown[0]} (they are {', '.join(PROMISES)})")
    return sys.argv[1:] or PROMISES


def main():
    if sys.argv[1:] == ["--list"]:
        return print("\n".join(PROMISES))
    wanted = chosen()
    # Makes the folder of the run.
    from acceptance import harness
    from kit import programs
    from kit.verdicts import finish
    try:
        programs.need_squall()
        for name in wanted:
            importlib.import_module(f"acceptance.{name.replace('-', '_')}").measure()
    finally:
        shutil.rmtree(harness.FOLDER, ignore_errors=True)
    finish()


if __name__ == "__main__":
    main()
