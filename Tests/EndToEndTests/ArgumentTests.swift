import Foundation
import Testing

/// Invalid command-line values.
@Suite(.timeLimit(.minutes(5))) struct ArgumentTests {
    @Test(arguments: [
        (["plan", "slow-3g", "--size", "64"], "“64” has no unit: write “64 B” or “64 KiB”"),
        (["demo", "--size", "64mb"], "“64mb” has the unknown unit “mb”: "),
        (["plan", "slow-3g", "--until", "5"], "“5” has no unit: write “5 ms” or “5 s”"),
        (["plan", "slow-3g", "--until", "0s"], "it is zero: write a duration above zero, such as 60s"),
        (["plan", "slow-3g", "--name", ""], "a name has 1 to 100 characters, and no control character"),
        (["shrink", "j", "--patience", "1 week", "--", "true"], "“1 week” has the unknown unit “week”: "),
        (["get", "http://h/f", "--limit-rate", "200K"], "“200K” has the unknown unit “K”: "),
        (["get", "http://h/f", "--limit-rate", "2"], "“2” has no unit: write “2 kbit/s” or “2 Mbit/s”"),
        (["put", "f", "http://h/f", "--limit-rate", "2 kbps"], "“2 kbps” has the unknown unit “kbps”: "),
        (["put", "f", "http://h/f", "--limit-rate", "0 B/s"], "it is zero: write a rate above zero, such as 2MB/s"),
        (["run", "slow-3g", "--link-memory", "8 mib"], "“8 mib” has the unknown unit “mib”: "),
        (["replay", "j", "--link-memory", "1 B"], "--link-memory is from 4 KiB to 1024 MiB"),
        (["shrink", "j", "--connection-limit", "0", "--", "true"], "--connection-limit is at least 1"),
        (["run", "slow-3g", "--listen", "127.0.0.1"], "write a host and a port up to 65535"),
        (["run", "slow-3g", "--listen", "::1:0"], "write a host and a port up to 65535"),
        (["run", "slow-3g", "--upstream", "127.0.0.1:x"], "write a host and a port up to 65535"),
        (["run", "slow-3g", "--listen", "*:0"], "for all addresses write 0.0.0.0 or [::] in place of *"),
        (["run", "slow-3g", "--name", "two\nlines"], "a name has 1 to 100 characters, and no control character"),
        (["replay", "j", "--upstream", "127.0.0.1:0"], "--upstream needs a port above 0"),
        (["replay", "j", "--listen", ":1", "--", "true"], "a command behind -- connects to its targets itself"),
        (["run", "slow-3g", "--forward-proxy", ":0", "--intercept", ""], "write the name of a host alone"),
        (
            ["run", "slow-3g", "--forward-proxy", ":0", "--intercept", "https://h/"],
            "without a scheme, a port or a path"
        ),
        (["exec", "slow-3g", "--intercept", "h:443", "--", "true"], "write the name of a host alone"),
        (["exec", "slow-3g", "--key-log", "k", "--", "true"], "--key-log is for hosts that are intercepted"),
        (["replay", "j", "--listen", "here"], "write a host and a port up to 65535"),
        (["queue", "priority", "1", "-5"], "a negative priority stands behind --: squall queue priority 1 -- -5"),
        (["plan", "slow-3g", "--columns", "-5"], "“-5” is negative, which --columns doesn't take"),
        (["queue", "status", "--al"], "Error: Unknown option '--al'"),
        (["test", "/etc/passwd"], "/etc/passwd:1:1: this is no scenario: it is not JSON"),
        (["serve", "--port", "0", "--config", "/etc/passwd"], "“/etc/passwd” is no list of proxies"),
        (["serve", "--port", "0", "--host", "no.such.invalid"], "the host “no.such.invalid” isn't known"),
        (["ctl", "restore", "/etc/passwd"], "“/etc/passwd” is no snapshot: it doesn't begin with {"),
        (["ctl", "populate", "/etc/passwd"], "“/etc/passwd” is no list of proxies"),
        (["exec", "--pag", "--port", "0", "--", "true"], "Error: Unknown option '--pag'. Did you mean '--page'?"),
        (["serve", "--api-cert=c", "--api-kye", "k"], "Error: Unknown option '--api-kye'. Did you mean '--api-key'?"),
        (["ctl", "disble", "exec", "--host", "h"], "no command “ctl disble”. Did you mean “squall ctl disable”?"),
        (["ctl", "toxic", "frob"], "The commands of “squall ctl toxic” are add, "),
        (["run", "slow-3g", "--name", "mine"], "--name is for the proxy of --listen and --upstream"),
    ])
    func `are exit 2, with the reason and what to write`(arguments: [String], problem: String) async throws {
        let outcome = try await squall(arguments)
        #expect(outcome.status == 2)
        #expect(outcome.output.isEmpty)
        #expect(outcome.errors.contains(problem), "\(outcome.errors)")
    }
}
