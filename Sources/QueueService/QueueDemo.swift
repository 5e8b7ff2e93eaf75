import CommandParsing
import Digests
import EventLoop
import FaultProfile
import FoundationEssentials
import Glibc
import OperatingSystem
import OriginServer
import ProfileFiles
import ProxyEngine
import ProxyRuntime
import Synchronization
import SystemPackage
import TerminalDisplay
import TransferQueue
import Units

/// `squall demo --queue`: a queue of its own, whose daemon is killed on the way.
package struct QueueDemo: Sendable {
    /// The transfers, half of them uploads.
    package static let jobs = 20
    /// The kills of the daemon, evenly over the bytes.
    static let kills = 2
    /// The largest file, unless another is asked for; the smallest has a 16th of it.
    static let largest = ByteCount.mebibytes(8)

    private let profile: Profile
    private let seed: UInt64
    private let format: EventFormat
    private let place: QueuePlace
    private let folder: TemporaryFolder
    private let served: URL
    private let uploads: URL
    private let received: URL

    /// A transfer with the SHA-256 of what is sent.
    private struct Item: Sendable {
        let isUpload: Bool
        let name: String
        let size: Int
        let digest: [UInt8]
    }

    /// Runs it until all files have arrived, or until `interrupt`; the file of a job has at most `largest` bytes.
    package static func run(
        _ profile: Profile,
        seed: UInt64,
        largest: ByteCount?,
        _ format: EventFormat,
        _ loops: EventLoopGroup,
        until interrupt: Interrupt
    ) async throws {
        let demo = try QueueDemo(profile, seed: seed, format)
        defer { demo.remove() }
        let items = try demo.write(largest ?? Self.largest)
        do {
            try await interrupt.cancelling { try await demo.run(items, loops) }
        } catch is CancellationError {
            throw CommandFailure.failed("the demo was interrupted, and another one starts from the beginning")
        }
    }

    private init(_ profile: Profile, seed: UInt64, _ format: EventFormat) throws(CommandFailure) {
        (self.profile, self.seed, self.format) = (profile, seed, format)
        place = try QueuePlace("demo-\(ProcessInfo.processInfo.processIdentifier)")
        folder = try TemporaryFolder.made("squall-demo")
        let top = URL(fileURLWithPath: folder.path)
        served = top.appendingPathComponent("served")
        uploads = top.appendingPathComponent("uploads")
        received = top.appendingPathComponent("received")
    }

    private func remove() {
        folder.remove()
        try? FileManager.default.removeItem(atPath: place.folder)
    }

    private func write(_ largest: ByteCount) throws(CommandFailure) -> [Item] {
        var generator = SeededGenerator(seed: seed)
        let bytes = Int(largest.bytes)
        do {
            for part in [served, uploads, received] {
                try FileManager.default.createDirectory(at: part, withIntermediateDirectories: true)
            }
            return try (1...Self.jobs).map { number in
                let size = Int.random(in: (bytes + 15) / 16...bytes, using: &generator)
                let content = generator.nextBytes(size)
                let isUpload = number.isMultiple(of: 2)
                let name = "\(isUpload ? "up" : "down")-\(number).bin"
                try Data(content).write(to: served.appendingPathComponent(name))
                return Item(isUpload: isUpload, name: name, size: size, digest: SHA256.hash(content))
            }
        } catch {
            throw .failed("can't write the demo's files in \(folder.path): \(FileProblem.reason(error))")
        }
    }

    private func run(_ items: [Item], _ loops: EventLoopGroup) async throws {
        let taken = OriginConfiguration.Uploads(folder: uploads.path)
        let origin = try await OriginServer.start(OriginConfiguration(folder: served.path, uploads: taken))
        let faults = FaultCount()
        let configuration = ProxyConfiguration(
            name: "demo",
            listen: Endpoint(host: "127.0.0.1", port: 0),
            upstream: Endpoint(host: origin.address.host, port: UInt16(clamping: origin.address.port)),
            profile: profile,
            seed: seed
        )
        let proxy = try await Proxy.start(configuration, on: loops, journal: { _ in faults.add() })
        let sizes = items.map(\.size)
        tell(
            "\(items.count) transfers of \(Formatting.size(Int64(sizes.min() ?? 0))) to "
                + "\(Formatting.size(Int64(sizes.max() ?? 0))), \(Formatting.size(Int64(sizes.reduce(0, +)))) in all, through "
                + "\(profile.name) with seed \(seed)"
        )
        var failure: (any Error)?
        do { try await follow(items, at: "\(proxy.address)") } catch { failure = error }
        await proxy.stop()
        await origin.shutdown()
        if let failure { throw failure }
        try prove(items, faults.count)
    }

    /// Submits the jobs and waits for their ends, while it kills and starts daemons.
    private func follow(_ items: [Item], at address: String) async throws {
        var daemon = try start()
        defer { DetachedProgram.end(daemon, by: SIGTERM) }
        let client = QueueClient(place: place)
        for item in items {
            let file = (item.isUpload ? served : received).appendingPathComponent(item.name).path
            var transfer = QueuedTransfer(
                item.isUpload ? .upload : .download,
                url: "http://\(address)/\(item.name)",
                file: file
            )
            transfer.sha256 = item.isUpload ? nil : item.digest
            try await client.call(.submit(transfer, secrets: [:]), starts: false)
        }
        let total = items.reduce(0) { $0 + Int64($1.size) }
        var known: [QueueJobID: QueueJobStatus] = [:]
        var kills = 0
        let live = LiveLine(isOn: Console.isTerminal && format == .text)
        while true {
            var isOver = false
            let goal = kills < Self.kills ? total * Int64(kills + 1) / Int64(Self.kills + 1) : .max
            try await client.call(.attach(nil), starts: false) { answer in
                guard case .job(let status) = answer else { return true }
                if status.phase.isFinal, known[status.id]?.phase.isFinal != true { tell(status, live) }
                known[status.id] = status
                live.draw(lines: [QueueDisplay.sum(known)])
                isOver = known.count == items.count && known.values.allSatisfy(\.phase.isFinal)
                return !isOver && known.values.reduce(0) { $0 + $1.completedBytes } < goal
            }
            try Task.checkCancellation()
            if isOver { break }
            DetachedProgram.end(daemon, by: SIGKILL)
            kills += 1
            let done = known.values.filter(\.phase.isFinal).count
            live.clear()
            tell(
                "killed the daemon, process \(daemon), after \(done) of \(items.count) transfers (SIGKILL)",
                killed: done
            )
            daemon = try start()
        }
        live.clear()
    }

    private func start() throws(CommandFailure) -> Int32 {
        let arguments = ["queue", "serve", "--name", place.name, "--per-host", "8"]
        guard case .ready(let process) = try QueueClient(place: place).started(arguments) else {
            throw .failed("another queue has the name \(place.name)")
        }
        return process
    }

    private func prove(_ items: [Item], _ faults: Int) throws(CommandFailure) {
        var wrong: [String] = []
        for item in items {
            let file = (item.isUpload ? uploads : received).appendingPathComponent(item.name).path
            if try FileDigest.sha256(ofFile: file) != item.digest { wrong.append(item.name) }
        }
        guard wrong.isEmpty else {
            throw .failed("not what was sent: \(wrong.joined(separator: ", "))")
        }
        switch format {
        case .text:
            Console.print(
                "proved: \(items.count) of \(items.count) files are the same byte for byte, after \(Self.kills) kills of the "
                    + "daemon and \(faults) faults"
            )
        case .json:
            EventFormat.writeJSON(Verdict(faults: faults, jobs: items.count, kills: Self.kills, seed: seed))
        }
    }

    // MARK: Output

    private func tell(_ text: String, killed done: Int? = nil) {
        switch format {
        case .text: Console.print(text)
        case .json: if let done { EventFormat.writeJSON(Killed(done: done)) }
        }
    }

    private func tell(_ status: QueueJobStatus, _ live: LiveLine) {
        switch format {
        case .json: Console.print(status.json.compact)
        case .text:
            live.clear()
            let words = status.transfer.direction == .upload ? "uploaded" : "downloaded"
            let end = status.phase == .completed ? words : "\(status.phase): \(status.message ?? "")"
            Console.print("job \(status.id): \(Formatting.size(status.completedBytes)) \(end)")
        }
    }

    private struct Killed: Encodable {
        var done: Int
        var event = "killed"
    }

    private struct Verdict: Encodable {
        var equal = true
        var event = "proved"
        var faults: Int
        var jobs: Int
        var kills: Int
        var seed: UInt64
    }
}

/// A count of faults, from any loop.
private final class FaultCount: Sendable {
    private let value = Mutex(0)

    var count: Int { value.withLock { $0 } }

    func add() { value.withLock { $0 += 1 } }
}
