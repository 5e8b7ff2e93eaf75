import EventLoop
import Glibc
import ProxyEngine
import Testing

@testable import Supervisor

/// Sockets of programs, here of this process, and those of the proxy that meet them.
@Suite struct RendezvousTests {
    private let rendezvous: Rendezvous
    private let any: SocketAddress
    private let target: SocketAddress

    init() throws {
        rendezvous = try Rendezvous()
        any = try #require(SocketAddress(numericHost: "127.0.0.1", port: 0))
        target = try #require(SocketAddress(numericHost: "192.0.2.1", port: 80))
    }

    /// Has a program's socket connect for a dial; returns its address.
    private func begin(_ socket: Int32, _ dial: UInt64) throws -> SocketAddress {
        let listener = try #require(rendezvous.listener(for: target))
        let local = try rendezvous.begin(socket, at: listener).get()
        rendezvous.note(target, of: local, by: dial)
        return local
    }

    /// Has a socket get no packets, by a filter whose one instruction returns 0 (socket(7)).
    private func dropPackets(of socket: Int32) {
        var instruction: UInt64 = 6
        withUnsafeMutablePointer(to: &instruction) {
            var filter = (count: 1 as UInt64, instructions: $0)
            #expect(setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &filter, 16) == 0)
        }
    }

    private func passPackets(of socket: Int32) {
        var unused: Int32 = 0
        #expect(setsockopt(socket, SOL_SOCKET, SO_DETACH_FILTER, &unused, 4) == 0)
    }

    private func word(_ handOver: LocalClient.HandOver) -> String {
        switch handOver {
        case .connected: "connected"
        case .connecting: "connecting"
        case .gone: "gone"
        case .failed(let error): error.description
        }
    }

    @Test func `a socket whose packets are delayed connects until it is closed`() throws {
        let socket = SilentListener.make(for: any, isShared: false)
        let local = try begin(socket, 1)
        dropPackets(of: socket)
        for _ in 0..<2 { #expect(word(rendezvous.handOver(to: local, by: 1)) == "connecting") }
        close(socket)
        for _ in 0..<2 { #expect(word(rendezvous.handOver(to: local, by: 1)) == "gone") }
    }

    @Test func `a dial that connects a socket late never meets the next one with its address`() throws {
        // A port that the program has chosen stays.
        let other = SilentListener.make(for: any, isShared: true)
        let chosen = try SocketAddress.bound(to: other)
        let socket = SilentListener.make(for: chosen, isShared: true)
        defer { for descriptor in [socket, other] { close(descriptor) } }
        let local = try begin(socket, 1)
        dropPackets(of: socket)
        #expect(word(rendezvous.handOver(to: local, by: 1)) == "connecting")
        Rendezvous.disconnect(socket)
        passPackets(of: socket)
        #expect(try begin(socket, 2) == local)
        #expect(rendezvous.isConnecting(.max, at: local))
        #expect(word(rendezvous.handOver(to: local, by: 1)) == "gone")
        guard case .connected(let own) = rendezvous.handOver(to: local, by: 2) else {
            Issue.record("the second dial connects it")
            return
        }
        #expect(own.peer == local)
    }

    @Test func `a dial that is over connects no socket`() throws {
        let socket = SilentListener.make(for: any, isShared: false)
        defer { close(socket) }
        let local = try begin(socket, 1)
        rendezvous.end(1, at: local, isForgotten: false)
        #expect(word(rendezvous.handOver(to: local, by: 1)) == "gone" && rendezvous.target(of: local) == target)
        rendezvous.note(target, of: local, by: 2)
        rendezvous.end(2, at: local, isForgotten: true)
        #expect(rendezvous.target(of: local) == nil)
    }

    @Test func `a socket that wants packets of its own link alone is connected (RFC 5082)`() throws {
        let socket = SilentListener.make(for: any, isShared: false)
        defer { close(socket) }
        var hops: Int32 = 255
        #expect(setsockopt(socket, Int32(IPPROTO_IP), IP_MINTTL, &hops, 4) == 0)
        let local = try begin(socket, 1)
        #expect(word(rendezvous.handOver(to: local, by: 1)) == "connected")
    }
}
