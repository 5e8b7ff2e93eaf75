import DevelopmentCA
import EventLoop
import FaultProfile
import Foundation
import HTTPTransport
import ProxyEngine
import StreamReading
import TLSTransport
import TestStreams
import Testing
import Units

@testable import TLSSessions

/// Sessions against each other, without a socket.
@Suite(.timeLimit(.minutes(1))) struct SessionTests {
    /// A client and a server whose records go to each other in batches.
    private final class Pair {
        let client: any TLSSession
        let server: any TLSSession
        private var toServer: [UInt8] = []
        private var toClient: [UInt8] = []
        var records = 0

        init(_ client: any TLSSession, _ server: any TLSSession) {
            (self.client, self.server) = (client, server)
            client.start { toServer += Pair.array($0) }
            server.start { toClient += Pair.array($0) }
            settle()
        }

        static func array(_ bytes: RawSpan) -> [UInt8] { bytes.withUnsafeBytes { Array($0) } }

        func settle() {
            while !toServer.isEmpty || !toClient.isEmpty {
                let (up, down) = (toServer, toClient)
                (toServer, toClient) = ([], [])
                if !up.isEmpty { server.receive(up.span.bytes) { toClient += Pair.array($0) } }
                if !down.isEmpty { client.receive(down.span.bytes) { toServer += Pair.array($0) } }
                records += 1
            }
        }

        func send(_ bytes: [UInt8], fromClient: Bool) -> [UInt8] {
            if fromClient {
                client.send(bytes.span.bytes) { toServer += Pair.array($0) }
            } else {
                server.send(bytes.span.bytes) { toClient += Pair.array($0) }
            }
            settle()
            return Pair.take(all: fromClient ? server : client)
        }

        static func take(all session: any TLSSession) -> [UInt8] {
            var bytes: [UInt8] = []
            while session.takeContent(1_000, { bytes += array($0) }) > 0 {}
            return bytes
        }

        func end(fromClient: Bool) {
            if fromClient {
                client.endContent { toServer += Pair.array($0) }
            } else {
                server.endContent { toClient += Pair.array($0) }
            }
            settle()
        }

        func cancel() {
            client.cancel()
            server.cancel()
        }
    }

    private static func pair(
        offering protocols: [String] = [],
        choosing choice: String? = nil,
        to host: String = "upstream.test",
        trusting certificate: String? = nil,
        on loop: EventLoop
    ) throws -> Pair {
        let client = try TestAuthority.connector(trusting: certificate).connect(to: host, offering: protocols, on: loop)
        let greeting = TLSGreeting(name: host, protocols: protocols)
        return Pair(client, try TestAuthority.acceptor().accept(greeting, on: TLSTerms(choice: choice), of: loop))
    }

    @Test(arguments: [([], nil), (["h2", "http/1.1"], "h2"), (["h2", "http/1.1"], "http/1.1"), (["h2"], nil)])
    func `ALPN has the choice that the server is made with`(_ offered: [String], _ choice: String?) async throws {
        try await onLoop { loop in
            let pair = try SessionTests.pair(offering: offered, choosing: choice, on: loop)
            #expect(pair.client.state == .open(protocol: choice))
            #expect(pair.server.state == .open(protocol: choice))
            pair.cancel()
        }
    }

    @Test func `a dot at the end of a name is neither sent nor in the certificate`() async throws {
        try await onLoop { loop in
            var reader = GreetingReader()
            let client = try TestAuthority.connector().connect(to: "upstream.test.", offering: [], on: loop)
            let greeted = GreetingReader.Outcome.greeting(name: "upstream.test", protocols: [])
            client.start { #expect(reader.read(Pair.array($0).span) == greeted) }
            client.cancel()
            let greeting = TLSGreeting(name: "a.upstream.test.")
            let other = try TestAuthority.connector().connect(to: "a.upstream.test", offering: [], on: loop)
            let pair = Pair(other, try TestAuthority.acceptor().accept(greeting, on: TLSTerms(), of: loop))
            #expect(pair.client.state == .open(protocol: nil))
            pair.cancel()
        }
    }

    @Test func `protocols that the library would end the process for aren't offered`() async throws {
        try await onLoop { loop in
            let offered = ["é", "", String(repeating: "x", count: 256), "h2"]
            let pair = try SessionTests.pair(offering: offered, choosing: "h2", on: loop)
            #expect(pair.client.state == .open(protocol: "h2"))
            pair.cancel()
        }
    }

    @Test func `content comes out as it went in, in both directions`() async throws {
        try await onLoop { loop in
            let pair = try SessionTests.pair(on: loop)
            var generator = SeededGenerator(seed: 4)
            for size in [1, 100, 16_384, 16_385, 300_000] {
                let bytes = (0..<size).map { _ in UInt8.random(in: 0...255, using: &generator) }
                #expect(pair.send(bytes, fromClient: true) == bytes)
                #expect(pair.send(bytes, fromClient: false) == bytes)
            }
            pair.cancel()
        }
    }

    @Test func `either side ends by itself, and the other one may go on`() async throws {
        try await onLoop { loop in
            let pair = try SessionTests.pair(on: loop)
            pair.end(fromClient: true)
            #expect(pair.server.state == .ended(protocol: nil))
            #expect(pair.send([1, 2, 3], fromClient: false) == [1, 2, 3])
            pair.end(fromClient: false)
            #expect(pair.client.state == .ended(protocol: nil))
            pair.cancel()
        }
    }

    @Test func `a client that doesn't trust the authority tells by its alert`() async throws {
        try await onLoop { loop in
            let other = try ConstrainedCA(for: ["upstream.test"])
            let pair = try SessionTests.pair(trusting: other.certificate, on: loop)
            guard case .failed(let failure) = pair.server.state, case .failed(let own) = pair.client.state else {
                Issue.record("a session without trust went on")
                return
            }
            #expect(failure.alert == "unknown_ca" || failure.alert == "certificate_unknown", "\(failure)")
            #expect(own.alert == nil)
            #expect(own.description.contains("isn't signed by an authority"))
            pair.cancel()
        }
    }

    @Test func `a certificate for another name is refused`() async throws {
        try await onLoop { loop in
            let client = try TestAuthority.connector().connect(to: "other.test", offering: [], on: loop)
            // An authority that doesn't sign for a name presents its other names.
            let greeting = TLSGreeting(name: "upstream.test")
            let pair = Pair(client, try TestAuthority.acceptor().accept(greeting, on: TLSTerms(), of: loop))
            guard case .failed(let failure) = client.state else {
                Issue.record("a session for another name went on")
                return
            }
            #expect(failure.description.contains("another name"), "\(failure)")
            pair.cancel()
        }
    }

    @Test func `an address in a certificate doesn't stand for a name`() async throws {
        let authority = try DevelopmentCA()
        try await onLoop { loop in
            for (host, hosts) in [("api.test", ["zzz.test", "0.0.0.0"]), ("127.0.0.1", ["api.test", "0.0.0.0"])] {
                let connector = try TestAuthority.connector(trusting: authority.certificate)
                let acceptor = ClientAcceptor(try TLSIdentity(authority.identity(for: hosts)))
                let pair = Pair(
                    try connector.connect(to: host, offering: [], on: loop),
                    try acceptor.accept(TLSGreeting(name: host), on: TLSTerms(), of: loop)
                )
                guard case .failed(let failure) = pair.client.state else {
                    Issue.record("a session with \(host) by a certificate for \(hosts) went on")
                    return
                }
                #expect(failure.description.contains("another name"), "\(failure)")
                pair.cancel()
            }
        }
    }

    @Test func `a name that can't be verified is said to be one`() async throws {
        try await onLoop { loop in
            let pair = try SessionTests.pair(to: "a_b.upstream.test", on: loop)
            guard case .failed(let failure) = pair.client.state else {
                Issue.record("a session with a name that isn't verified went on")
                return
            }
            #expect(failure.description.contains("letters, digits"), "\(failure)")
            pair.cancel()
        }
    }

    @Test(arguments: ["localhost", "127.0.0.1", "::1", "10.0.0.1", "api.upstream.test"])
    func `OpenSSL takes each name of an authority`(host: String) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let authority = try ConstrainedCA(for: ["upstream.test", "10.0.0.1"])
        let (root, chain) = (folder.path + "/root.pem", folder.path + "/chain.pem")
        try Data(authority.certificate.utf8).write(to: URL(fileURLWithPath: root))
        try Data(authority.identity(for: host).certificates).write(to: URL(fileURLWithPath: chain))
        let openssl = Process()
        openssl.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        let name = IPAddress(host) == nil ? "-verify_hostname" : "-verify_ip"
        openssl.arguments = ["openssl", "verify", "-CAfile", root, "-untrusted", chain, name, host, chain]
        openssl.standardOutput = FileHandle.nullDevice
        try openssl.run()
        openssl.waitUntilExit()
        #expect(openssl.terminationStatus == 0)
    }

    @Test func `records that were changed end the session`() async throws {
        try await onLoop { loop in
            let pair = try SessionTests.pair(on: loop)
            var records: [UInt8] = []
            pair.client.send([1, 2, 3].span.bytes) { records += Pair.array($0) }
            records[records.count - 1] ^= 1
            pair.server.receive(records.span.bytes) { _ in }
            guard case .failed = pair.server.state else {
                Issue.record("a changed record passed")
                return
            }
            #expect(pair.server.waitingContent == 0)
            pair.cancel()
        }
    }

    @Test func `an authority signs for its names and what is below them alone`() throws {
        let authority = try ConstrainedCA(for: ["Example.com", "10.0.0.1"])
        for name in ["localhost", "127.0.0.1", "::1", "example.com", "api.EXAMPLE.com", "example.com.", "10.0.0.1"] {
            #expect(authority.permits(name))
        }
        for name in ["example.org", "notexample.com", "10.0.0.2", "1.10.0.0.1", "com"] {
            #expect(!authority.permits(name))
        }
        #expect("\(authority)" == "ConstrainedCA(localhost, 127.0.0.1, ::1, example.com, 10.0.0.1)")
    }

    @Test(arguments: [0, 0.4, 0.6, 0.999])
    func `an authority is read from its text, until it expires`(fraction: Double) throws {
        let now = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded(.down) + fraction)
        let names = ["Example.com", "Dot.example.", "10.0.0.1", "fd00::1"]
        let authority = try ConstrainedCA(for: names, lifetime: 3_661, now: now)
        let read = try ConstrainedCA(text: authority.text, now: now + 59 - fraction)
        #expect(read.names == authority.names && read.names.contains("dot.example"))
        #expect(read.certificate == authority.certificate)
        #expect(read.text == authority.text)
        for time in [now + 60, now - 3_601] {
            #expect(throws: TLSSettingsProblem.self) { try ConstrainedCA(text: authority.text, now: time) }
        }
    }

    @Test func `certificates are valid for no more than the days that were asked for`() throws {
        let folder = try Folder()
        let authority = try ConstrainedCA(for: ["upstream.test"], lifetime: 825 * 86_400)
        let leaf = try authority.identity(for: "upstream.test").certificates
        for certificate in [Array(authority.certificate.utf8), leaf] {
            try folder.write(certificate, to: "a.pem")
            let (openssl, output) = (Process(), Pipe())
            openssl.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            openssl.arguments = ["openssl", "x509", "-noout", "-startdate", "-enddate", "-in", folder.file("a.pem")]
            openssl.standardOutput = output
            try openssl.run()
            let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            openssl.waitUntilExit()
            let format = DateFormatter()
            format.locale = Locale(identifier: "en_US_POSIX")
            format.dateFormat = "MMM d HH:mm:ss yyyy zzz"
            let dates = text.split(separator: "\n").compactMap { line in
                line.split(separator: "=").last.flatMap { format.date(from: String($0)) }
            }
            try #require(dates.count == 2, "\(text)")
            // Both ends count.
            #expect(dates[1].timeIntervalSince(dates[0]) == 825 * 86_400 - 1)
        }
    }

    @Test func `no certificate is made for a name that would end its line or its text`() throws {
        for name in ["a\nb.test", "a\r\nb.test", "a\0.test", "a b.test", "ä.test", ""] {
            #expect(throws: (any Error).self) { try ConstrainedCA(for: [name]) }
            #expect(throws: (any Error).self) { try DevelopmentCA().texts(for: [name]) }
        }
        let authority = try ConstrainedCA(for: [])
        #expect(throws: (any Error).self) { try authority.identity(for: "a\nb.localhost") }
    }

    @Test func `a text that is no authority is refused`() throws {
        let authority = try ConstrainedCA(for: [])
        let other = try ConstrainedCA(for: [])
        let key = try #require(other.text.firstRange(of: "-----BEGIN PRIVATE KEY-----")).lowerBound
        let own = try #require(authority.text.firstRange(of: "-----BEGIN PRIVATE KEY-----")).lowerBound
        let leaf = try authority.identity(for: "localhost")
        for text in [
            "", "x", authority.certificate, String(authority.text[..<own]),
            String(authority.text[..<own] + other.text[key...]),
            other.certificate + authority.text.dropFirst(authority.certificate.utf8.count),
            authority.certificate + String(decoding: leaf.certificates, as: UTF8.self)
                + String(decoding: leaf.privateKey, as: UTF8.self),
        ] {
            #expect(throws: TLSSettingsProblem.self) { try ConstrainedCA(text: text) }
        }
    }
}
