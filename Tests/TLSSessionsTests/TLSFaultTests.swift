import DevelopmentCA
import EventLoop
import FaultPlan
import Foundation
import HTTPTransport
import TestSockets
import Testing
import Units

@testable import FaultProfile
@testable import ProxyEngine

/// The kind `tls`, between two proxies: the near one is the client.
@Suite(.timeLimit(.minutes(5))) struct TLSFaultTests {
    private static func profile(_ faults: [FaultKind]) -> Profile {
        let faults = faults.enumerated().map { index, kind in
            // Bytes of the wire go to the client here.
            Fault(name: "fault-\(index + 1)", stream: kind.base == .wire ? .downstream : .both, kind: kind)
        }
        return Profile(name: "test", faults: faults)
    }

    private static func profile(_ faults: [TLSFault]) -> Profile { profile(faults.map(FaultKind.tls)) }

    /// What a client gets that says a byte, and what the proxies tell, behind some faults.
    private func outcome(_ faults: TLSFault...) async throws -> (bytes: [UInt8], told: [String], words: [String]) {
        try await outcome(faults.map(FaultKind.tls))
    }

    private func outcome(_ faults: [FaultKind]) async throws -> (bytes: [UInt8], told: [String], words: [String]) {
        let server = TestServer.echo()
        defer { server.stop() }
        return try await withSecureProxies(to: server.address, Self.profile(faults)) { fixture in
            let client = try fixture.client()
            let received = try await blocking {
                try client.send([7])
                client.endWriting()
                return client.receiveAll()
            }
            client.close()
            #expect(await fixture.becomesIdle())
            return (received.bytes, fixture.events.value.map { "\($0)" }, fixture.journal.value.map(\.effect.word))
        }
    }

    @Test(arguments: [
        (CertificateFlaw.expired, "certificate_expired"), (.notYetValid, "certificate_expired"),
        (.wrongHost, "another name"),
        (.selfSigned, "isn't signed by an authority"), (.untrusted, "isn't signed by an authority"),
        (.noIntermediate, "isn't signed by an authority"),
    ])
    func `a flawed certificate is refused for its flaw`(_ flaw: CertificateFlaw, _ reason: String) async throws {
        let (bytes, told, words) = try await outcome(.certificate(flaw))
        #expect(bytes.isEmpty)
        #expect(words == ["presents"])
        #expect(told.contains { $0.contains(reason) }, "\(told)")
    }

    @Test(arguments: [
        TLSFault.certificate(.longChain), .alpn(nil), .alpn("h2"), .version(.tls12), .version(.tls13),
        .record(ByteCount(1)),
        .stall(.serverHello, for: .milliseconds(1)), .stall(.certificate, for: .milliseconds(1)),
        .stall(.finished, for: .milliseconds(1)),
    ])
    func `bytes pass behind a harmless one`(_ fault: TLSFault) async throws {
        let (bytes, told, words) = try await outcome(fault)
        #expect(bytes == [7])
        #expect(told.isEmpty, "\(told)")
        #expect(words.count == 1)
    }

    @Test func `a file's certificate is presented, and one that can't be keeps the proxy from starting`() async throws {
        func file(_ identity: PEMIdentity, _ key: [UInt8]) -> CertificateFile {
            CertificateFile(file: "own.pem", content: identity.certificates + key)
        }
        let trusted = try TestAuthority.shared.get().identity(for: "localhost", with: nil)
        let (bytes, silence, words) = try await outcome(.identity(file(trusted, trusted.privateKey)))
        #expect(bytes == [7] && silence.isEmpty && words == ["presents"])
        let foreign = try DevelopmentCA().identity(for: ["localhost"])
        let (none, told, _) = try await outcome(.identity(file(foreign, foreign.privateKey)))
        #expect(none.isEmpty)
        #expect(told.contains { $0.contains("isn't signed by an authority") }, "\(told)")
        let error = await #expect(throws: ProxyError.self) {
            try await outcome(.identity(file(foreign, trusted.privateKey)))
        }
        #expect(
            error?.description.hasSuffix("own.pem can't be used: the private key isn't the one of the certificate")
                == true
        )
    }

    @Test func `an alert and other bytes come in place of the ServerHello`() async throws {
        let alert = try #require(TLSAlertName(rawValue: "unrecognized_name"))
        let reply = TLSFault.reply(Array("HTTP/1.1 400".utf8))
        for (fault, reason) in [(TLSFault.alert(alert), "UNRECOGNIZED_NAME"), (reply, "isn't TLS")] {
            let (bytes, told, words) = try await outcome(fault)
            #expect(bytes.isEmpty)
            #expect(words == [fault == .alert(alert) ? "alerts" : "answers"])
            #expect(told.contains { $0.contains(reason) }, "\(told)")
        }
    }

    @Test(arguments: [0, 1, 40, 16_385, 100_000])
    func `an alert comes behind exactly so much content`(_ count: Int) async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let alert = try #require(TLSAlertName(rawValue: "bad_certificate"))
        let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0) }
        let profile = Self.profile([.alert(alert, at: ByteCount(Int64(count)))])
        try await withSecureProxies(to: server.address, profile) { fixture in
            let received = try await fixture.received(sending: bytes)
            #expect(received.bytes == Array(bytes.prefix(count)))
            let entries = fixture.journal.value
            #expect(entries.map(\.effect.word) == ["alerts"] && entries.map(\.offset) == [Int64(count)])
            // The handshake of the other proxy's upstream was complete.
            let told = fixture.events.value.map { "\($0)" }
            #expect(told.contains { $0.contains("the server ends TLS with the alert bad_certificate") }, "\(told)")
        }
    }

    @Test func `an alert is sealed behind any number of records`() async throws {
        try await onLoop { loop in
            for count in [0, 1, 3, 300] {
                let client = try TestAuthority.connector().connect(to: "localhost", offering: [], on: loop)
                var terms = TLSTerms()
                terms.alerts = true
                let greeting = TLSGreeting(name: "localhost")
                let server = try TestAuthority.acceptor().accept(greeting, on: terms, of: loop)
                defer {
                    client.cancel()
                    server.cancel()
                }
                try Self.shakeHands(client, server)
                var records: [UInt8] = []
                let piece: [UInt8] = [1, 2]
                for _ in 0..<count { server.send(piece.span.bytes) { records += $0.withUnsafeBytes { Array($0) } } }
                server.send(alert: 48) { records += $0.withUnsafeBytes { Array($0) } }
                // Nothing follows.
                server.endContent { records += $0.withUnsafeBytes { Array($0) } }
                client.receive(records.span.bytes) { _ in }
                #expect(client.waitingContent == 2 * count)
                guard case .failed(let failure) = client.state else {
                    Issue.record("the client is \(client.state)")
                    continue
                }
                #expect(failure.alert == "unknown_ca")
            }
        }
    }

    private static func shakeHands(_ client: any TLSSession, _ server: any TLSSession) throws {
        var (sent, flight): ([UInt8], [UInt8]) = ([], [])
        server.start { _ in }
        client.start { sent += $0.withUnsafeBytes { Array($0) } }
        while !sent.isEmpty || !flight.isEmpty {
            flight = []
            if !sent.isEmpty { server.receive(sent.span.bytes) { flight += $0.withUnsafeBytes { Array($0) } } }
            sent = []
            if !flight.isEmpty { client.receive(flight.span.bytes) { sent += $0.withUnsafeBytes { Array($0) } } }
        }
        try #require(client.state == .open(protocol: nil) && server.state == .open(protocol: nil))
    }

    @Test func `offsets of the wire lie in the handshake and in records`() async throws {
        let cut = Cut(position: .at(ByteCount(100)), how: .close, base: .wire)
        let (nothing, ended, closes) = try await outcome([.cut(cut)])
        #expect(nothing.isEmpty && closes == ["closes"])
        #expect(ended.contains { $0.contains("ended in the handshake") }, "\(ended)")
        // Within the protected records of the first flight.
        let corrupt = Corrupt(position: .at(ByteCount(300)), base: .wire)
        let (none, told, corrupts) = try await outcome([.corrupt(corrupt)])
        #expect(none.isEmpty && corrupts == ["corrupts"])
        #expect(told.contains { $0.uppercased().contains("BAD_DECRYPT") }, "\(told)")
        // A warning in front of the ServerHello, which all but Java ignore.
        let warning = Insert(position: .at(.zero), bytes: [21, 3, 3, 0, 2, 1, 112], base: .wire)
        let (bytes, silence, inserts) = try await outcome([.insert(warning)])
        #expect(bytes == [7] && silence.isEmpty && inserts == ["inserts"])
    }

    @Test func `several act together, and of two alike the first`() async throws {
        let (bytes, _, words) = try await outcome(
            .stall(.finished, for: .milliseconds(1)),
            .version(.tls12),
            .version(.tls13),
            .record(ByteCount(3)),
            .certificate(.longChain)
        )
        #expect(bytes == [7])
        #expect(words == ["presents", "negotiates", "slices", "stalls"])
    }

    /// What a server sends in answer to all that its client has sent so far.
    private static func flights(_ version: TLSVersion, on loop: EventLoop) throws -> [[UInt8]] {
        let client = try TestAuthority.connector().connect(to: "localhost", offering: [], on: loop)
        let server = try TestAuthority.acceptor().accept(
            TLSGreeting(name: "localhost"),
            on: TLSTerms(version: version),
            of: loop
        )
        defer {
            client.cancel()
            server.cancel()
        }
        var (sent, flights): ([UInt8], [[UInt8]]) = ([], [])
        server.start { _ in }
        client.start { sent += $0.withUnsafeBytes { Array($0) } }
        while !sent.isEmpty {
            var flight: [UInt8] = []
            server.receive(sent.span.bytes) { flight += $0.withUnsafeBytes { Array($0) } }
            sent = []
            guard !flight.isEmpty else { break }
            flights.append(flight)
            client.receive(flight.span.bytes) { sent += $0.withUnsafeBytes { Array($0) } }
        }
        return flights
    }

    private static func place(of point: HandshakePoint, in records: [UInt8]) -> Int? {
        point.place(in: records.span.bytes)
    }

    @Test func `a handshake stands still where it is to`() async throws {
        try await onLoop { loop in
            for version in TLSVersion.allCases {
                let flights = try Self.flights(version, on: loop)
                #expect(flights.count == (version == .tls12 ? 2 : 1))
                #expect(Self.place(of: .serverHello, in: flights[0]) == 0)
                // A record follows.
                let place = try #require(Self.place(of: .certificate, in: flights[0]))
                #expect(flights[0][5] == 2)
                #expect((20...23).contains(flights[0][place]) && flights[0][place + 1] == 3)
                let finished = Self.place(of: .finished, in: flights[0])
                #expect(finished == (version == .tls12 ? nil : flights[0].count - 1))
                if let last = flights.dropFirst().first {
                    let finished = Self.place(of: .finished, in: last)
                    #expect(finished == last.count - 1)
                }
            }
        }
    }

    @Test(arguments: HandshakePoint.allCases) func `a place is within what there is, of half a record too`(
        point: HandshakePoint
    ) {
        for type in UInt8(20)...23 {
            for count in 0..<12 {
                let records = Array([type, 3, 3, 0, 9, 2, 0, 0, 5, 1, 1, 1].prefix(count))
                if let place = Self.place(of: point, in: records) { #expect((0...count).contains(place)) }
            }
        }
    }

    @Test func `records have the size of the fault`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }
        try await withSecureProxies(to: server.address, Self.profile([.record(ByteCount(100))])) { fixture in
            let received = try await fixture.received(sending: bytes)
            #expect(received.bytes == bytes)
        }
    }

    @Test func `a proxy whose clients have no TLS says so, at the start and later`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let loops = try EventLoopGroup(count: 1)
        let events = Shared<[ProxyEvent]>([])
        let configuration = ProxyConfiguration(
            name: "x",
            listen: Endpoint(host: "127.0.0.1", port: 0),
            upstream: Endpoint(host: server.address.host, port: server.address.port),
            profile: Self.profile([.alpn(nil)]),
            seed: 1
        )
        let proxy = try await Proxy.start(
            configuration,
            on: loops,
            report: { event in events.update { $0.append(event) } }
        )
        try await proxy.apply(Self.profile([.alpn(nil), .version(.tls12)]))
        await proxy.stop()
        await loops.stop()
        #expect(events.value == [.clientsWithoutTLS(faults: ["fault-1"]), .clientsWithoutTLS(faults: ["fault-2"])])
    }
}
