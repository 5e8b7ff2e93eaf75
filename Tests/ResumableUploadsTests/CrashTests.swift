import ResumableUploads
import SimulatedDisk
import Testing
import Units

/// Uploads to a server whose machine may crash between any two disk calls.
@Suite struct CrashTests {
    private static let runs = CrashRuns("UPLOAD")

    /// The result of a run.
    struct Story: Hashable {
        var crashes = 0
        var resumptions = 0
    }

    /// An upload from its first request to success; the file is checked after one more power cut.
    private func run(_ seed: UInt64, ignoresSynchronization: Bool = false) throws -> Story {
        var random = SeededGenerator(seed: seed)
        var server = try SimulatedServer(seed: seed)
        server.policy.checkpointBytes = Int64(1 + random.next() % 900)
        var client = ScriptedUploader(seed: seed)
        var story = Story()
        // Afterwards everything works, so the upload must finish.
        var faultySteps = 400
        func faults() -> SimulatedDisk.Faults {
            var faults = SimulatedDisk.Faults()
            if faultySteps > 0, story.crashes < 5 { faults.stop = Int(1 + random.next() % 60) }
            faults.ignoresSynchronization = ignoresSynchronization
            return faults
        }
        server.disk.setFaults(faults())
        for _ in 0..<4_000 {
            if server.disk.isStopped || !server.isRunning {
                if server.disk.isStopped {
                    story.crashes += 1
                    server.disk.restart(after: random.next() % 2 == 0 ? .power : .process)
                    server.disk.setFaults(faults())
                }
                server.stop()
                client.serverStopped()
                guard server.start() else { continue }
                var later = faults()
                if faultySteps > 0, random.next() % 4 == 0 { later.chance = 0.02 }
                server.disk.setFaults(later)
            }
            faultySteps -= 1
            if faultySteps == 0 { server.disk.setFaults(faults()) }
            server.now.elapsed += .milliseconds(Int(random.next() % 400))
            if server.isBusy, random.next() % 3 > 0 { server.advance() } else { client.act(on: &server) }
            for action in server.takeSent() { try client.receive(action) }
            if client.isFinished {
                server.stop()
                server.disk.restart(after: .power)
                guard try server.file("file.bin") == client.bytes else {
                    throw ScriptedUploader.Broken(reason: "the file isn't what was uploaded")
                }
                story.resumptions = client.resumptions
                return story
            }
        }
        throw ScriptedUploader.Broken(reason: "it didn't finish")
    }

    @Test func `every upload finishes with its bytes, and no offset goes down, wherever the machine stops`() throws {
        var crashes = 0
        var resumptions = 0
        let runs = CrashTests.runs
        let stories = runs.stories {
            try run($0)
        } broken: {
            Issue.record("\($0)")
        }
        for story in stories {
            crashes += story.crashes
            resumptions += story.resumptions
        }
        #expect(crashes > runs.count)
        #expect(resumptions > runs.count)
        print("uploads: \(runs.count) runs, \(crashes) crashes, \(resumptions) resumptions")
    }

    @Test func `on a disk that ignores synchronization promises break`() {
        #expect(CrashRuns.broken { _ = try run($0, ignoresSynchronization: true) } > 20)
    }
}
