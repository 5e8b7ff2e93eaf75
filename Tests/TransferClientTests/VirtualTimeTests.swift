import HTTPTransport
import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import OperatingSystem
import SimulatedDisk
import Synchronization
import SystemPackage
import Testing
import TransferProtocol
import Units

@testable import TransferClient

/// Time-outs, waits and deadlines without waiting for them.
@Suite struct VirtualTimeTests {
    private static let get = HTTPRequest(method: .get, scheme: "http", authority: "host.example", path: "/")

    /// A connection with limits of 10 s for a response, 5 s of less than 1 KiB/s, and its firstError.
    private func connection(
        _ change: (inout AttemptLimits) -> Void = { _ in }
    ) throws -> (EmbeddedChannel, FirstValue<TransientFailure>) {
        var stall = MinimumThroughput()
        stall.window = .seconds(5)
        var limits = AttemptLimits(response: .seconds(10), stall: stall)
        change(&limits)
        let firstError = FirstValue<TransientFailure>()
        let channel = EmbeddedChannel(handler: AttemptTimeoutHandler(limits: limits, firstError: firstError))
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return (channel, firstError)
    }

    /// Advances the time second by second, until the connection is given up; returns the seconds.
    private func secondsUntilEnd(_ channel: EmbeddedChannel, _ firstError: FirstValue<TransientFailure>) -> Int? {
        for second in 1...60 {
            channel.embeddedEventLoop.advanceTime(by: .seconds(1))
            if firstError.current != nil { return second }
        }
        return nil
    }

    @Test func `a response that doesn't come is given up after its time`() throws {
        let (channel, firstError) = try connection()
        try channel.writeOutbound(HTTPRequestPart.head(Self.get))
        try channel.writeOutbound(HTTPRequestPart.end(nil))
        #expect(secondsUntilEnd(channel, firstError) == 10)
        #expect(firstError.current == .firstByteTimedOut)
    }

    @Test(arguments: [false, true])
    func `an interim response gives an upload its time anew, and a download not`(isExtended: Bool) throws {
        let (channel, firstError) = try connection { $0.isExtended = isExtended }
        try channel.writeOutbound(HTTPRequestPart.head(Self.get))
        try channel.writeOutbound(HTTPRequestPart.end(nil))
        channel.embeddedEventLoop.advanceTime(by: .seconds(8))
        try channel.writeInbound(HTTPResponsePart.head(HTTPResponse(status: .init(code: 104))))
        #expect(secondsUntilEnd(channel, firstError) == (isExtended ? 10 : 2))
    }

    @Test func `a body that stalls while it is read is given up, and not while nobody reads`() throws {
        let (channel, firstError) = try connection()
        try channel.writeOutbound(HTTPRequestPart.head(Self.get))
        try channel.writeOutbound(HTTPRequestPart.end(nil))
        try channel.writeInbound(HTTPResponsePart.head(HTTPResponse(status: .ok)))
        #expect(secondsUntilEnd(channel, firstError) == nil, "a read is complete, and none was asked for since")
        channel.read()
        #expect(secondsUntilEnd(channel, firstError).map { (5...7).contains($0) } == true)
        #expect(firstError.current == .stalled)
    }

    @Test func `the deadline of a transfer ends its connection, whatever it waits for`() throws {
        let (channel, firstError) = try connection { $0.deadline = .uptimeNanoseconds(7_000_000_000) }
        #expect(secondsUntilEnd(channel, firstError) == 7)
        #expect(firstError.current == .deadlineExceeded)
    }

    @Test(arguments: [false, true])
    func `a connection stays open for 100 ms after the response, or for the next request`(isKept: Bool) throws {
        let (channel, _) = try connection { $0.isKept = isKept }
        try channel.writeInbound(HTTPResponsePart.head(HTTPResponse(status: .ok)))
        try channel.writeInbound(HTTPResponsePart.end(nil))
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(99))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
        #expect(channel.isActive == isKept)
    }

    @Test func `a mebibyte at a mebibyte a second takes a second`() async throws {
        let clock = Mutex(Moment.zero)
        var configuration = TransferClientConfiguration()
        configuration.maximumRate = .bytesPerSecond(1 << 20)
        configuration.clock.now = { clock.withLock { $0 } }
        configuration.clock.sleep = { delay in clock.withLock { $0 = $0 + delay } }
        let pacer = try #require(TransferPacer(configuration))
        for _ in 0..<16 { try await pacer.admit(64 << 10) }
        #expect(clock.withLock { $0 } == .zero + .seconds(1))
    }

    @Test func `too many interim responses are no response`() throws {
        let (channel, firstError) = try connection { $0.interimResponses = 2 }
        for _ in 0..<3 { _ = try? channel.writeInbound(HTTPResponsePart.head(HTTPResponse(status: .init(code: 103)))) }
        #expect(firstError.current == .malformedResponse("more than 2 interim responses"))
    }

    /// A server that accepts a request and never responds.
    private struct Silence: RequestSending {
        func send<Outcome: Sendable>(
            _ request: HTTPRequest,
            to url: TransferURL,
            _ content: UploadBodyWriter?,
            within remaining: Duration?,
            receive: (ResponseParts, HTTPProtocol) async throws -> Outcome
        ) async throws -> Outcome {
            let (parts, source) = ResponseParts.makeTestingStream()
            defer { source.finish() }
            return try await receive(parts, .http1)
        }
    }

    /// The clock's time-outs pass at once.
    @Test(arguments: [TransferDirection.download, .upload])
    func `a deadline of a year passes without waiting for it`(direction: TransferDirection) async throws {
        var configuration = TransferClientConfiguration()
        let year = Duration.seconds(31_536_000)
        configuration.retry.deadline = year
        configuration.clock.timeout = { _ in await Task.yield() }
        let disk = SimulatedDisk(seed: 1)
        try disk.makeFolder("/d")
        let environment = TransferEnvironment(configuration, connections: Silence(), files: disk)
        let engine = TransferEngine(environment)
        let url = "http://host.example/file"
        await #expect(throws: TransferError.gaveUp(.deadline(year), .deadlineExceeded)) {
            switch direction {
            case .download: _ = try await engine.download(DownloadRequest(url: url), to: "/d/file")
            case .upload:
                let content = UploadContent(kind: .hashed(try await HashedContent([1, 2, 3], engine.worker)))
                _ = try await engine.upload(content, UploadRequest(url: url, journalFolder: "/d/uploads"))
            }
        }
    }
}
