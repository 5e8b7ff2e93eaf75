import Digests
import SimulatedDisk
import Synchronization
import SystemPackage
import Testing
import TransferProtocol
import Units

@testable import TransferClient

/// Downloads by a client whose machine may crash between any two disk calls, from an unreliable server.
@Suite struct CrashTests {
    private typealias Broken = CrashRuns.Broken

    private static let runs = CrashRuns("DOWNLOAD")
    /// Regression seeds: a repaired block that a failed sync left only in memory; the complete file of a crashed life,
    /// whose name no sync had made durable.
    private static let found: [UInt64] = [58_634, 2_830, 3_626, 4_119, 4_332, 7_674]
    private static let url = "http://host.example/file"

    /// The result of a run.
    struct Story: Hashable {
        var crashes = 0
        var resumptions = 0
        var repairs = 0
        var isFinished = false
    }

    /// The result of one life of the client.
    private struct Life: Sendable {
        var result: Result<TransferSummary, TransferError>
        var received: Int64 = 0
        var committed: Int64 = 0
        /// Whether the commit may be void: the file was about to restart.
        var isVoid = false
        var resumptions = 0
    }

    private final class EventRecorder: Sendable {
        let restartedAt = Mutex<Int64?>(nil)
        let resumptions = Mutex(0)
    }

    private func draw(_ random: inout SeededGenerator, seed: UInt64) -> (SimulatedPeer, DownloadRequest) {
        var habits = SimulatedPeer.Habits()
        habits.tag = [0, 0, 0, 1, 2][Int(random.next() % 5)]
        habits.hasDate = random.next() % 3 > 0
        habits.sendsDigest = random.next() % 3 == 0
        habits.framing = [0, 0, 0, 1, 2][Int(random.next() % 5)]
        habits.knowsRanges = random.next() % 8 > 0
        habits.changes = random.next() % 4 == 0 ? 15 : 0
        let peer = SimulatedPeer(seed: seed ^ 0xBEEF, habits: habits, largest: 12_000, calm: 60)
        var request = DownloadRequest(url: Self.url)
        if habits.changes == 0, random.next() % 4 == 0 {
            request.expectedSHA256 = SHA256.hash(peer.versions[0])
        }
        request.requiresProof = random.next() % 6 == 0
        return (peer, request)
    }

    /// One life of the client, from its start to success, failure or crash.
    private func live(
        _ seed: UInt64,
        _ disk: SimulatedDisk,
        _ peer: SimulatedPeer,
        _ request: DownloadRequest,
        floor: Int64
    ) throws -> Life {
        var configuration = TransferClientConfiguration()
        configuration.retry.maximumAttempts = 4
        configuration.checkpointBytes = ByteCount(Int64(1 + seed % 900))
        configuration.maximumRestarts = 50
        configuration.lateDigestInterval = seed % 3 == 0 ? .zero : .seconds(3_600)
        let clock = SimulatedClock()
        configuration.clock = TransferClock(
            now: { clock.now() },
            secondsSince1970: { 784_111_777 },
            sleep: { _ in try Task.checkCancellation() }
        )
        let executor = SimulatedExecutor(seed: seed)
        let environment = TransferEnvironment(
            configuration,
            connections: SimulatedConnections(peer: peer),
            files: disk,
            executor: executor
        )
        let reported = EventRecorder()
        return try CrashRuns.live(executor) { () async -> Life in
            do throws(TransferError) {
                let url = try TransferURL(checked: request.url)
                let (file, recovered) = try await PartialFile.open(
                    PartialFilePaths(destination: CrashRuns.folder.appending("file")),
                    for: url.text,
                    blockSize: 256,
                    in: disk,
                    worker: FileWorker(pool: nil)
                )
                let session = DownloadSession(environment, request, url, file, recovered, seed: seed) { event in
                    switch event {
                    case .restarted: reported.restartedAt.withLock { $0 = file.committed }
                    case .resumed: reported.resumptions.withLock { $0 += 1 }
                    default: break
                    }
                }
                var life = Life(result: .failure(.cancelled))
                if case .prefix(_, let length, _) = recovered { life.received = length }
                do throws(TransferError) {
                    life.result = .success(try await session.run(after: recovered))
                } catch {
                    life.result = .failure(error)
                }
                life.committed = file.committed
                life.isVoid = reported.restartedAt.withLock { $0 ?? .max } <= life.committed
                life.resumptions = reported.resumptions.withLock { $0 }
                await file.close()
                return life
            } catch {
                return Life(result: .failure(error), received: -1, committed: -1)
            }
        }
    }

    private func run(_ seed: UInt64, ignoresSynchronization: Bool = false) throws -> Story {
        var random = SeededGenerator(seed: seed)
        let disk = try SimulatedDisk(seed: seed, folders: CrashRuns.folder)
        let (peer, request) = draw(&random, seed: seed)
        var story = Story()
        var floor: Int64 = 0
        let isRotten = random.next() % 6 == 0
        for life in 0..<40 {
            let faults = CrashRuns.faults(
                of: life,
                within: 12,
                stoppingWithin: 70,
                &random,
                ignoresSynchronization: ignoresSynchronization
            )
            disk.setFaults(faults)
            let lived = try live(random.next(), disk, peer, request, floor: floor)
            story.resumptions += lived.resumptions
            if lived.received >= 0, lived.received < floor {
                throw Broken(description: "\(floor) bytes were promised, and life \(life) found \(lived.received)")
            }
            // The success of a crashed machine isn't reported.
            if case .success(let summary) = lived.result, !disk.isStopped {
                disk.restart(after: .power)
                let file = try disk.bytes(of: CrashRuns.folder.appending("file"))
                guard file != nil || faults.chance > 0 else {
                    throw Broken(description: "success, and the power cut left no file")
                }
                guard file.map(peer.versions.contains) ?? true else {
                    throw Broken(description: "success, and the file is no version of the server's")
                }
                guard file.map({ SHA256.hash($0) }) == summary.sha256 else {
                    // The folder couldn't be synced, so the power cut loses the new name.
                    guard faults.chance > 0 else { throw Broken(description: "success, and the file is another one") }
                    floor = 0
                    continue
                }
                story.isFinished = true
                story.repairs = peer.repairs
                return story
            }
            switch lived.result {
            case .failure(.unproved), .failure(.digestMismatch), .failure(.digestMissing): return story
            default: break
            }
            // What a life has only read may be in the system's memory, and nowhere else.
            if lived.isVoid { floor = 0 } else if lived.committed != lived.received { floor = max(0, lived.committed) }
            if disk.isStopped {
                story.crashes += 1
                disk.restart(after: random.next() % 2 == 0 ? .power : .process)
            }
            // A crash in the last step leaves the complete file, and nothing to resume.
            disk.setFaults(SimulatedDisk.Faults())
            if try disk.bytes(of: CrashRuns.folder.appending(".file.squall-part")) == nil { floor = 0 }
            if isRotten, life < 12, floor > 0 {
                try flip(Int64(random.next() % UInt64(floor)), on: disk)
                floor = 0
            }
        }
        throw Broken(description: "it didn't finish")
    }

    /// Flips a byte of the partial file, like a bad disk.
    private func flip(_ offset: Int64, on disk: SimulatedDisk) throws {
        let file = try disk.open(CrashRuns.folder.appending(".file.squall-part"), .existing)
        defer { file.close() }
        try file.write(file.read(1, at: offset).map { $0 ^ 1 }, at: offset)
        try file.synchronizeData()
    }

    @Test func `every download that succeeds has the server's bytes, and no promise is broken, wherever it stops`()
        throws
    {
        var sum = Story()
        var finished: UInt64 = 0
        let stories = Self.runs.stories(found: Self.found) {
            try run($0)
        } broken: {
            Issue.record("\($0)")
        }
        for story in stories {
            sum.crashes += story.crashes
            sum.resumptions += story.resumptions
            sum.repairs += story.repairs
            finished += story.isFinished ? 1 : 0
        }
        #expect(sum.crashes > Int(Self.runs.count))
        #expect(sum.resumptions > Int(Self.runs.count) / 2)
        #expect(finished > Self.runs.count * 8 / 10)
        #expect(sum.repairs > Int(Self.runs.count / 100))
        print(
            "downloads: \(Self.runs.count) runs, \(sum.crashes) crashes, \(sum.resumptions) resumptions, "
                + "\(sum.repairs) damaged blocks replaced, \(finished) finished"
        )
    }

    @Test func `on a disk that ignores synchronization promises break`() {
        #expect(CrashRuns.broken { _ = try run($0, ignoresSynchronization: true) } > 20)
    }
}

/// A clock that advances with each reading.
private final class SimulatedClock: Sendable {
    private let moment = Mutex(Moment.zero)

    func now() -> Moment {
        moment.withLock { moment in
            moment = moment + .milliseconds(3)
            return moment
        }
    }
}
