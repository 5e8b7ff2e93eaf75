"""An HTTP answer in the server's place, on the first connections."""
import subprocess

from acceptance.harness import FOLDER, Nginx, Squall, need, verdict


def measure():
    need("curl")
    with Nginx() as nginx:
        nginx.file("file.bin", 100_000)
        fault = {"kind": "http", "answer": {"status": 503, "header": {"Retry-After": "0"}},
                 "when": {"connection": "1..2"}}
        with Squall({"faults": [fault]}, nginx.port) as squall:
            got = subprocess.run(["curl", "-s", "--retry", "5", "-w", "%{http_code}", "-o",
                                  f"{FOLDER}/answer", f"http://127.0.0.1:{squall.port}/file.bin"],
                                 stdout=subprocess.PIPE, text=True).stdout
            answers = [line["connection"] for line in squall.journal() if line["what"] == "answers"]
        verdict("answer", got.startswith("200") and answers == [1, 2],
                f"503 with Retry-After on two connections: curl tries again and gets {got[:3]} on the third")
