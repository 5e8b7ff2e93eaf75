#!/usr/bin/env python3
"""Visits the page of a running `squall serve` with a headless Chromium, and checks what it shows and does.

The server needs a proxy with steady downstream traffic of more than 1 Mbit/s and at least one connection:

    visit.py --url http://127.0.0.1:8474/ --proxy NAME

Creates and deletes a proxy, and leaves no fault. Exit code 1, with the reason, if a claim doesn't hold.
"""

import argparse
import json
import os
import sys
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit.browser import Browser, Failed

CREATED = "page-visit"

HELPERS = """
window.visit = {
  card: name => [...document.querySelectorAll('.card')].find(card => card.dataset.proxy === name),
  bits: name => {
    const [, number, unit] = /^([\\d.]+) ?(\\w+\\/s)$/.exec(visit.card(name).querySelector('.down dd').textContent);
    return number * { 'bit/s': 1, 'kbit/s': 1e3, 'Mbit/s': 1e6, 'Gbit/s': 1e9 }[unit];
  },
  proxy: name => api('GET', 'proxies/' + encodeURIComponent(name)),
  has: async (name, fault) => (await visit.proxy(name)).faults.some(f => f.name === fault),
  connection: async (name, number) => (await api('GET', 'connections?limit=1000&proxy=' + encodeURIComponent(name)))
    .connections.some(c => c.number === number),
};
"""


class Visit:
    def __init__(self, browser, options):
        self.browser, self.options, self.held = browser, options, 0

    def run(self):
        browser = self.browser
        browser.open(self.options.url)
        if self.options.token:
            self.until("document.querySelector('#token').open", "the page asks for the token")
            browser.click("#token [name=token]")
            browser.type(self.options.token)
            browser.press("Enter")
        self.until("document.querySelector('#link').dataset.state === 'up'", "the page is connected")
        browser.evaluate(HELPERS)
        # An earlier visit that failed may have left its proxy.
        browser.evaluate(f"api('GET', 'proxies').then(a => a.proxies.some(p => p.name === '{CREATED}')"
                         f" && api('DELETE', 'proxies/{CREATED}'))")
        self.until(f"!visit.card('{CREATED}')", f"there is no card of {CREATED}")
        for step in (self.policy, self.cards, self.created, self.profile, self.sketched, self.refreshed, self.rate,
                     self.connection, self.wifi, self.capture, self.queue, self.deleted, self.keyboard,
                     self.reconnected):
            step()
        self.quiet()

    def until(self, expression, claim, seconds=20):
        self.browser.until(expression, claim, seconds)
        self.held += 1

    def check(self, value, claim):
        if not value:
            raise Failed(claim)
        self.held += 1

    def throughput(self, name):
        return self.browser.evaluate(f"visit.bits({json.dumps(name)})")

    # Claims, in order

    def policy(self):
        policy = self.browser.evaluate(
            "fetch(location.href).then(r => r.headers.get('content-security-policy') ?? '')")
        self.check("default-src 'none'" in policy and "script-src 'sha256-" in policy,
                   f"the page has a strict Content-Security-Policy, not “{policy}”")

    def cards(self):
        names = self.browser.evaluate("api('GET', 'proxies').then(a => a.proxies.map(p => p.name))")
        self.options.proxy = self.options.proxy or (names and names[0])
        self.check(self.options.proxy in names, f"the server has a proxy {self.options.proxy}")
        shown = self.browser.evaluate("[...document.querySelectorAll('.card')].map(c => c.dataset.proxy)")
        self.check(shown == names, f"the page has a card for each of {names}, not {shown}")
        name = json.dumps(self.options.proxy)
        self.browser.evaluate(f"visit.card({name}).scrollIntoView({{ block: 'center' }})")
        self.until(f"visit.bits({name}) > 1e6", f"{self.options.proxy} shows a throughput above 1 Mbit/s")
        self.until(f"(() => {{ const canvas = visit.card({name}).querySelector('canvas');"
                   " return canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)"
                   ".data.some(byte => byte); })()", "its chart is drawn")

    def created(self):
        browser = self.browser
        browser.click("#new")
        for field, text in (("name", CREATED), ("upstream", "127.0.0.1:9")):
            browser.click(f"#create [name={field}]")
            browser.type(text)
        browser.press("Enter")
        self.until(f"visit.card('{CREATED}')", "a created proxy has a card")
        self.until("!document.querySelector('#create').open", "the dialog closes")
        self.until(f"visit.proxy('{CREATED}').then(p => p.upstream === '127.0.0.1:9')", "the server has it")
        browser.press("n")
        self.until("document.querySelector('#create').open", "N opens the dialog")
        for field, text in (("name", CREATED), ("upstream", "127.0.0.1:9")):
            browser.click(f"#create [name={field}]")
            browser.type(text)
        browser.press("Enter")
        self.until("document.querySelector('#create .wrong').textContent", "a name in use is refused in the dialog")
        browser.press("Escape")

    def profile(self):
        browser, profile = self.browser, self.options.profile
        browser.click(f".card[data-proxy='{CREATED}'] .name")
        browser.click("#tab-profiles")
        browser.click("#search")
        browser.type(profile)
        self.until("[...document.querySelectorAll('.profile:not([hidden])')].every(p => p.textContent.includes("
                   f"'{profile}'))", "the search narrows the gallery")
        browser.click(f".profile[data-profile='{profile}']")
        self.until(f"visit.card('{CREATED}').querySelector('[data-profile=\"{profile}\"]')",
                   f"the card shows the profile {profile}")
        self.until(f"document.querySelector('.profile[data-profile=\"{profile}\"]').ariaPressed === 'true'",
                   "the gallery shows it as applied")
        self.until(f"visit.proxy('{CREATED}').then(p => p.profile?.name === '{profile}')", "the server has applied it")

    def losing(self, path):
        """Has the next GET of a path fail without a response."""
        self.browser.evaluate("window.kept ??= fetch; window.isLost = false; window.fetch = (path, options) => {"
                              f" if (isLost || options.method !== 'GET' || path !== {json.dumps(path)})"
                              " return kept(path, options);"
                              " isLost = true; return Promise.reject(new TypeError('lost')); }")

    def sketched(self):
        """The gallery draws a profile again when its content has changed, or when its request has failed; one with
        problems waits for a change."""
        browser = self.browser
        kinds = f"(document.querySelector('.profile[data-profile=\"{CREATED}\"] .kinds')?.textContent ?? '')"
        browser.evaluate(f"document.querySelector('#search').value = '{CREATED}'; gallery.search()")
        store = f"api('PUT', 'profiles/{CREATED}', {{ name: '{CREATED}', faults: [{{ kind: '%s', %s }}] }})"
        browser.evaluate(store % ("latency", "delay: '1 ms'"))
        self.until(f"{kinds} === 'latency'", "the gallery shows the faults of a profile")
        browser.evaluate(store % ("bandwidth", "rate: '1 Mbit/s'"))
        self.until(f"{kinds} === 'bandwidth'", "it shows those of the changed profile")
        self.losing(f"v1/profiles/{CREATED}")
        browser.evaluate(store % ("slice", "size: '10 B'"))
        self.until("isLost", "a request for the profile is lost")
        browser.evaluate("refreshSoon()")
        self.until(f"{kinds} === 'slice'", "the profile is asked for again")
        browser.evaluate("window.asked = 0; window.fetch = (path, options) => {"
                         f" if (options.method !== 'GET' || path !== 'v1/profiles/{CREATED}')"
                         " return kept(path, options);"
                         " asked++; return Promise.resolve(new Response('{}', { status: 422 })); }")
        browser.evaluate(store % ("latency", "delay: '2 ms'"))
        self.until("asked > 0", "a profile that has got problems is asked for")
        # Cards that come into view are drawn in the frame after.
        browser.evaluate("refresh().then(() => new Promise(done =>"
                         " requestAnimationFrame(() => requestAnimationFrame(done))))")
        self.check(browser.evaluate("asked") == 1, "it isn't asked for again while it is the same")
        browser.evaluate(f"api('DELETE', 'profiles/{CREATED}')")
        browser.evaluate("window.fetch = kept; document.querySelector('#search').value = ''; gallery.search()")

    def refreshed(self):
        """What a lost refresh would have shown is shown by the next one."""
        browser, path = self.browser, f"'proxies/{CREATED}/faults/others'"
        self.until("refreshing === null", "the page has shown the last change")
        self.losing("v1/proxies")
        browser.evaluate(f"api('PUT', {path}, {{ kind: 'latency', delay: '7 ms' }})")
        self.until("isLost", "a refresh is lost")
        self.until(f"visit.card('{CREATED}').querySelector('.chips').textContent.includes('7 ms')",
                   "a lost refresh is repeated")
        browser.evaluate(f"window.fetch = kept; api('DELETE', {path})")

    def rate(self):
        browser, name = self.browser, json.dumps(self.options.proxy)
        before = self.throughput(self.options.proxy)
        if not browser.evaluate(f"visit.card({name}).querySelector('.knobs').offsetParent"
                                " ? true : false"):
            browser.click("#knobs")
        browser.evaluate(f"visit.card({name}).querySelectorAll('input[type=range]')[1].focus()")
        for key in ("End", "ArrowLeft", "ArrowLeft", "ArrowLeft"):
            browser.press(key)
        self.until(f"visit.card({name}).querySelectorAll('output')[1].textContent === '200 kbit/s'",
                   "the slider says 200 kbit/s")
        self.until(f"visit.has({name}, 'page-rate')", "the server has the rate")
        self.until(f"visit.bits({name}) < {min(before / 2, 400000)}", "the throughput falls")
        path = f"'proxies/' + encodeURIComponent({name}) + '/faults/others'"
        browser.evaluate(f"api('PUT', {path}, {{ kind: 'latency', delay: '1 ms' }})")
        self.until(f"visit.card({name}).querySelector('.chips').textContent.includes('1 ms')", "a fault of others has a chip")
        browser.evaluate("document.activeElement.blur()")
        browser.press("h")
        self.until(f"visit.has({name}, 'page-rate').then(has => !has)", "H removes the rate")
        self.check(browser.evaluate(f"visit.has({name}, 'others')"), "H leaves the faults of others")
        browser.evaluate(f"api('DELETE', {path})")
        self.until(f"visit.bits({name}) > 1e6", "the throughput is back", 60)

    def connection(self):
        browser, name = self.browser, json.dumps(self.options.proxy)
        browser.click("#tab-connections")
        browser.evaluate("(() => {"
                         " for (const [selector, value] of [['#connections .scope', %s], ['#order', 'oldest']]) {"
                         " const select = document.querySelector(selector); select.value = value;"
                         " select.dispatchEvent(new Event('change')); } })()" % name)
        first = "document.querySelector('#connections .row:not([hidden]) [data-how=reset]')"
        self.until(f"{first}?.ariaLabel?.endsWith(' of ' + {name})", "connections of the proxy are listed")
        label = browser.evaluate(f"{first}.ariaLabel")
        number = int(label.split()[2])
        self.until(f"visit.connection({name}, {number})", "the server has the listed connection")
        browser.click(f'#connections [aria-label="{label}"]')
        self.until(f"visit.connection({name}, {number}).then(has => !has)", "the connection is ended")
        self.until(f"document.querySelector('#connections [aria-label=\"{label}\"]')"
                   "?.closest('.row').textContent.includes('· ended ·')",
                   "the row under the pointer stays, as ended")
        browser.click("#tab-connections")
        self.until(f"!document.querySelector('#connections .row:not([hidden]) [aria-label=\"{label}\"]')",
                   "the list no longer has it")

    def wifi(self):
        browser, name = self.browser, json.dumps(self.options.proxy)
        all_off = "api('GET', 'proxies').then(a => a.proxies.%s(p => p.faults.some(f => f.name === 'wifi-off')))"
        self.until(f"visit.bits({name}) > 1e6", "there is a throughput before", 60)
        browser.click("#wifi")
        self.until("!document.querySelector('#off').hidden", "the page says that the Wi-Fi is off")
        self.check(browser.evaluate("['#wifi', '#capture'].every(id => document.querySelector(id).ariaPressed === null)"),
                   "a button whose name says what it does isn't pressed as well")
        self.until(all_off % "every", "every proxy has the fault")
        self.until(f"visit.bits({name}) === 0", "nothing passes")
        self.check(browser.evaluate("document.querySelector('#wifi').textContent === 'Wi-Fi on'"), "the button turns it on")
        browser.click("#wifi")
        self.until("document.querySelector('#off').hidden", "the page says that the Wi-Fi is on again")
        self.until(all_off % "every" + ".then(every => !every)", "the fault is removed")
        self.until(f"visit.bits({name}) > 1e6", "the throughput is back", 60)
        browser.evaluate(f"api('PUT', 'proxies/{CREATED}/profile', {{ name: 'own', faults: [{{ name: 'wifi-off', kind: 'outage', how: 'silence' }}] }})")
        self.until(f"visit.card('{CREATED}').querySelector('[data-profile=own]')", "a profile may have a fault called wifi-off")
        self.check(browser.evaluate("document.querySelector('#off').hidden"), "it isn't that of the button")

    def capture(self):
        text = "document.querySelector('#capture').textContent"
        for name, state in (("Save the capture", "running"), ("Capture", "stopped")):
            self.browser.click("#capture")
            self.until(f"{text} === '{name}'", f"the button says “{name}”")
            self.until(f"api('GET', 'capture').then(c => c.state === '{state}')", f"the capture is {state}")
        for request, name in (("'PUT', 'capture', {}", "Save the capture"), ("'DELETE', 'capture'", "Capture")):
            self.browser.evaluate(f"api({request})")
            self.until(f"{text} === '{name}'", f"of a capture of others the button says “{name}”")
        self.until("fetch('v1/capture/file', { headers: auth() }).then(r => r.blob()).then(b => b.size > 100)", "the capture has a file")

    def queue(self):
        if not self.options.queue:
            return
        self.until("!document.querySelector('#tab-queue').hidden", "there is a tab for the queue")
        self.browser.click("#tab-queue")
        text = "(document.querySelector('#queue .row:not([hidden])')?.textContent ?? '')"
        self.until(f"{text}.includes('waiting (retry)') && {text}.includes({json.dumps(self.options.queue)})", "it shows the job that waits")
        self.until("document.querySelector('#jobs').textContent.includes('1 job of the queue')", "it counts the jobs")
        self.browser.click("#tab-events")

    def deleted(self):
        browser = self.browser
        browser.click(f".card[data-proxy='{CREATED}'] .menu")
        self.until("document.activeElement.role === 'menuitem'", "the menu has the focus")
        browser.press("End")
        browser.press("Enter")
        self.until("document.querySelector('#ask').open", "a deletion has to be confirmed")
        browser.click("#ask [type=submit]")
        self.until(f"!visit.card('{CREATED}')", "the card of a deleted proxy goes")

    def keyboard(self):
        browser = self.browser
        browser.evaluate("document.activeElement.blur()")
        browser.press("?")
        self.until("document.querySelector('#keys').open", "? lists the shortcuts")
        browser.press("Escape")
        self.until("!document.querySelector('#keys').open", "Escape closes them")
        browser.press("e")
        self.until("document.querySelector('#tab-events').ariaSelected === 'true'", "E shows the events")
        self.check(browser.evaluate("document.activeElement.id") == "tab-events", "the tab has the focus")
        self.check(browser.evaluate(
            "[...document.querySelectorAll('button, input, select, [role=tab]')].every(e => e.closest('[hidden]') ||"
            " e.labels?.length || e.ariaLabel || e.textContent.trim() || e.closest('.card'))"),
            "every control has a name")
        unnamed = browser.evaluate(
            "[...document.querySelectorAll('.card button, .card input')].filter(e => !(e.labels?.length ||"
            " e.ariaLabel || e.textContent.trim())).map(e => e.outerHTML)")
        self.check(not unnamed, f"every control of a card has a name, not {unnamed}")

    def reconnected(self):
        """Last, since the failed requests of this step are no errors of the page."""
        browser = self.browser
        self.quiet()
        browser.evaluate("link.lastID = '1'; link.server = 'another'; log.events = []; link.stream.abort()")
        self.until("log.events.at(-1)?.id === 1", "of a server that has started anew every event is new")
        self.hidden()
        # Requests that get lost without an error.
        browser.evaluate("window.kept = fetch; window.fetch = (_, options) => new Promise((_, fail) =>"
                         " options.signal.addEventListener('abort', () => fail(options.signal.reason))); link.drop()")
        self.until("!document.querySelector('#lost').hidden && refreshing !== null", "requests without a response are waited for")
        browser.evaluate("window.fetch = kept")
        browser.click("#again")
        self.until("link.state === 'up'", "a click ends them, and tries at once", 5)
        browser.offline(True)
        browser.evaluate("link.drop()")      # An open stream outlives the emulation.
        self.until("!document.querySelector('#lost').hidden", "a banner says that the server can't be reached")
        browser.offline(False)
        self.until("document.querySelector('#lost').hidden"
                   " && document.querySelector('#link').dataset.state === 'up'", "the page reconnects by itself")
        browser.errors = [error for error in browser.errors if "ERR_INTERNET_DISCONNECTED" not in error]

    def hidden(self):
        """A tab out of view has no stream; back in view it asks for what it has missed."""
        browser = self.browser
        browser.evaluate("Object.defineProperty(document, 'hidden', { value: true, configurable: true }); link.stream.abort()")
        self.until("link.state === 'wait'", "a hidden tab waits")
        asked = len([url for url in browser.requests if url.endswith("/v1/story")])
        browser.evaluate("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))")
        self.until("link.state === 'up'", "a visible one is connected")
        self.check(len([url for url in browser.requests if url.endswith("/v1/story")]) > asked, "it asks for the story")

    def quiet(self):
        """No errors on the console, except the expected answers of the server; no request to elsewhere."""
        expected = [": the server responded with a status of 409"]
        if self.options.token:
            expected.append("a status of 401")
        expected.append("a status of 400")
        errors = [error for error in self.browser.errors if not any(text in error for text in expected)]
        self.check(not errors, "the console has errors: " + "; ".join(errors))
        origin = urllib.parse.urlsplit(self.options.url)
        elsewhere = [url for url in self.browser.requests
                     if not url.startswith(("data:", "about:", f"{origin.scheme}://{origin.netloc}/"))]
        self.check(not elsewhere, f"the page makes requests to elsewhere: {elsewhere}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True)
    parser.add_argument("--proxy", help="the proxy with traffic; default: the first one")
    parser.add_argument("--profile", default="wifi-walkaway", help="the profile to apply")
    parser.add_argument("--queue", help="the file of the job that waits in the queue of --queue")
    parser.add_argument("--token")
    parser.add_argument("--screenshot", help="file for a picture of the page after a failure")
    options = parser.parse_args()
    browser = Browser()
    visit = Visit(browser, options)
    try:
        visit.run()
    except Failed as failure:
        print(f"visit.py: {failure}", file=sys.stderr)
        for error in browser.errors:
            print(f"console: {error}", file=sys.stderr)
        if options.screenshot:
            browser.screenshot(options.screenshot)
        return 1
    finally:
        browser.close()
    print(f"{visit.held} claims hold")
    return 0


if __name__ == "__main__":
    sys.exit(main())
