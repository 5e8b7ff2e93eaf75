"""Runs the steps of action.yml as a runner would: bash, environment variables, files for outputs and the summary.

    SQUALL=.build/debug/squall python3 Tests/System/action/action.py

`uses` steps are left out, and `swift` is a stand-in that hands out the built command.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
from pathlib import Path

import yaml

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit import web

REPOSITORY = Path(__file__).resolve().parents[3]
SQUALL = Path(os.environ.get("SQUALL", REPOSITORY / ".build/debug/squall")).resolve()
ACTION = yaml.safe_load((REPOSITORY / "action.yml").read_text())
STEPS = ACTION["runs"]["steps"]
SWIFT = """#!/usr/bin/env bash
set -euo pipefail
echo "$*" >> "$SWIFT_CALLS"
case "$*" in
--version) echo "Swift version ${SWIFT_VERSION:-6.2}" ;;
"build -c release --product squall --traits TLS")
    mkdir -p .build/release && ln -sf "$SQUALL" .build/release/squall ;;
"build -c release --show-bin-path --traits TLS") echo "$PWD/.build/release" ;;
*) echo "swift: unexpected arguments: $*" >&2; exit 64 ;;
esac
"""
# A Python that, as Debian's and Ubuntu's, has pip install nothing outside of a virtual environment (PEP 668).
PYTHON = """#!/usr/bin/env bash
set -euo pipefail
if [[ "$1 $2" != "-m venv" ]]; then echo "error: externally-managed-environment" >&2; exit 1; fi
mkdir -p "$3/bin"
printf '%s\\n' '#!/bin/sh' 'echo "$@" >"$0.calls"' >"$3/bin/pip"
chmod +x "$3/bin/pip"
"""
BODY = bytes(range(256)) * 1024  # 256 KiB, more than first-two-fail lets through


class Job:
    """A runner's folders, and the results of the steps."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.checkout, self.workspace, self.temp = (self.folder / name for name in ("action", "work space", "temp"))
        for path in (self.checkout / "Sources", self.workspace, self.temp, self.folder / "bin"):
            path.mkdir(parents=True)
        os.symlink(REPOSITORY / "scripts", self.checkout / "scripts")
        # The hash takes regular files.
        shutil.copy(REPOSITORY / "Package.swift", self.checkout)
        shutil.copytree(REPOSITORY / "Profiles", self.checkout / "Profiles")
        (self.checkout / "Sources/a file.swift").write_text("let a = 1\n")
        self.swift = self.folder / "bin/swift"
        self.swift.write_text(SWIFT)
        self.swift.chmod(0o755)
        self.summary = self.folder / "summary.md"
        self.calls = self.folder / "calls"
        self.calls.touch()

    def run(self, inputs, cached=False, **variables):
        """Runs the steps until one fails; gives its code, what was written, and the action's outputs."""
        unknown = set(inputs) - set(ACTION["inputs"])
        assert not unknown, f"no inputs of the action: {unknown}"
        defaults = {name: value.get("default", "") for name, value in ACTION["inputs"].items()}
        values = {f"inputs.{name}": value for name, value in (defaults | inputs).items()}
        values["steps.cache.outputs.cache-hit"] = "true" if cached else ""
        code, text = 0, ""
        for step in STEPS:
            if "uses" in step or not self.holds(step.get("if"), values):
                continue
            output = self.folder / "output"
            output.write_text("")
            environment = os.environ | {
                "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
                "GITHUB_ACTIONS": "true", "GITHUB_ACTION_PATH": str(self.checkout),
                "GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(self.summary),
                "GITHUB_WORKSPACE": str(self.workspace), "RUNNER_TEMP": str(self.temp),
                "SWIFT_CALLS": str(self.calls), "SQUALL": str(SQUALL),
            } | {name: filled(value, values) for name, value in step.get("env", {}).items()} | variables
            environment.pop("SQUALL_PROFILES", None)
            # As a runner calls bash when a step says `shell: bash`.
            script = self.folder / "step.sh"
            script.write_text(step["run"])
            done = subprocess.run(
                ["bash", "--noprofile", "--norc", "-eo", "pipefail", script],
                cwd=self.workspace, env=environment, capture_output=True, text=True, timeout=120,
            )
            text += done.stdout + done.stderr
            for line in output.read_text().splitlines():
                name, value = line.split("=", 1)
                values[f"steps.{step['id']}.outputs.{name}"] = value
            code = done.returncode
            if code:
                break
        outputs = {name: filled(value["value"], values) for name, value in ACTION["outputs"].items()}
        outputs["hash"] = values.get("steps.sources.outputs.hash", "")
        return code, text, outputs

    @staticmethod
    def holds(condition, values):
        if condition is None:
            return True
        name, value = re.fullmatch(r"(\S+) != '(.*)'", condition).groups()
        return values.get(name, "") != value


def filled(text, values):
    """A text with its expressions replaced. An output that no step has written is empty."""
    return re.sub(r"\$\{\{ *(\S+) *\}\}", lambda match: values.get(match[1], ""), str(text))


class Handler(web.Handler):
    def do_GET(self):
        self.answer(BODY)


def check_form():
    for step in STEPS:
        assert ("run" in step) != ("uses" in step), step
        if "run" in step:
            assert step["shell"] == "bash", step
            assert "${{" not in step["run"], f"step {step['id']}: an expression in a script"
    names = [step.get("id") or step["uses"].split("@")[0] for step in STEPS]
    assert names == ["sources", "cache", "build", "actions/cache/save", "stage"], names
    assert STEPS[1]["with"] == STEPS[3]["with"], "what is saved isn't what is restored"
    used = set(re.findall(r"inputs\.([a-z-]+)", (REPOSITORY / "action.yml").read_text()))
    assert used == set(ACTION["inputs"]), f"inputs that no step reads, or that aren't declared: {used}"


def check_survivor(job, upstream):
    code, text, outputs = job.run({
        "profile": "first-two-fail\n\n  cut-every-mebibyte  \n", "upstream": f"web={upstream}", "seeds": "1..2",
        "expect": "exit == 0\nconnections >= 1", "jobs": "2", "junit": "a report.xml",
        "run": 'curl -sS --retry 5 --retry-all-errors --retry-delay 0 -o "$SQUALL_FOLDER/file" "$SQUALL_WEB_URL/"\n'
        'test "$(stat -c %s {folder}/file)" = 262144\n! env | grep ^STAGE_',
    })
    # No fault acts in 256 KiB of cut-every-mebibyte, so that profile must fail, and the other one pass.
    assert code == 1 and outputs["result"] == "failed", text
    assert text.count("pass  first-two-fail") == 2 and "no fault" in text, text
    suite = xml.etree.ElementTree.parse(job.workspace / "a report.xml").getroot()
    assert len(list(suite.iter("testcase"))) == 4, text
    assert outputs["junit"] == "a report.xml"
    assert job.calls.read_text().count("--product squall") == 1


def check_failure(job, upstream):
    job.summary.unlink(missing_ok=True)
    code, text, outputs = job.run({
        "profile": "first-two-fail", "upstream": upstream, "run": "curl -sS -o /dev/null http://{proxy}/",
    }, cached=True)
    assert code == 1 and outputs == outputs | {"result": "failed", "junit": "squall-junit.xml"}, (text, outputs)
    assert "::error title=" in text and "repeat it: squall test" in text, text
    assert "first" in job.summary.read_text() and "Repeat it" in job.summary.read_text()
    suite = xml.etree.ElementTree.parse(job.workspace / "squall-junit.xml").getroot()
    assert len(list(suite.iter("failure"))) == 1
    assert job.calls.read_text().count("--product squall") == 1, "a cached command was built again"


def check_artifacts(job, upstream):
    """A failed run leaves its page, its journal and the fewest faults with which it fails."""
    code, text, outputs = job.run({
        "profile": "first-two-fail", "upstream": upstream, "run": "curl -sS -o /dev/null http://{proxy}/",
        "html": "a page.html", "artifacts": "kept", "time-limit": "60s", "shrink": "true",
    }, cached=True)
    assert code == 1 and outputs == outputs | {"html": "a page.html", "artifacts": "kept"}, (text, outputs)
    assert "<svg" in (job.workspace / "a page.html").read_text()
    kept = [path.name for path in (job.workspace / "kept").rglob("*") if path.is_file()]
    assert any(name.endswith(".jsonl") for name in kept) and any("shrunk" in name for name in kept), kept
    assert "1 fault, which can't be left out, in " in text and "the run failed" in text, text
    code, text, outputs = job.run({
        "profile": "first-two-fail", "upstream": upstream, "run": "sleep 60", "time-limit": "200ms",
    }, cached=True)
    assert code == 1 and "200 ms" in text, text


def check_success(job, upstream):
    job.summary.unlink(missing_ok=True)
    code, text, outputs = job.run({
        "profile": "first-two-fail", "upstream": upstream,
        "run": "curl -sS --retry 5 --retry-all-errors --retry-delay 0 -o {folder}/file http://{proxy}/",
    }, cached=True)
    assert code == 0 and outputs["result"] == "passed", text
    assert "passed" in job.summary.read_text()


def check_scenario(job, upstream):
    (job.workspace / "-shop.json").write_text(
        '{"name": "shop", "proxies": [{"name": "web", "upstream": "%s"}], "profiles": ["first-two-fail"],'
        ' "command": ["curl", "-sS", "--retry", "5", "--retry-all-errors", "--retry-delay", "0", "-o", "{folder}/file",'
        ' "{web.url}"]}' % upstream
    )
    code, text, _ = job.run({"scenario": "-shop.json", "seeds": "3"}, cached=True)
    assert code == 0 and "seed 3" in text, text


def check_injection(job, upstream):
    """Text that a shell would run if it were pasted into a script."""
    mark = job.folder / "injected"
    evil = f'x"; touch "{mark}"; \' ; $(touch "{mark}") `touch "{mark}"` #'
    for name in ("profile", "upstream", "seeds", "expect", "scenario", "jobs", "time-limit", "shrink"):
        inputs = {"profile": "first-two-fail", "upstream": upstream, "run": "true"} | {name: evil}
        code, text, outputs = job.run(inputs, cached=True)
        assert code == 2 and outputs["result"] == "wrong-input", (name, code, text)
    for name in ("seeds", "scenario", "jobs", "junit", "html", "artifacts", "time-limit", "shrink"):
        inputs = {"profile": "first-two-fail", "upstream": upstream, "run": "true", name: "1\nresult=passed"}
        code, text, outputs = job.run(inputs, cached=True)
        assert code == 2 and outputs["result"] == "wrong-input" and "more than one line" in text, (name, text)
    inputs = {"profile": "--allow-vacuous", "upstream": upstream, "run": "true"}
    assert job.run(inputs, cached=True)[0] == 2, "a value became an option"
    assert not mark.exists(), "the text of an input was run"


def check_recipe(job, upstream):
    """The steps of the recipe that aren't the action's."""
    page = (REPOSITORY / "docs/recipes/github-actions.md").read_text()
    steps = yaml.safe_load(re.search(r"```yaml\n(.*?)```", page, re.S)[1])["jobs"]["chaos"]["steps"]
    (script,) = (step["run"] for step in steps if "run" in step)
    python, path = job.folder / "python", job.folder / "path"
    python.mkdir()
    (python / "python3").write_text(PYTHON)
    (python / "python3").chmod(0o755)
    environment = os.environ | {
        "PATH": f"{python}:/usr/bin:/bin", "RUNNER_TEMP": str(job.temp), "GITHUB_PATH": str(path),
    }
    done = subprocess.run(["bash", "-e", "-c", script], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    folder = Path(path.read_text().strip())
    assert (folder / "pip.calls").read_text() == "install pytest psycopg[binary]\n", folder


def check_hash(job, upstream):
    """The key of the cache follows the sources, the profiles, the manifest, the compiler and where that is."""
    inputs = {"profile": "first-two-fail", "upstream": upstream, "run": "false"}
    keys = [job.run(inputs, cached=True)[2]["hash"]]
    assert job.run(inputs, cached=True)[2]["hash"] == keys[0]
    keys.append(job.run(inputs, cached=True, SWIFT_VERSION="6.3")[2]["hash"])
    elsewhere = job.folder / "another place"
    elsewhere.mkdir()
    shutil.copy(job.swift, elsewhere)
    keys.append(job.run(inputs, cached=True, PATH=f"{elsewhere}:{os.environ['PATH']}")[2]["hash"])
    for path in ("Sources/a file.swift", "Profiles/wifi-roam.json", "Package.swift"):
        with open(job.checkout / path, "a") as file:
            file.write("// more\n")
        keys.append(job.run(inputs, cached=True)[2]["hash"])
    assert len(set(keys)) == 6 and all(re.fullmatch("[0-9a-f]{64}", key) for key in keys), keys


def main():
    if not os.access(SQUALL, os.X_OK):
        sys.exit(f"{SQUALL}: no such command; build it, or name it with SQUALL")
    check_form()
    with tempfile.TemporaryDirectory(prefix="squall-action-") as folder, web.served(Handler) as port:
        job = Job(folder)
        for check in (
            check_survivor, check_failure, check_artifacts, check_success, check_scenario, check_injection, check_recipe,
            check_hash,
        ):
            check(job, f"127.0.0.1:{port}")
            print(f"{check.__name__.removeprefix('check_')}: as it should be")


if __name__ == "__main__":
    main()
