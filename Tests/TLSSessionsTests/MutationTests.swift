import EventLoop
import FaultProfile
import Foundation
import StreamReading
import Testing
import Units

@testable import ProxyEngine
@testable import TLSSessions

/// ClientHellos, flights, records and alerts with random changes, as a peer may send them. `SQUALL_TLS_MUTATIONS` says how many.
@Suite(.timeLimit(.minutes(60))) struct MutationTests {
    private static let count = ProcessInfo.processInfo.environment["SQUALL_TLS_MUTATIONS"].flatMap { Int($0) }

    /// What sessions are made of, and random changes.
    private struct Bench {
        private let loop: EventLoop
        private let acceptor: ClientAcceptor
        private let connector: UpstreamConnector
        private var generator = SeededGenerator(seed: 45)
        private let hello: [UInt8]

        init(on loop: EventLoop) throws {
            self.loop = loop
            acceptor = try TestAuthority.acceptor()
            connector = try TestAuthority.connector()
            let client = try connector.connect(to: "upstream.test", offering: ["h2", "http/1.1"], on: loop)
            var hello: [UInt8] = []
            client.start { hello += MutationTests.array($0) }
            client.cancel()
            self.hello = hello
        }

        private mutating func number(_ limit: Int) -> Int { Int(generator.next() % UInt64(limit)) }

        /// The bytes with one to four changes.
        private mutating func mutated(_ bytes: [UInt8]) -> [UInt8] {
            var bytes = bytes
            for _ in 0...number(4) where !bytes.isEmpty {
                // The heads of records and messages are in front.
                let place = number(2) == 0 ? number(min(bytes.count, 64)) : number(bytes.count)
                let end = min(bytes.count, place + 1 + number(number(2) == 0 ? 4 : 2_000))
                switch number(6) {
                case 0: bytes[place] ^= 1 << UInt8(number(8))
                case 1: bytes[place] = [0, 1, 127, 128, 255][number(5)]
                case 2: bytes.removeSubrange(place..<end)
                case 3: bytes.insert(contentsOf: bytes[place..<end], at: place)
                case 4: bytes.insert(contentsOf: (place..<end).map { _ in UInt8(number(256)) }, at: place)
                default: bytes.removeSubrange(place...)
                }
            }
            return bytes
        }

        private func makeServer(_ version: TLSVersion?) throws -> any TLSSession {
            let terms = TLSTerms(choice: "h2", version: version)
            return try acceptor.accept(TLSGreeting(name: "upstream.test", protocols: ["h2"]), on: terms, of: loop)
        }

        /// Has a session read bytes as a socket does: whole records, until it has failed.
        private func feed(_ bytes: [UInt8], to session: any TLSSession) -> [UInt8] {
            var (rest, output) = (bytes[...], [UInt8]())
            while !rest.isEmpty {
                let count = TLSRecord.wholeRecords(of: rest.span) ?? rest.count
                let records = Array(rest.prefix(count))
                guard count > 0 else { break }
                _ = TLSAlert.inClear(among: records.span)
                session.receive(records.span.bytes) { output += MutationTests.array($0) }
                if case .failed = session.state { break }
                rest = rest.dropFirst(count)
            }
            #expect(session.waitingContent <= bytes.count)
            while session.takeContent(1_000, { _ in }) > 0 {}
            return output
        }

        mutating func readHello() throws {
            let bytes = mutated(hello)
            var (reader, place, outcome) = (GreetingReader(), 0, GreetingReader.Outcome.incomplete)
            while place < bytes.count, outcome == .incomplete {
                let end = min(bytes.count, place + min(reader.room, 1 + number(number(2) == 0 ? 8 : 2_000)))
                outcome = reader.read(bytes[place..<end].span)
                place = end
            }
            #expect(reader.bytes.count <= GreetingReader.sizeLimit)
            // Only what has been read as a ClientHello comes to a session.
            guard case .greeting = outcome else { return }
            let server = try makeServer(nil)
            let flight = feed(bytes, to: server)
            for point in HandshakePoint.allCases where !flight.isEmpty {
                if let found = point.place(in: flight.span.bytes) { #expect(0...flight.count ~= found) }
            }
            server.cancel()
        }

        /// The server's flight for a client, or records of both of an open pair.
        mutating func readRecords() throws {
            let client = try connector.connect(to: "upstream.test", offering: ["h2"], on: loop)
            let server = try makeServer(number(2) == 0 ? nil : .tls12)
            var (up, down) = ([UInt8](), [UInt8]())
            client.start { up += MutationTests.array($0) }
            // A flight of the handshake is changed, or what follows it.
            let stage = number(4)
            for step in 0..<3 {
                down = feed(up, to: server)
                if step == stage { down = mutated(down) }
                up = feed(down, to: client)
            }
            for (sender, receiver) in [(client, server), (server, client)] {
                guard case .open = sender.state else { continue }
                var records: [UInt8] = []
                let content = [UInt8](repeating: 7, count: number(40_000))
                if !content.isEmpty { sender.send(content.span.bytes) { records += MutationTests.array($0) } }
                if number(3) == 0 { sender.endContent { records += MutationTests.array($0) } }
                if number(3) == 0 { records += [21, 3, 3, 0, 2, UInt8(number(3)), UInt8(number(256))] }
                _ = feed(mutated(records), to: receiver)
            }
            client.cancel()
            server.cancel()
        }
    }

    private static func array(_ bytes: RawSpan) -> [UInt8] { bytes.withUnsafeBytes { Array($0) } }

    /// The memory of the process in bytes.
    private static func residentBytes() throws -> Int {
        let fields = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
        return (Int(fields[1]) ?? 0) * 4_096
    }

    @Test func `nothing that a peer sends ends the process or stays in its memory`() async throws {
        let rounds = MutationTests.count ?? 1_000
        let grown = try await onLoop { loop in
            var bench = try Bench(on: loop)
            var start = 0
            for round in 0..<rounds {
                if round % 4 == 3 { try bench.readRecords() } else { try bench.readHello() }
                if round == rounds / 10 { start = try MutationTests.residentBytes() }
            }
            return try MutationTests.residentBytes() - start
        }
        // Beside other tests that says nothing.
        if let count = MutationTests.count {
            print("tls mutations: \(count), memory grown by \(grown >> 10) KiB")
            #expect(grown < 64 << 20)
        }
    }
}
