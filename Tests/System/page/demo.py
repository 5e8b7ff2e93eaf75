#!/usr/bin/env python3
"""Watches `squall demo --page` with a headless Chromium: the story, the progress, and a Wi-Fi that goes by a click.

    SQUALL=.build/debug/squall python3 Tests/System/page/demo.py                          about 40 seconds
    SQUALL=.build/release/squall python3 Tests/System/page/demo.py --pictures docs/images  also writes the pictures of the README

Exit code 1, with the reason, if a claim doesn't hold.
"""
import argparse, os, signal, subprocess, sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit.browser import Browser, Failed
from kit.programs import SQUALL

CAPTION = "document.querySelector('#caption').textContent"
TRANSFER = "[...document.querySelectorAll('.transfer')].find(t => t.querySelector('b').textContent === '%s')"


class Watch:
    def __init__(self, browser, url, pictures):
        self.browser, self.url, self.pictures, self.held = browser, url, pictures, 0

    def until(self, expression, claim, seconds=30):
        self.browser.until(expression, claim, seconds)
        self.held += 1

    def picture(self, name, width, height, **features):
        if not self.pictures:
            return
        self.browser.resize(width, height, mobile=width < 600)
        self.browser.emulate(**features)
        # Two frames: one for the size, one for what is drawn.
        self.browser.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        self.browser.evaluate("new Promise(done => setTimeout(done, 700))")
        self.browser.screenshot(os.path.join(self.pictures, name))
        self.browser.resize(1440, 900)
        self.browser.emulate()

    def run(self):
        self.browser.open(self.url)
        self.until("document.querySelector('#link').dataset.state === 'up'", "the page is connected")
        self.until("!document.querySelector('#story').hidden", "the story is shown")
        self.until(f"{CAPTION}.startsWith('download')", "the caption tells of the download")
        self.until("document.querySelector('#window').value === '30'", "the charts show the time of a transfer")
        self.until("/^wi-?fi/i.test(document.querySelector('.profile').dataset.profile)", "Wi-Fi profiles come first")
        self.until("document.querySelectorAll('.card').length === 1", "the demo's proxy has a card")
        self.until(f"{CAPTION}.includes('gone')", "the phase in which the network is gone is told")
        self.until(f"{CAPTION}.includes('Resumed at')", "the resumption is told")
        self.until("document.querySelector('.transfer i')", "the resumption has a mark in the progress")
        self.until(f"{CAPTION}.includes('arrived byte for byte')", "the proof is told", 60)
        self.until(f"({TRANSFER % 'download'}).dataset.state === 'done'", "the download is shown as done")
        self.until(f"{CAPTION}.startsWith('upload')", "the upload follows")
        self.until(f"{TRANSFER % 'upload'}?.querySelector('[aria-valuenow]').ariaValueNow > 5", "the upload advances")
        self.browser.click("#wifi")
        self.until("!document.querySelector('#off').hidden", "the Wi-Fi is off")
        self.until(f"{CAPTION}.includes('Trying again in')", "the client is told to try again")
        self.browser.click("#wifi")
        self.until("document.querySelector('#off').hidden", "the Wi-Fi is on again")
        self.until(f"{CAPTION}.includes('Resumed at')", "the upload resumes")
        self.picture("page-light.png", 1440, 900)
        self.picture("page-dark.png", 1440, 900, prefers_color_scheme="dark")
        self.until(f"{CAPTION}.startsWith('upload: arrived byte for byte')", "the upload is proved all the same", 60)
        self.until(f"({TRANSFER % 'upload'}).dataset.state === 'done'", "the upload is shown as done")
        errors = self.browser.errors
        if errors:
            raise Failed("the console has errors: " + "; ".join(errors))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", metavar="FOLDER")
    options = parser.parse_args()
    demo = subprocess.Popen([SQUALL, "demo", "--page", "--port", "0", "--seed", "7"], stdout=subprocess.PIPE, text=True)
    url = demo.stdout.readline().split()[1]
    browser = Browser()
    watch = Watch(browser, url, options.pictures)
    try:
        watch.run()
    except Failed as failure:
        print(f"demo.py: {failure}; the caption: {browser.evaluate(CAPTION)}", file=sys.stderr)
        return 1
    finally:
        browser.close()
        demo.send_signal(signal.SIGINT)
        demo.communicate(timeout=30)
    if demo.returncode != 0:
        print(f"demo.py: the demo ended with {demo.returncode}", file=sys.stderr)
        return 1
    print(f"{watch.held} claims hold")
    return 0


if __name__ == "__main__":
    sys.exit(main())
