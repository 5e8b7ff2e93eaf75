import DurableFiles
import SimulatedDisk
import SystemPackage
import Testing
import Units

@testable import TransferQueue

/// The log of a queue.
@Suite struct QueueLogTests {
    private func disk() throws -> SimulatedDisk { try SimulatedDisk(seed: 1, folders: "/q") }

    private func open(_ disk: SimulatedDisk) throws -> (log: QueueLog, state: QueueState) {
        try QueueLog.open(in: "/q", limits: QueueLimits(), files: disk)
    }

    private func job(_ state: QueueState, _ name: String = "1") throws -> QueueJob {
        var transfer = QueuedTransfer.upload("/d/\(name)", to: "http://host/\(name)")
        transfer.window = DailyWindow("01:00-02:00")
        transfer.headers = [QueueHeader("Authorization", .environment("TOKEN"))]
        transfer.command = ["notify", "done"]
        return try state.submitted(transfer, host: "host", at: QueueTime(milliseconds: 5))
    }

    @Test func `a job is there again as it was, after a power cut too`() throws {
        let disk = try disk()
        var (log, state) = try open(disk)
        var job = try job(state)
        state.put(job)
        try log.append(.job(job), state)
        job = try #require(state.ended(job.id, .needs(.url, "410"), at: QueueTime(milliseconds: 9), fraction: 0))
        state.put(job)
        try log.append(.job(job), state)
        disk.restart(after: .power)
        #expect(try open(disk).state.jobs == [job.id: job])
    }

    @Test func `numbers aren't used again after a job was removed`() throws {
        let disk = try disk()
        var (log, state) = try open(disk)
        let job = try job(state)
        state.put(job)
        try log.append(.job(job), state)
        state.remove(job.id)
        try log.rewrite(state)
        log.close()
        (log, state) = try open(disk)
        #expect(state.jobs.isEmpty)
        #expect(state.next.job == 2)
        log.close()
        #expect(try open(disk).state.next.job == 2)
    }

    @Test func `a record has room for messages of any length, and one that is too large isn't written`() throws {
        let disk = try disk()
        var (log, state) = try open(disk)
        let job = try job(state)
        state.put(job)
        let outcome = QueueOutcome.retry(.folder, String(repeating: "\u{1}\"é", count: 30_000), hasProgressed: false)
        var ended = try #require(state.ended(job.id, outcome, at: QueueTime(milliseconds: 9), fraction: 0))
        #expect(ended.message?.isEmpty == false && ended.event?.message == ended.message)
        #expect(QueueLog.bytes(of: .job(ended)).count < 4 << 10)
        ended.transfer.command = [String(repeating: "x", count: 70_000)]
        var large = state
        large.put(ended)
        for _ in 1...2 { #expect(throws: FileError.self) { try log.append(.job(ended), large) } }
        try log.append(.job(job), state)
        #expect(try QueueLog.peek(in: "/q", files: disk).jobs == [job.id: job])
    }

    @Test func `a log that a killed process has just created is an empty one`() throws {
        let disk = try disk()
        try disk.open("/q/queue.log", .creating).close()
        #expect(try QueueLog.peek(in: "/q", files: disk).jobs.isEmpty)
        #expect(try open(disk).state.jobs.isEmpty)
    }

    @Test func `one queue at a time has a log`() throws {
        let disk = try disk()
        let (log, _) = try open(disk)
        #expect(throws: QueueLog.Problem.locked) { try open(disk) }
        log.close()
        _ = try open(disk)
    }

    @Test func `the log doesn't grow with the number of changes`() throws {
        let disk = try disk()
        var (log, state) = try open(disk)
        var job = try job(state)
        for priority in 0..<4_000 {
            job.transfer.priority = priority
            state.put(job)
            try log.append(.job(job), state)
        }
        log.close()
        let file = try disk.open("/q/queue.log", .reading)
        #expect(try file.size() < 300 << 10)
        file.close()
        #expect(try open(disk).state.jobs[job.id]?.transfer.priority == 3_999)
    }

    @Test func `a record that can't be appended goes into a fresh log`() throws {
        let disk = try disk()
        var (log, state) = try open(disk)
        let job = try job(state)
        state.put(job)
        disk.setFaults(SimulatedDisk.Faults(failures: [disk.calls + 1: .ioError]))
        try log.append(.job(job), state)
        disk.restart(after: .power)
        #expect(try open(disk).state.jobs == [job.id: job])
    }

    @Test func `a foreign file, a newer log and a damaged one stay as they are`() throws {
        let disk = try disk()
        for (bytes, sign) in [
            (Array("nothing of a queue's".utf8), "it isn't the log of a queue"),
            (Array("SquallQ\n".utf8) + [9], "version 9"),
            (
                RecordLog(magic: "SquallQ\n", version: 1).encoded([.init(kind: 1, payload: Array("{}".utf8))]),
                "can't read"
            ),
        ] {
            let file = try disk.open("/q/queue.log", .creating)
            try file.write(bytes, at: 0)
            file.close()
            do {
                _ = try open(disk)
                Issue.record("it was opened")
            } catch QueueLog.Problem.unusable(let why) {
                #expect(why.contains(sign))
            }
            let left = try disk.open("/q/queue.log", .reading)
            #expect(try left.read(100, at: 0) == bytes)
            left.close()
            try disk.remove("/q/queue.log")
        }
    }
}
