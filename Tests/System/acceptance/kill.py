"""`squall get` that is killed again and again."""
import hashlib, os, random, signal, subprocess

from acceptance.harness import FOLDER, Nginx, SQUALL, Squall, get, verdict


def measure():
    generator = random.Random(11)
    with Nginx() as nginx:
        data = nginx.file("file.bin", 100 << 20)
        target = os.path.join(FOLDER, "killed.bin")
        faults = [{"kind": "cut", "stream": "downstream", "every": "1 MiB", "how": "reset"},
                  {"kind": "bandwidth", "stream": "downstream", "rate": "40 MB/s", "shared": True}]
        with Squall({"faults": faults}, nginx.port) as squall:
            command = [SQUALL, "get", f"http://127.0.0.1:{squall.port}/file.bin", "--output", target]
            kills = 0
            while kills < 10:
                process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                try:
                    process.wait(generator.uniform(0.05, 0.6))
                    break
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
                    process.wait()
                    kills += 1
            done = get([f"http://127.0.0.1:{squall.port}/file.bin", "--output", target])
        with open(target, "rb") as file:
            equal = hashlib.sha256(file.read()).digest() == hashlib.sha256(data).digest()
        left = [name for name in os.listdir(FOLDER) if "killed" in name and name != "killed.bin"]
        verdict("kill", equal and kills == 10 and done.returncode == 0 and not left,
                f"killed {kills} times at random moments and started again: digest equal: {equal}, left behind: {left}")
