import SimulatedDisk
import SystemPackage
import Testing
import Units

@testable import TransferQueue

/// Queues whose machine may stop between any two calls to the disk, in virtual time.
@Suite(.timeLimit(.minutes(30))) struct QueueCrashTests {
    private static let runs = CrashRuns("QUEUE", count: 200)

    @Test func `wherever it stops, every job ends, once, with its bytes, and none is transferred twice`() {
        var sum = QueueWorld.Story()
        let stories = Self.runs.stories { seed in
            var world = try QueueWorld(seed: seed)
            return try world.run()
        } broken: {
            Issue.record("\($0)")
        }
        for story in stories { sum.add(story) }
        let runs = Int(Self.runs.count)
        #expect(sum.crashes > runs)
        #expect(sum.completed > runs * 2)
        #expect(sum.stops > runs / 4)
        #expect(sum.needs > runs / 20)
        print(
            "queues: \(runs) runs, \(sum.crashes) crashes, \(sum.completed) jobs completed, \(sum.stops) stopped for "
                + "another or for a condition, \(sum.needs) given what they needed, \(sum.repeated) bytes twice of \(sum.bytes)"
        )
    }
}

/// A queue, its owner, its disk and its servers, driven by a seed.
struct QueueWorld {
    struct Story {
        var (crashes, completed, stops, needs, repeated, bytes) = (0, 0, 0, 0, 0, 0)

        mutating func add(_ other: Story) {
            crashes += other.crashes
            completed += other.completed
            stops += other.stops
            needs += other.needs
            repeated += other.repeated
            bytes += other.bytes
        }
    }

    /// The machine has stopped, or the queue has ended itself because it couldn't write.
    private struct Stopped: Error {}

    private typealias Broken = SimulatedTransfer.Broken

    private let disk: SimulatedDisk
    private var random: SeededGenerator
    private var now = QueueTime(secondsSince1970: 1_790_000_000)
    private var servers: [QueueJobID: SimulatedServer] = [:]
    private var delivered: [QueueJobID: Int] = [:]
    private var commands: [QueueJobID: Int] = [:]
    private var completions: [QueueJobID: Int] = [:]
    private var accepted: Set<QueueJobID> = []
    private var cancelled: Set<QueueJobID> = []
    private var story = Story()
    private var toSubmit: Int
    /// The life of the machine, and that of the queue in it.
    private var life = 0
    private var state = QueueState()
    private var log: QueueLog?
    private var running: [QueueJobID: SimulatedTransfer] = [:]
    private var (hasNetwork, isExpensive, isOnMains) = (true, false, true)
    private static let calmLife = 12

    init(seed: UInt64) throws {
        random = SeededGenerator(seed: seed)
        disk = try SimulatedDisk(seed: seed, folders: "/d", "/q")
        toSubmit = 3 + Int(random.next() % 5)
    }

    private mutating func chance(_ percent: UInt64) -> Bool { random.next() % 100 < percent }

    mutating func run() throws -> Story {
        while life < 40 {
            var faults = SimulatedDisk.Faults()
            if life < Self.calmLife {
                if !chance(10) { faults.stop = Int(1 + random.next() % 220) }
                if chance(20) { faults.chance = 0.01 }
            }
            disk.setFaults(faults)
            do {
                try live()
                return try concluded()
            } catch is Stopped {
                try end()
            }
            life += 1
        }
        throw Broken(description: "it came to no end: \(state.jobs.values.map { "\($0.id) \($0.stage)" })")
    }

    /// The end of a life, with what the machine loses.
    private mutating func end() throws {
        for (id, transfer) in running {
            servers[id]?.allowance += transfer.unsaved
            transfer.close()
        }
        running = [:]
        log?.close()
        log = nil
        if disk.isStopped {
            story.crashes += 1
            disk.restart(after: chance(50) ? .power : .process)
        }
        now = now + .seconds(Int(random.next() % 7_200))
    }

    private mutating func live() throws {
        do {
            (log, state) = try QueueLog.open(in: "/q", limits: limits, files: disk)
        } catch QueueLog.Problem.unusable(let why) {
            throw Broken(description: "the log can't be read: \(why)")
        } catch {
            throw Stopped()
        }
        for id in accepted where state.jobs[id] == nil { throw Broken(description: "job \(id) is lost") }
        for _ in 0..<4_000 {
            if life < Self.calmLife { stir() } else { (hasNetwork, isExpensive, isOnMains) = (true, false, true) }
            try act()
            let plan = state.plan(running: Set(running.keys), conditions)
            try carryOut(plan)
            try deliver()
            if isOver { return }
            if let id = running.keys.sorted().randomElement(using: &random) {
                now = now + .milliseconds(Int(1 + random.next() % 900))
                try step(id)
            } else {
                let longest = now + .seconds(3_600)
                now = max(now + .milliseconds(1), min(plan.wake ?? longest, longest))
            }
        }
        throw Broken(description: "a life came to no end: \(state.jobs.values.map { "\($0.id) \($0.stage)" })")
    }

    private var limits: QueueLimits {
        var limits = QueueLimits()
        (limits.maximumRunning, limits.maximumPerHost) = (3, 2)
        return limits
    }

    private var conditions: QueueConditions {
        let (hasNetwork, isExpensive) = (hasNetwork, isExpensive)
        return QueueConditions(
            now: now,
            offset: .seconds(3_600),
            isReachable: { _ in hasNetwork },
            cost: { _ in isExpensive ? .expensive : [] },
            isOnMains: isOnMains
        )
    }

    private var isOver: Bool {
        let areDone = state.jobs.values.allSatisfy { job in
            if case .failed = job.stage { false } else { job.isDone }
        }
        return toSubmit == 0 && areDone
    }

    private mutating func stir() {
        if chance(3) { hasNetwork.toggle() }
        if chance(3) { isExpensive.toggle() }
        if chance(3) { isOnMains.toggle() }
    }

    // MARK: The queue

    private mutating func write(_ job: QueueJob) throws {
        var next = state
        next.put(job)
        do {
            try log?.append(.job(job), next)
        } catch {
            throw Stopped()
        }
        if case .completed = job.stage, state.jobs[job.id]?.stage != job.stage { completions[job.id, default: 0] += 1 }
        state = next
    }

    private mutating func carryOut(_ plan: QueuePlan) throws {
        for id in plan.stop {
            guard let transfer = running.removeValue(forKey: id) else {
                throw Broken(description: "stops what doesn't run")
            }
            servers[id]?.allowance += transfer.unsaved
            transfer.close()
            story.stops += 1
            if let job = state.ended(id, .stopped(hasProgressed: true), at: now, fraction: 0) { try write(job) }
        }
        for id in plan.expired {
            if let job = state.expired(id) { try write(job) }
        }
        for id in plan.start where state.jobs[id]?.isActive == true {
            guard let job = state.jobs[id], running[id] == nil, var server = servers[id] else {
                throw Broken(description: "starts what runs")
            }
            defer { servers[id] = server }
            do {
                if try SimulatedTransfer.isDone(job, server, on: disk), let proof = job.proof {
                    try conclude(id, .completed(proof))
                } else {
                    let bytes = Int(1 + random.next() % 700)
                    running[id] = try SimulatedTransfer(job, &server, on: disk, checkpointBytes: bytes)
                }
            } catch let error as Broken {
                throw error
            } catch is Stopped {
                throw Stopped()
            } catch {
                // The disk refuses: the job is tried again.
                guard !disk.isStopped else { throw Stopped() }
                try conclude(id, .retry(.folder, "\(error)", hasProgressed: false))
            }
        }
        let counts = Dictionary(grouping: running.keys.compactMap { state.jobs[$0]?.host }) { $0 }.mapValues(\.count)
        guard running.count <= 3, counts.values.allSatisfy({ $0 <= 2 }) else {
            throw Broken(description: "more run than may")
        }
    }

    private mutating func conclude(_ id: QueueJobID, _ outcome: QueueOutcome) throws {
        if let transfer = running.removeValue(forKey: id) {
            servers[id]?.allowance += transfer.unsaved
            transfer.close()
        }
        if let job = state.ended(id, outcome, at: now, fraction: random.nextFraction()) { try write(job) }
    }

    private mutating func step(_ id: QueueJobID) throws {
        guard var transfer = running[id], var server = servers[id] else { return }
        if life < Self.calmLife, chance(6) {
            return try conclude(id, .retry(.retry, "the connection broke", hasProgressed: chance(50)))
        }
        if life < Self.calmLife, chance(1) { return try conclude(id, .needs(.credentials, "401")) }
        do {
            let result = try transfer.step(Int(1 + random.next() % 400), &server)
            servers[id] = server
            running[id] = transfer
            guard result == .complete else { return }
            let proof = QueueResult(bytes: Int64(server.content.count), sha256: [])
            guard let job = state.finishing(id, proof) else { throw Broken(description: "an ended job runs") }
            try write(job)
            servers[id]?.isProved = true
            try transfer.finish(on: disk)
            try conclude(id, .completed(proof))
        } catch let error as Broken {
            throw error
        } catch is Stopped {
            throw Stopped()
        } catch {
            servers[id] = server
            running[id] = transfer
            guard !disk.isStopped else { throw Stopped() }
            // A failed call leaves it unknown what the disk has; what follows the last promise may go again.
            try conclude(id, .retry(.diskFull, "\(error)", hasProgressed: false))
        }
    }

    // MARK: The owner

    private mutating func act() throws {
        if toSubmit > 0, chance(20) || running.isEmpty {
            let id = QueueJobID(state.next.job)
            let transfer = drawTransfer(id)
            let job = try state.submitted(transfer, host: "h\(random.next() % 2)", at: now)
            let content = (0..<Int(random.next() % 3_000)).map { _ in UInt8(truncatingIfNeeded: random.next() >> 24) }
            // The log may have a job whose owner hears of a failure.
            servers[id] = SimulatedServer(content: content)
            try write(job)
            accepted.insert(id)
            toSubmit -= 1
        }
        guard let id = state.jobs.keys.sorted().randomElement(using: &random), servers[id] != nil else { return }
        if life < Self.calmLife {
            if chance(2), let job = try? state.paused(id) { try write(job) }
            if chance(2), let job = try? state.prioritized(id, Int(random.next() % 5)) { try write(job) }
            if chance(1), chance(20), let job = try? state.cancelled(id) {
                cancelled.insert(id)
                try write(job)
            }
        }
        for job in state.jobs.values.sorted(by: { $0.id < $1.id }) {
            let isStuck =
                switch job.stage {
                case .needing, .paused, .failed: true
                case .active, .retrying, .completed, .cancelled: false
                }
            guard isStuck, life >= Self.calmLife || chance(10) else { continue }
            if case .needing = job.stage { story.needs += 1 }
            try write(try state.resumed(job.id, QueueChange(), host: job.host, at: now))
        }
        if chance(2) {
            do {
                let second = try QueueLog.open(in: "/q", limits: limits, files: disk)
                second.log.close()
                throw Broken(description: "two queues have one log")
            } catch let error as Broken {
                throw error
            } catch {
                guard !disk.isStopped else { throw Stopped() }
            }
        }
    }

    private mutating func drawTransfer(_ id: QueueJobID) -> QueuedTransfer {
        let isUpload = chance(40)
        var transfer = QueuedTransfer(isUpload ? .upload : .download, url: "http://h/\(id)", file: "/d/\(id)")
        transfer.priority = Int(random.next() % 3)
        transfer.isDiscretionary = chance(20)
        transfer.allowsExpensive = !chance(30)
        if chance(20) { transfer.window = DailyWindow(start: Int(random.next() % 1_440), end: 0) }
        if chance(20) { transfer.earliestBegin = now + .seconds(Int(random.next() % 5_000)) }
        if chance(50) { transfer.expectedBytesToReceive = Int64(random.next() % 3_000) }
        if chance(30) { transfer.command = ["true"] }
        return transfer
    }

    /// Hands out events, and runs commands, before the log says so.
    private mutating func deliver() throws {
        for id in state.jobs.keys.sorted() {
            if let event = state.jobs[id]?.event, chance(30) {
                if event.phase == .completed { delivered[id, default: 0] += 1 }
                if let job = state.delivered(event) { try write(job) }
            }
            if let event = state.jobs[id]?.commandOwed, chance(30) {
                if event.phase == .completed { commands[id, default: 0] += 1 }
                if let job = state.commandEnded(event) { try write(job) }
            }
        }
    }

    // MARK: The end

    private mutating func concluded() throws -> Story {
        log?.close()
        disk.setFaults(SimulatedDisk.Faults())
        for (id, server) in servers.sorted(by: { $0.key < $1.key }) {
            guard let job = state.jobs[id] else { continue }
            if cancelled.contains(id), job.stage == .cancelled { continue }
            guard case .completed(let result) = job.stage else {
                throw Broken(description: "job \(id) is \(job.stage)")
            }
            guard result.bytes == Int64(server.content.count) else { throw Broken(description: "a wrong result") }
            guard delivered[id, default: 0] >= 1 else { throw Broken(description: "job \(id) was never reported") }
            if !job.transfer.command.isEmpty, commands[id, default: 0] < 1 {
                throw Broken(description: "the command of job \(id) never ran")
            }
            guard completions[id, default: 0] <= 1 else { throw Broken(description: "job \(id) was completed twice") }
            if job.transfer.direction == .download {
                guard try disk.bytes(of: FilePath(job.transfer.file)) == server.content else {
                    throw Broken(description: "job \(id) has other bytes")
                }
            }
            let repeated = server.transferred - server.content.count
            guard repeated <= server.allowance else {
                throw Broken(description: "job \(id): \(repeated) bytes went twice, and \(server.allowance) may")
            }
            story.completed += 1
            story.repeated += max(0, repeated)
            story.bytes += server.content.count
        }
        return story
    }
}
