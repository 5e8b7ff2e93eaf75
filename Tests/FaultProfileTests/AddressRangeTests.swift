import Testing
import Units

@testable import FaultProfile

@Suite("An address range")
struct AddressRangeTests {
    private func range(_ text: String) throws -> AddressRange { try AddressRange(parsing: text) }

    @Test(arguments: [
        ("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "0.0.0.0"), ("::", "::"), ("::1", "::1"), ("1::", "1::"),
        ("FD00:0:0:0:0:0:0:00ab", "fd00::ab"), ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"),
        ("1:0:0:4:0:0:0:8", "1:0:0:4::8"),
        ("1:0:3:4:5:6:7:8", "1:0:3:4:5:6:7:8"), ("2001:db8::1.2.3.4", "2001:db8::102:304"),
        ("::ffff:192.0.2.7", "192.0.2.7"), ("::FFFF:c000:0207", "192.0.2.7"), ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
    ])
    func `has addresses that are written as RFC 5952 wants it, and read back`(text: String, written: String) throws {
        let address = try #require(IPAddress(text))
        #expect(address.text == written)
        #expect(IPAddress(written) == address)
        #expect(try range(text).text == written)
    }

    @Test(arguments: [
        "", ".", ":", ":::", "1.2.3", "1.2.3.4.5", "1.2.3.256", "01.2.3.4", "1.2.3.4 ", " 1.2.3.4", "1.2.3.-4",
        "1.2.3.+4",
        "1..3.4", "1.2.3.４", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8::", "::1::", "12345::", "::g",
        "::+1",
        "[::1]", "fe80::1%1", "1.2.3.4::", "::1.2.3", "::1.2.3.4:5", "localhost", "0x7f000001",
        "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000", String(repeating: ":", count: 100_000),
        String(repeating: "1", count: 100_000),
    ])
    func `has no address that isn't one`(text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test(arguments: [
        ("10.0.0.0/8", ["10.0.0.0", "10.255.255.255", "::ffff:10.1.2.3"], ["9.255.255.255", "11.0.0.0", "::a00:1"]),
        ("192.0.2.7", ["192.0.2.7"], ["192.0.2.6", "192.0.2.8", "::c000:207"]),
        ("0.0.0.0/0", ["0.0.0.0", "255.255.255.255"], ["::", "::1"]),
        ("::/0", ["::", "ffff::"], ["1.2.3.4", "::ffff:1.2.3.4"]),
        ("::1", ["::1", "0:0:0:0:0:0:0:1"], ["::2", "127.0.0.1"]),
        ("fd00::/8", ["fd00::", "fdff:ffff::1"], ["fc00::", "fe00::", "10.0.0.1"]),
        ("2001:db8:0:8000::/49", ["2001:db8:0:8000::1", "2001:db8:0:ffff::"], ["2001:db8:0:7fff::", "2001:db8:1::"]),
        ("::ffff:10.0.0.0/104", ["10.9.8.7"], ["11.0.0.0"]), ("::ffff:0.0.0.0/96", ["1.2.3.4"], ["::1"]),
    ])
    func `contains the addresses that begin with its bits`(text: String, inside: [String], outside: [String]) throws {
        let range = try range(text)
        for address in inside { #expect(range.contains(try #require(IPAddress(address))), "\(address)") }
        for address in outside { #expect(!range.contains(try #require(IPAddress(address))), "\(address)") }
        #expect(try AddressRange(parsing: range.text) == range)
    }

    @Test(arguments: [
        ("10.0.0.1/8", "write “10.0.0.0/8” for the block, or “10.0.0.1” for the one address"),
        ("fd00::1/8", "write “fd00::/8” for the block, or “fd00::1” for the one address"),
        ("::ffff:10.0.0.1/104", "write “10.0.0.0/8” for the block, or “10.0.0.1” for the one address"),
        ("10.0.0.0/33", "write a number from 0 to 32 behind the slash"),
        ("10.0.0.0/", "write a number from 0 to 32 behind the slash"),
        ("10.0.0.0/08", "write a number from 0 to 32 behind the slash"),
        ("10.0.0.0/+8", "write a number from 0 to 32 behind the slash"),
        ("10.0.0.0/8/9", "write a number from 0 to 32 behind the slash"),
        ("fd00::/129", "write a number from 0 to 128 behind the slash"),
        ("::ffff:10.0.0.0/95", "write a number from 96 to 128 behind the slash"),
        (
            "localhost",
            "write one such as “192.0.2.7”, “10.0.0.0/8” or “fd00::/8”, without a name or a port"
        ),
    ])
    func `that can't be read says what to write`(text: String, remedy: String) {
        let error = #expect(throws: UnitError.self) { try AddressRange(parsing: text) }
        #expect(error?.remedy == remedy)
        #expect(error?.problem.contains("“\(text)”") == true)
    }
}
