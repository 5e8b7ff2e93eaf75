import EventLoop
import FaultProfile
import StreamReading
import Testing

@testable import ProxyEngine

/// Who may use a forward proxy, and which addresses it dials.
@Suite struct ForwardPolicyTests {
    private func addresses(_ hosts: [String]) throws -> [SocketAddress] {
        try hosts.map { try #require(SocketAddress(numericHost: $0, port: 80)) }
    }

    private func allowed(_ host: String, listen: String, _ policy: ForwardPolicy = ForwardPolicy()) throws -> Bool {
        let own = Set(try addresses(["127.0.0.1", "::1", "192.0.2.7", "2001:db8::7"]).map(\.withoutPort))
        return try !policy.allowed(addresses([host]), listen: addresses([listen]), ownHosts: own).isEmpty
    }

    @Test(arguments: [
        "127.0.0.1", "127.9.9.9", "::1", "0.0.0.0", "::", "::ffff:127.0.0.1", "192.0.2.7", "::ffff:192.0.2.7",
        "2001:db8::7",
    ])
    func `the machine's own addresses are dialed for its own clients only`(host: String) throws {
        for listen in ["127.0.0.1", "::1"] { #expect(try allowed(host, listen: listen)) }
        for listen in ["0.0.0.0", "::", "192.0.2.7"] { #expect(try !allowed(host, listen: listen)) }
        #expect(try allowed(host, listen: "0.0.0.0", ForwardPolicy(allowsLocalTargets: true)))
    }

    @Test(arguments: [
        "169.254.169.254", "169.254.0.1", "fe80::1", "febf::1", "::ffff:169.254.169.254", "100.100.100.200",
        "192.0.0.192", "168.63.129.16", "fd00:ec2::254", "fd20:ce::254",
    ])
    func `link-local addresses and metadata services are dialed for nobody`(host: String) throws {
        for listen in ["127.0.0.1", "192.0.2.7"] { #expect(try !allowed(host, listen: listen)) }
        #expect(try allowed(host, listen: "127.0.0.1", ForwardPolicy(allowsLocalTargets: true)))
    }

    @Test(arguments: ["198.51.100.1", "10.0.0.1", "169.253.255.255", "fec0::1", "2001:db8::8"])
    func `other addresses are dialed`(host: String) throws {
        #expect(try allowed(host, listen: "0.0.0.0"))
    }

    @Test func `only a proxy that asks for nothing on an address that others reach is open`() throws {
        let range = try AddressRange(parsing: "192.0.2.0/24")
        for hosts in [["127.0.0.1"], ["::1"], ["127.0.0.1", "::1"]] {
            let listen = try addresses(hosts)
            #expect(!ForwardPolicy().isOpen(at: listen))
        }
        for hosts in [["0.0.0.0"], ["::"], ["192.0.2.7"], ["127.0.0.1", "192.0.2.7"]] {
            let listen = try addresses(hosts)
            #expect(ForwardPolicy().isOpen(at: listen))
            #expect(!ForwardPolicy(clients: [range]).isOpen(at: listen))
            #expect(!ForwardPolicy(password: ProxyPassword("x")).isOpen(at: listen))
        }
    }

    @Test func `a list of clients admits its addresses`() throws {
        let policy = ForwardPolicy(
            clients: [try AddressRange(parsing: "192.0.2.0/24"), try AddressRange(parsing: "2001:db8::/32")]
        )
        for host in ["192.0.2.9", "::ffff:192.0.2.9", "2001:db8::9"] {
            #expect(policy.admits(SocketAddress(numericHost: host, port: 1)))
        }
        // The peer of a connection that is over.
        #expect(!policy.admits(nil) && ForwardPolicy().admits(nil))
        for host in ["192.0.3.9", "127.0.0.1", "::1"] {
            #expect(!policy.admits(SocketAddress(numericHost: host, port: 1)))
            #expect(ForwardPolicy().admits(SocketAddress(numericHost: host, port: 1)))
        }
    }
}
