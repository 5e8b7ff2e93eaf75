import CommandParsing
import Digests
import FaultProfile
import TerminalDisplay
import TransferQueue
import Units

/// Shows jobs, and follows them.
struct QueueDisplay {
    private let client: QueueClient
    private let job: QueueJobID?
    private let format: EventFormat

    init(_ client: QueueClient, _ job: QueueJobID?, format: EventFormat) {
        self.client = client
        self.job = job
        self.format = format
    }

    /// Follows until the job, or all jobs, have ended.
    func follow() async throws {
        var known: [QueueJobID: QueueJobStatus] = [:]
        // The jobs that were pruned before their end was shown.
        var lost: [QueueJobID] = []
        var isUpToDate = false
        let live = LiveLine()
        try await client.call(.attach(job)) { answer in
            switch answer {
            case .job(let status):
                if format == .json { Console.print(status.json.compact) } else { show(status, known[status.id], live) }
                known[status.id] = status
            case .removed(let id):
                if known[id]?.phase.isFinal == false {
                    known[id] = nil
                    lost.append(id)
                }
            case .upToDate: isUpToDate = true
            case .submitted, .event, .allDelivered, .pruned, .done, .failed: return true
            }
            guard isUpToDate else { return true }
            if format == .text { live.draw(lines: [Self.sum(known)]) }
            return known.values.contains { !$0.phase.isFinal }
        }
        live.clear()
        if let job, known[job] == nil, lost.isEmpty { throw CommandFailure.wrongInput("there is no job \(job)") }
        if known.isEmpty ? lost.isEmpty : format == .text { Self.show(known.values.sorted { $0.id < $1.id }) }
        let failed = known.values.filter { [.failed, .cancelled].contains($0.phase) }.map(\.id)
        let problems = [("not complete", failed), ("pruned before the end was shown", lost)].filter { !$1.isEmpty }
        guard problems.isEmpty else {
            let lists = problems.map { "\($0): \($1.sorted().map { "job \($0)" }.joined(separator: ", "))" }
            throw CommandFailure.failed(lists.joined(separator: "; "))
        }
    }

    /// Prints a change. Of jobs that were over at the beginning the list at the end tells. In a pipe it has all ends, for programs.
    private func show(_ status: QueueJobStatus, _ earlier: QueueJobStatus?, _ live: LiveLine) {
        let hasChanged = earlier?.phase != status.phase || earlier?.reason != status.reason
        guard hasChanged, !status.phase.isFinal || live.isOn && earlier != nil else { return }
        let cells = Self.cells(status)
        if live.isOn {
            live.print(wrapping: cells.joined(separator: "  "))
        } else {
            Console.warn(lines: cells.map(\.visibleLine).joined(separator: "\t"))
        }
    }

    /// Prints jobs: aligned columns on a terminal, else cells with tabs.
    static func show(_ statuses: [QueueJobStatus]) {
        guard !statuses.isEmpty else { return Console.warn("the queue has no jobs") }
        let rows = statuses.map { cells($0).map(\.visibleLine) }
        guard Console.isOutputTerminal else {
            return Console.pass(Array(rows.map { $0.joined(separator: "\t") + "\n" }.joined().utf8))
        }
        let widths = (0..<4).map { column in rows.map { $0[column].count }.max() ?? 0 }
        for row in rows {
            let padded = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
            Console.print((padded + row.dropFirst(4)).joined(separator: "  "))
        }
    }

    /// Number, phase with its reason, progress, file, and the reason in words.
    private static func cells(_ status: QueueJobStatus) -> [String] {
        let phase = status.reason.map { "\(status.phase) (\($0))" } ?? status.phase.rawValue
        return ["\(status.id)", phase, progress(status), status.transfer.file] + (status.message.map { [$0] } ?? [])
    }

    private static func progress(_ status: QueueJobStatus) -> String {
        guard let total = status.totalBytes else {
            return status.completedBytes > 0 ? Formatting.size(status.completedBytes) : "-"
        }
        guard total > 0, status.completedBytes < total else { return Formatting.size(total) }
        return "\(status.completedBytes * 100 / total) % of \(Formatting.size(total))"
    }

    static func sum(_ statuses: [QueueJobID: QueueJobStatus]) -> String {
        let done = statuses.values.filter(\.phase.isFinal).count
        let running = statuses.values.filter { $0.phase == .running }.count
        let bytes = statuses.values.reduce(0) { $0 + $1.completedBytes }
        return "\(done) of \(statuses.count) jobs have ended, \(running) run, \(Formatting.size(bytes))"
    }
}

extension QueueJobStatus {
    /// The job as JSON, without the keys that don't apply.
    package var json: JSONText {
        let members: [(key: String, value: JSONText?)] = [
            ("bytes", .signed(completedBytes)), ("direction", .text(transfer.direction.rawValue)),
            ("file", .text(transfer.file)), ("job", .number(id.number)), ("message", message.map { .text($0) }),
            ("phase", .text(phase.rawValue)), ("priority", .signed(Int64(transfer.priority))),
            ("reason", reason.map { .text($0.rawValue) }), ("sha256", result.map { .text($0.sha256.hexadecimal) }),
            ("total", totalBytes.map { .signed($0) }),
            ("until", until.map { .signed($0.milliseconds / 1_000) }),
        ]
        return .object(members.compactMap { member in member.value.map { (member.key, $0) } })
    }
}
