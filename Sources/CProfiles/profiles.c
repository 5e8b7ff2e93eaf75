#include "CProfiles.h"

#include <string.h>

#if !__has_embed("Profiles/wifi-roam.json")
#error "This needs clang 19 or newer, as Swift 6.2 has it."
#endif

#pragma clang diagnostic ignored "-Wc23-extensions"

// The files in the order of `ShippedProfiles.files`, each with a zero byte behind it.
static const unsigned char files[] = {
#embed "Profiles/ad-injection.json" suffix(, 0, )
#embed "Profiles/broken-middlebox.json" suffix(, 0, )
#embed "Profiles/bufferbloat.json" suffix(, 0, )
#embed "Profiles/busy-cell.json" suffix(, 0, )
#embed "Profiles/cell-edge.json" suffix(, 0, )
#embed "Profiles/cut-every-mebibyte.json" suffix(, 0, )
#embed "Profiles/dead-server.json" suffix(, 0, )
#embed "Profiles/elevator.json" suffix(, 0, )
#embed "Profiles/first-two-fail.json" suffix(, 0, )
#embed "Profiles/flaky-api.json" suffix(, 0, )
#embed "Profiles/flapping.json" suffix(, 0, )
#embed "Profiles/full-server.json" suffix(, 0, )
#embed "Profiles/half-open.json" suffix(, 0, )
#embed "Profiles/lost-answer.json" suffix(, 0, )
#embed "Profiles/slow-3g.json" suffix(, 0, )
#embed "Profiles/slow-accept.json" suffix(, 0, )
#embed "Profiles/slow-reader.json" suffix(, 0, )
#embed "Profiles/slow-start-stall.json" suffix(, 0, )
#embed "Profiles/small-writes.json" suffix(, 0, )
#embed "Profiles/tls-gauntlet.json" suffix(, 0, )
#embed "Profiles/wifi-edge-loss.json" suffix(, 0, )
#embed "Profiles/wifi-roam.json" suffix(, 0, )
#embed "Profiles/wifi-walkaway.json" suffix(, 0, )
#embed "Profiles/presets/android-5.1.json" suffix(, 0, )
#embed "Profiles/presets/android.json" suffix(, 0, )
#embed "Profiles/presets/augmented-traffic-control.json" suffix(, 0, )
#embed "Profiles/presets/chrome.json" suffix(, 0, )
#embed "Profiles/presets/comcast.json" suffix(, 0, )
#embed "Profiles/presets/devtools.json" suffix(, 0, )
#embed "Profiles/presets/lighthouse.json" suffix(, 0, )
#embed "Profiles/presets/loadero.json" suffix(, 0, )
#embed "Profiles/presets/mahimahi.json" suffix(, 0, )
#embed "Profiles/presets/network-link-conditioner.json" suffix(, 0, )
#embed "Profiles/presets/quic-interop-runner.json" suffix(, 0, )
#embed "Profiles/presets/sitespeed.json" suffix(, 0, )
#embed "Profiles/presets/tls.json" suffix(, 0, )
#embed "Profiles/presets/traces/att-lte-2016-down.trace" suffix(, 0, )
#embed "Profiles/presets/traces/att-lte-2016-up.trace" suffix(, 0, )
#embed "Profiles/presets/traces/att-lte-driving-down.trace" suffix(, 0, )
#embed "Profiles/presets/traces/att-lte-driving-up.trace" suffix(, 0, )
#embed "Profiles/presets/traces/tmobile-lte-short-down.trace" suffix(, 0, )
#embed "Profiles/presets/traces/tmobile-lte-short-up.trace" suffix(, 0, )
#embed "Profiles/presets/traces/tmobile-umts-down.trace" suffix(, 0, )
#embed "Profiles/presets/traces/tmobile-umts-up.trace" suffix(, 0, )
#embed "Profiles/presets/traces/verizon-evdo-down.trace" suffix(, 0, )
#embed "Profiles/presets/traces/verizon-evdo-up.trace" suffix(, 0, )
#embed "Profiles/presets/traces/verizon-lte-short-down.trace" suffix(, 0, )
#embed "Profiles/presets/traces/verizon-lte-short-up.trace" suffix(, 0, )
#embed "Profiles/presets/webpagetest.json" suffix(, 0, )
#embed "Profiles/presets/wifi-measured.json" suffix(, 0, )
#embed "Profiles/presets/wifi.json" suffix(, 0, )
#embed "Profiles/traces/12mbit.trace" suffix(, 0, )
#embed "Profiles/traces/cell-edge.trace" suffix(, 0, )
};

size_t squall_profile_start(size_t index) {
    const unsigned char *file = files, *end = files + sizeof files;
    while (index > 0 && file < end) {
        file = (const unsigned char *)memchr(file, 0, (size_t)(end - file)) + 1;
        index -= 1;
    }
    return (size_t)(file - files);
}

unsigned char squall_profile_byte(size_t offset) { return offset < sizeof files ? files[offset] : 0; }
