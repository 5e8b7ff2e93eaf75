import Digests
import HTTPTypes
import SimulatedDisk
import Synchronization
import SystemPackage
import Testing
import TransferProtocol
import Units

@testable import TransferClient

/// Uploads by a client whose machine may crash between any two disk calls, to an unreliable server.
@Suite struct UploadCrashTests {
    private typealias Broken = CrashRuns.Broken

    private static let runs = CrashRuns("UPLOAD")

    /// The result of a run.
    private struct Story {
        var crashes = 0
        var continued = 0
        var isFinished = false
    }

    /// What the events of one life of the client told.
    private struct Told {
        var hasStarted = false
        var isContinued = false
        /// Whether the journal has the upload, durably.
        var isPromised = false
    }

    /// One life of the client, from its start to success, failure or crash.
    private func live(
        _ seed: UInt64,
        _ disk: SimulatedDisk,
        _ server: SimulatedUploadServer,
        _ request: UploadRequest,
        _ bytes: [UInt8]
    ) throws -> (Result<TransferSummary, TransferError>, Told) {
        var configuration = TransferClientConfiguration()
        configuration.retry.maximumAttempts = 2
        configuration.seed = seed
        configuration.clock = TransferClock(
            now: { .zero },
            secondsSince1970: { 784_111_777 },
            sleep: { _ in try Task.checkCancellation() },
            timeout: { _ in try Task.checkCancellation() }
        )
        let executor = SimulatedExecutor(seed: seed)
        let environment = TransferEnvironment(configuration, connections: server, files: disk, executor: executor)
        let told = ToldBox()
        let result = try CrashRuns.live(executor) { () async -> Result<TransferSummary, TransferError> in
            do throws(TransferError) {
                let engine = TransferEngine(environment)
                let content = UploadContent(kind: .hashed(try await HashedContent(bytes, engine.worker)))
                return .success(try await engine.upload(content, request) { told.note($0) })
            } catch {
                return .failure(error)
            }
        }
        return (result, told.told.withLock { $0 })
    }

    private final class ToldBox: Sendable {
        let told = Mutex(Told())

        func note(_ event: TransferEvent) {
            told.withLock { told in
                switch event {
                case .started(_, _, let isContinued):
                    told = Told(hasStarted: true, isContinued: isContinued, isPromised: isContinued)
                case .resumable: told.isPromised = true
                case .restarted: told.isPromised = false
                default: break
                }
            }
        }
    }

    private func run(_ seed: UInt64, ignoresSynchronization: Bool = false) throws -> Story {
        var random = SeededGenerator(seed: seed)
        let disk = try SimulatedDisk(seed: seed, folders: CrashRuns.folder)
        let dialect = [UploadWireFormat.v6, .v8, .v10][Int(random.next() % 3)]
        let server = SimulatedUploadServer(
            seed: seed ^ 0xBEEF,
            dialect,
            sendsDigest: random.next() % 2 == 0,
            calm: 60,
            disk
        )
        let bytes = (0..<Int(random.next() % 6_000)).map { _ in UInt8(truncatingIfNeeded: random.next() >> 24) }
        var request = UploadRequest(
            url: "http://host.example/target",
            journalFolder: CrashRuns.folder.appending("uploads")
        )
        request.dialects = .only(dialect)
        request.method = random.next() % 2 == 0 ? .put : .post
        var story = Story()
        var isPromised = false
        /// Whether the target has the content of an upload that the journal told of.
        var isDelivered = false
        for life in 0..<60 {
            disk.setFaults(
                CrashRuns.faults(
                    of: life,
                    within: 20,
                    stoppingWithin: 30,
                    &random,
                    ignoresSynchronization: ignoresSynchronization
                )
            )
            let before = server.deliveries.count
            let (result, told) = try live(random.next(), disk, server, request, bytes)
            // A life may fail before its journal is read; a complete upload has kept the promise.
            if isPromised, told.hasStarted, !told.isContinued, before == 0 {
                throw Broken(description: "an upload was promised to go on, and life \(life) began another")
            }
            story.continued += told.isContinued ? 1 : 0
            // A crash in the last step leaves no journal, and the next run begins anew.
            if told.hasStarted, !told.isContinued { isDelivered = false }
            let delivered = server.deliveries.count - before
            if request.method == .post, delivered > (isDelivered ? 0 : 1) {
                throw Broken(description: "a POST was processed twice, though the journal told of the first")
            }
            isDelivered = isDelivered || delivered > 0 && told.isPromised
            // The success of a crashed machine isn't reported.
            if case .success(let summary) = result, !disk.isStopped {
                guard server.deliveries.last == bytes, summary.sha256 == SHA256.hash(bytes) else {
                    throw Broken(description: "success, and the server has other bytes")
                }
                story.isFinished = true
                return story
            }
            if case .failure(.refused) = result { return story }
            if told.hasStarted { isPromised = told.isPromised }
            guard disk.isStopped else { continue }
            story.crashes += 1
            disk.restart(after: random.next() % 4 > 0 ? .power : .process)
        }
        throw Broken(description: "it didn't finish")
    }

    @Test func `every upload that succeeds is what was sent, and no promise is broken, wherever it stops`() {
        var sum = Story()
        var finished: UInt64 = 0
        let stories = Self.runs.stories {
            try run($0)
        } broken: {
            Issue.record("\($0)")
        }
        for story in stories {
            sum.crashes += story.crashes
            sum.continued += story.continued
            finished += story.isFinished ? 1 : 0
        }
        #expect(sum.crashes > Int(Self.runs.count))
        #expect(sum.continued > Int(Self.runs.count) / 4)
        #expect(finished > Self.runs.count / 2)
        print(
            "client uploads: \(Self.runs.count) runs, \(sum.crashes) crashes, \(sum.continued) continued by the next run, "
                + "\(finished) finished"
        )
    }

    @Test func `on a disk that ignores synchronization promises break`() {
        #expect(CrashRuns.broken { _ = try run($0, ignoresSynchronization: true) } > 8)
    }
}
