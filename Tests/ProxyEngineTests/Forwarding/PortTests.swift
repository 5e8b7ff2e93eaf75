import EventLoop
import FaultPlan
import FaultProfile
import ProxyEngine
import TestSockets
import TestStreams
import Testing
import Units

/// Faults for some ports of servers.
@Suite(.timeLimit(.minutes(2))) struct PortTests {
    private static let established = Array("HTTP/1.1 200 Connection established\r\n\r\n".utf8)

    private func socksRequest(_ address: SocketAddress) -> [UInt8] {
        [5, 1, 0, 1, 127, 0, 0, 1, UInt8(address.port >> 8), UInt8(address.port & 0xFF)]
    }

    @Test func `a fault for a port goes by the upstream's, behind which no client names one`() async throws {
        let server = TestServer { $0.sendUntilBroken(Array(repeating: 1, count: 2_000)) }
        defer { server.stop() }
        let port = server.address.port
        let cuts = [(port...port, 500), (1...(port - 1), 100)].map { (ports, offset) in
            let kind = FaultKind.cut(Cut(position: .at(ByteCount(Int64(offset))), how: .close))
            return Fault(name: "cut at \(offset)", condition: Condition(ports: [ports]), kind: kind)
        }
        try await withProxy(to: server.address, Profile(name: "test", faults: cuts)) { fixture in
            let count = try await blocking { try fixture.client().receiveAll().bytes.count }
            #expect(count == 500)
        }
    }

    @Test func `a fault for a port goes by the one that the client names`() async throws {
        let other = TestServer.echo()
        defer { other.stop() }
        let kind = FaultKind.cut(Cut(position: .at(ByteCount(10)), how: .close))
        let ports = [other.address.port...other.address.port]
        let cut = Fault(name: "cut", stream: .downstream, condition: Condition(ports: ports), kind: kind)
        let server = TestServer.echo()
        defer { server.stop() }
        let profile = Profile(name: "test", faults: [cut])
        try await withProxy(to: server.address, profile, policy: ForwardPolicy()) { fixture in
            try await blocking {
                for (address, count) in [(server.address, 50), (other.address, 10)] {
                    let tunnel = try fixture.client()
                    try tunnel.send(Array("CONNECT \(address) HTTP/1.1\r\n\r\n".utf8) + testBytes(50))
                    #expect(try tunnel.receive(exactly: Self.established.count) == Self.established)
                    tunnel.endWriting()
                    #expect(tunnel.receiveAll().bytes.count == count)
                    let socks = try fixture.client()
                    try socks.send([5, 1, 0] + socksRequest(address) + testBytes(50))
                    #expect(try socks.receive(exactly: 12).count == 12)
                    socks.endWriting()
                    #expect(socks.receiveAll().bytes.count == count)
                }
            }
            #expect(fixture.journal.rest.map(\.connection) == [3, 4])
        }
    }

    @Test func `a profile that is applied while a connection is open knows its port`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        try await withProxy(to: server.address, Profile(name: "plain"), policy: ForwardPolicy()) { fixture in
            let client = try await blocking {
                let client = try fixture.client()
                try client.send(Array("CONNECT \(server.address) HTTP/1.1\r\n\r\n1".utf8))
                #expect(try client.receive(exactly: Self.established.count + 1).last == 49)
                return client
            }
            let port = server.address.port
            let faults = [(port...port, 20), (1...(port - 1), 10)].map { ports, offset in
                let kind = FaultKind.cut(Cut(position: .at(ByteCount(Int64(offset))), how: .reset))
                let condition = Condition(ports: [ports])
                return Fault(name: "\(offset)", stream: .downstream, condition: condition, kind: kind)
            }
            try await fixture.proxy.apply(Profile(name: "test", faults: faults))
            try await blocking {
                try client.send(testBytes(50))
                #expect(client.receiveAll().bytes.count == 19)
            }
        }
    }
}
