import Synchronization
import TestStreams
import TestUploadServers
import Testing
import TransferClient
import TransferProtocol
import Units

/// Rate-limited transfers.
@Suite(.timeLimit(.minutes(5))) struct RateTests {
    /// A clock that advances only by sleeping.
    private final class WaitingClock: Sendable {
        private let moment = Mutex(Moment.zero)

        var now: Moment { moment.withLock { $0 } }

        func apply(to configuration: inout TransferClientConfiguration) {
            configuration.clock.now = { self.now }
            configuration.clock.sleep = { duration in
                try Task.checkCancellation()
                self.moment.withLock { $0 = $0 + duration }
            }
        }
    }

    private static let size = 400_000
    private static let rate = BitRate.bytesPerSecond(100_000)
    private static let resource = Resource(size: size)

    @Test func `a download takes the time of its rate, over all of its connections`() async throws {
        let clock = WaitingClock()
        let (done, folder, _) = try await download {
            $0.ordinal < 3 ? Self.resource.serve($0, upTo: 130_000) : Self.resource.serve($0)
        } configure: {
            clock.apply(to: &$0)
            $0.maximumRate = Self.rate
        }
        #expect(folder.file == Self.resource.content)
        #expect(done.resumedAt == [130_000, 195_000, 260_000])
        // With the 65,000 bytes that each of three connections repeats.
        #expect(clock.now - .zero == .milliseconds(5_950))
    }

    @Test func `progress of a limited download is even, though the server sends at once`() async throws {
        let clock = WaitingClock()
        let reported = Mutex<[Moment]>([])
        _ = try await download {
            Self.resource.serve($0)
        } configure: {
            clock.apply(to: &$0)
            $0.maximumRate = Self.rate
            $0.progressInterval = .zero
        } onEvent: {
            if case .progress = $0 { reported.withLock { $0.append(clock.now) } }
        }
        let moments = reported.withLock { $0 }
        #expect(moments.count >= 200)
        #expect(zip(moments, moments.dropFirst()).allSatisfy { $1 - $0 <= .milliseconds(20) })
    }

    @Test func `an upload takes the time of its rate, over all of its connections`() async throws {
        var habits = UploadServerHabits()
        habits.cut = { $0 < 3 ? 130_000 : nil }
        let clock = WaitingClock()
        try await withUploadServer(.dialect(.v10), habits) { server in
            let bytes = testBytes(Self.size)
            let folder = try UploadFolder(bytes)
            let done = await upload(folder, folder.request(server.url)) {
                clock.apply(to: &$0)
                $0.interimResponseLimit = .zero
                $0.maximumRate = Self.rate
            }
            #expect(server.delivered == [bytes])
            let sent = try #require(done.summary).bytesTransferred
            #expect(sent > Int64(Self.size))
            let least = Duration.nanoseconds(Self.rate.nanoseconds(forBytes: sent))
            #expect(clock.now - .zero >= least)
        }
    }

    @Test func `a download below the rate of a stall isn't stalled by its own limit`() async throws {
        let resource = Resource(size: 800_000)
        let (done, _, _) = try await download {
            resource.serve($0)
        } configure: {
            $0.clock = .system
            $0.maximumRate = .bytesPerSecond(200_000)
            $0.stall.window = .seconds(2)
            $0.stall.minimumBytesPerSecond = .mebibytes(1)
        }
        #expect(done.transientFailures.isEmpty)
        #expect(done.summary?.connections == 1)
    }

    @Test func `an upload below the rate of a stall isn't stalled by its own limit`() async throws {
        try await withUploadServer(.dialect(.v10)) { server in
            let folder = try UploadFolder(testBytes(800_000))
            let done = await upload(folder, folder.request(server.url)) {
                $0.clock = .system
                $0.maximumRate = .bytesPerSecond(200_000)
                $0.stall.window = .seconds(2)
                $0.stall.minimumBytesPerSecond = .mebibytes(1)
            }
            #expect(done.summary?.connections == 1)
        }
    }

    @Test func `a limited download ends at once when it is cancelled`() async throws {
        let folder = try Folder()
        try await Script { Self.resource.serve($0) }.serve { server in
            let (progress, reported) = AsyncStream<Void>.makeStream()
            let task = Task {
                await attempt(DownloadRequest(url: server.url()), to: folder.destination) {
                    $0.clock = .system
                    // The first chunk would take hours.
                    $0.maximumRate = BitRate(bitsPerSecond: 1)
                } onEvent: {
                    if case .started = $0 { reported.yield() }
                }
            }
            for await _ in progress { break }
            task.cancel()
            let done = await task.value
            #expect(done.error == .cancelled)
        }
    }
}
