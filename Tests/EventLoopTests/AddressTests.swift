import Dispatch
import Glibc
import OperatingSystem
import Synchronization
import Testing

@testable import EventLoop

struct AddressTests {
    @Test(arguments: [
        ("127.0.0.1:80", "127.0.0.1", 80, "127.0.0.1:80"),
        ("localhost:0", "localhost", 0, "localhost:0"),
        ("[::1]:65535", "::1", 65_535, "[::1]:65535"),
        ("[fe80::1%lo]:7", "fe80::1%lo", 7, "[fe80::1%lo]:7"),
        ("example.org:0080", "example.org", 80, "example.org:80"),
        ("bücher.example:1", "bücher.example", 1, "bücher.example:1"),
    ])
    func `an endpoint is a host, a colon and a port`(_ text: String, host: String, port: Int, written: String) throws {
        let endpoint = try #require(Endpoint(text))
        #expect(endpoint.host == host)
        #expect(Int(endpoint.port) == port)
        #expect(endpoint.description == written)
        #expect(Endpoint(written) == endpoint)
    }

    @Test(arguments: ["unix:/run/app.sock", "unix:app.sock", "unix:@app", "unix:/a:80"])
    func `an endpoint is the name of a Unix socket as well`(_ text: String) async throws {
        let endpoint = try #require(Endpoint(text))
        #expect(endpoint.unix?.description == text)
        #expect(endpoint.description == text)
        #expect(endpoint.host.isEmpty && endpoint.port == 0 && !endpoint.hasFreePort)
        let addresses = try await Resolver.resolve(endpoint)
        #expect(addresses.map(\.description) == [text])
        #expect(addresses[0].with(port: 80) == addresses[0])
        #expect(Endpoint("unix:") == nil && Endpoint("unix:80") == nil)
    }

    @Test(arguments: [
        "", ":", ":80", "localhost", "localhost:", "localhost:http", "localhost:65536", "localhost:-1", "localhost:+1",
        "localhost: 80", "local host:80", " localhost:80", "localhost:80 ", "::1:80", "::1", "[::1]", "[::1]:", "[]:80",
        "[localhost]:80", "[::1:80", "::1]:80", "[[::1]]:80", "a[b]:80", "localhost:٣",
        "localhost:99999999999999999999",
        "local\u{0}host:80", "local\u{7f}host:80", "\u{1b}[31m:80", "a\n:80", "a\u{a0}b:80",
    ])
    func `anything else is no endpoint`(_ text: String) {
        #expect(Endpoint(text) == nil)
    }

    @Test(arguments: [
        ("127.0.0.1", false, "127.0.0.1:9"), ("0.0.0.0", false, "0.0.0.0:9"), ("::1", true, "[::1]:9"),
        ("::", true, "[::]:9"), ("::ffff:127.0.0.1", true, "[::ffff:127.0.0.1]:9"),
    ])
    func `a numeric address is read without asking anybody`(_ host: String, isIPv6: Bool, text: String) throws {
        let address = try #require(SocketAddress(numericHost: host, port: 9))
        #expect(address.isIPv6 == isIPv6)
        #expect(address.host == host)
        #expect(address.description == text)
        #expect(address.with(port: 10).port == 10)
        #expect(address.with(port: 10).with(port: 9) == address)
    }

    @Test(arguments: [
        ("0:0:0::1", "::1"), ("2001:DB8::0001", "2001:db8::1"), ("::FFFF:7f00:1", "::ffff:127.0.0.1"),
    ])
    func `an address is written in one way (RFC 5952)`(_ text: String, written: String) throws {
        let (one, other) = (SocketAddress(numericHost: text, port: 9), SocketAddress(numericHost: written, port: 9))
        #expect(one != nil && one == other)
        #expect(one?.host == written)
        #expect(try one == #require(one).withSystemAddress { address, _ in SocketAddress(address) })
    }

    @Test(arguments: [("[fe80::1%lo]:7", "[fe80::1%lo]:7"), ("[fe80::1%987654]:7", "[fe80::1%987654]:7")])
    func `a link-local address is written with its interface, by its number where there is none`(
        text: String,
        written: String
    ) async throws {
        let addresses = try await Resolver.resolve(#require(Endpoint(text)))
        #expect(addresses.map(\.description) == [written])
    }

    @Test func `a link-local address of another interface is another address`() async throws {
        func address(_ text: String) async throws -> SocketAddress {
            try await Resolver.resolve(#require(Endpoint(text)))[0]
        }
        let (one, other) = (try await address("[fe80::1%71]:7"), try await address("[fe80::1%72]:7"))
        #expect(one.isLinkLocal && one.reaches(one, ownHosts: []))
        #expect(!one.reaches(other, ownHosts: []))
        let all = try #require(SocketAddress(numericHost: "::", port: 7))
        #expect(one.reaches(all, ownHosts: [one.withoutPort]))
        #expect(!one.reaches(all, ownHosts: [other.withoutPort]))
    }

    @Test(arguments: [
        ("169.254.0.0", true), ("169.254.255.255", true), ("169.255.0.0", false), ("169.253.255.255", false),
        ("254.169.0.0", false), ("fe80::1", true), ("febf::1", true), ("fec0::1", false), ("fe7f::1", false),
    ])
    func `a link-local address is known by its first bits`(_ host: String, isLinkLocal: Bool) throws {
        #expect(try #require(SocketAddress(numericHost: host, port: 9)).isLinkLocal == isLinkLocal)
    }

    @Test(arguments: [
        ("10.1.2.3", "10.1.2.3", "::ffff:10.1.2.3", [10, 1, 2, 3]),
        ("::ffff:10.1.2.3", "10.1.2.3", "::ffff:10.1.2.3", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 10, 1, 2, 3]),
        ("2001:db8::1", "2001:db8::1", "2001:db8::1", [32, 1, 13, 184, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
        ("::", "::", "::", [UInt8](repeating: 0, count: 16)),
    ])
    func `an address of IPv4 has a form in IPv6`(_ host: String, four: String, six: String, bytes: [UInt8]) throws {
        let address = try #require(SocketAddress(numericHost: host, port: 9))
        #expect(address.canonical == SocketAddress(numericHost: four, port: 9))
        #expect(address.mapped == SocketAddress(numericHost: six, port: 9))
        #expect(address.bytes == bytes)
    }

    @Test(arguments: [
        ("0.0.0.0", "10.9.9.9", "10.9.9.9"), ("0.0.0.0", nil, "172.17.0.1"), ("::", "2001:db8::9", "2001:db8::9"),
        ("::", nil, "2001:db8::7"),
    ])
    func `other machines reach an address of the same family, that of the default route if there is one`(
        _ host: String,
        source: String?,
        reached: String
    ) throws {
        let address = try #require(SocketAddress(numericHost: host, port: 9))
        let source = source.flatMap { SocketAddress(numericHost: $0, port: 1_234) }
        let hosts = ["::1", "127.0.0.1", "169.254.1.1", "fe80::1", "192.168.1.20", "172.17.0.1", "2001:db8::7"]
        let own = Set(hosts.compactMap { SocketAddress(numericHost: $0, port: 0) })
        #expect(address.reachable(source, ownHosts: own) == SocketAddress(numericHost: reached, port: 9))
        #expect(address.reachable(nil, ownHosts: own.filter(\.isLinkLocal)) == address.loopback)
        #expect(address.reachable.isIPv6 == address.isIPv6 && address.reachable.port == 9)
        #expect(address.loopback.reachable == address.loopback)
    }

    @Test(arguments: [
        ("0.0.0.0", "127.0.0.1"), ("::", "::1"), ("::ffff:0.0.0.0", "127.0.0.1"), ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
    ])
    func `the address for every interface means loopback as a destination`(_ host: String, goal: String) throws {
        let address = try #require(SocketAddress(numericHost: host, port: 9))
        #expect(address.destination == SocketAddress(numericHost: goal, port: 9))
    }

    @Test(arguments: [
        "", "localhost", "127.0.0", "127.0.0.256", "127.0.0.1 ", "01.2.3.4", "1.2.3.4.5", ":::", "[::1]", "12345::",
    ])
    func `a name is no numeric address`(_ host: String) {
        #expect(SocketAddress(numericHost: host, port: 1) == nil)
    }

    @Test func `a numeric host resolves to itself`() async throws {
        for (host, text) in [("127.0.0.1", "127.0.0.1:7"), ("::1", "[::1]:7")] {
            let addresses = try await Resolver.resolve(Endpoint(host: host, port: 7))
            #expect(addresses.map(\.description) == [text])
        }
    }

    @Test func `localhost resolves to loopback addresses with the port asked for, each once`() async throws {
        let addresses = try await Resolver.resolve(Endpoint(host: "localhost", port: 7))
        #expect(!addresses.isEmpty)
        #expect(addresses.count <= Resolver.addressLimit)
        #expect(addresses.allSatisfy { $0.port == 7 && ($0.host.hasPrefix("127.") || $0.host == "::1") })
        #expect(Set(addresses).count == addresses.count)
    }

    @Test(arguments: [
        ("localhost", true), ("LocalHost.", true), ("app.localhost", true), ("app.LOCALHOST.", true),
        ("localhost.example", false), ("notlocalhost", false), ("localhost..", false), (".", false),
        ("example.com", false),
    ])
    func `the addresses of localhost don't depend on those of the machine`(host: String, isLocal: Bool) {
        let endpoint = Endpoint(host: host, port: 7)
        #expect(endpoint.isLocalhost == isLocal)
        #expect(Resolver.flags(for: endpoint) == (isLocal ? 0 : AI_ADDRCONFIG))
    }

    /// How many calls run, and how many have at most.
    private final class Counts: Sendable {
        private let counts = Mutex((running: 0, most: 0))

        var most: Int { counts.withLock { $0.most } }

        func begin() -> Int {
            counts.withLock { counts in
                counts.running += 1
                counts.most = max(counts.most, counts.running)
                return counts.running
            }
        }

        func end() { counts.withLock { $0.running -= 1 } }
    }

    @Test(.timeLimit(.minutes(1))) func `calls that block run at the same time, as many as the limit`() async throws {
        let (limit, threads) = (64, LookupThreads(limit: 64))
        let counts = Counts()
        let gate = DispatchSemaphore(value: 0)
        let sum = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 1...200 {
                group.addTask {
                    try await threads.run {
                        let running = counts.begin()
                        // As many as the limit open the gate for all.
                        if running == limit { gate.signal() }
                        gate.wait()
                        gate.signal()
                        counts.end()
                        return number
                    }
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(sum == 200 * 201 / 2)
        #expect(counts.most == limit)
    }

    @Test func `a name that can't exist is an error of getaddrinfo that says so`() async {
        let endpoint = Endpoint(host: "nonexistent.invalid", port: 7)
        let error = await #expect(throws: SystemError.self) { try await Resolver.resolve(endpoint) }
        #expect(error?.call == "getaddrinfo")
        #expect(error?.reason.isEmpty == false)
        #expect(error?.reason.contains("Unknown error") == false)
    }

    @Test(arguments: [
        ("127.0.0.1", true), ("127.255.255.254", true), ("::1", true), ("0.0.0.0", false), ("128.0.0.1", false),
        ("::", false), ("::ffff:127.0.0.1", false), ("fe80::1", false), ("1270::1", false), ("0:0::0:1", true),
    ])
    func `loopback is what no other machine can reach`(_ host: String, isLoopback: Bool) throws {
        let address = try #require(SocketAddress(numericHost: host, port: 9))
        #expect(address.isLoopback == isLoopback)
        #expect(address.with(port: 10).isLoopback == isLoopback)
    }
}
