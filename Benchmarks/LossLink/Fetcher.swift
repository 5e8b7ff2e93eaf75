import Glibc

/// Runs jobs at their times and prints a line of JSON for each, in the order in which they end.
///
/// A job connects, sends its request and reads the answer. Deliveries of `bulk` are merged while they are less than 1 ms
/// after the first of them.
final class Fetcher {
    private struct Job {
        let id: Int
        let start: UInt64
        let port: UInt16
        let kind: String
        let nanoseconds: UInt64
        /// `nil` for a bulk job, which ends by its time.
        let size: Int?
    }

    private final class Transfer {
        let job: Job
        let began: UInt64
        var clientPort: UInt16 = 0
        var requested: UInt64?
        var received = 0
        var stamp: [UInt8] = []
        var deliveries: [(nanoseconds: UInt64, bytes: Int)] = []
        var deadline: UInt64

        init(_ job: Job, began: UInt64, deadline: UInt64) {
            self.job = job
            self.began = began
            self.deadline = deadline
        }
    }

    /// When Linux gives up a connect (127 s), and some more.
    private static let connectNanoseconds: UInt64 = 130_000_000_000

    private let address: String
    private let poller = Poller()
    private var transfers: [Int32: Transfer] = [:]
    private let block = UnsafeMutablePointer<UInt8>.allocate(capacity: 262_144)

    init(address: String) { self.address = address }

    func run() {
        let origin = monotonic()
        var jobs = readTable(fields: 5, of: "JOBS").map { row in
            let size: Int? =
                switch row[3] {
                case "bulk": nil
                case "connect": 8
                default: number(row[3], within: 8...10_000_000, "KIND")
                }
            return Job(
                id: number(row[0], within: 0...Int.max, "ID"),
                start: origin + number(row[1], within: 0...86_400_000, "START-MILLISECONDS") * 1_000_000,
                port: number(row[2], within: 1...65_535, "PORT"),
                kind: row[3],
                nanoseconds: UInt64(number(row[4], within: 0.001...3600, "SECONDS") * 1e9),
                size: size
            )
        }
        jobs.sort { $0.start > $1.start }
        var nextSweep = origin
        while !jobs.isEmpty || !transfers.isEmpty {
            let now = monotonic()
            while let next = jobs.last, next.start <= now {
                jobs.removeLast()
                begin(next)
            }
            if now >= nextSweep {
                nextSweep = now + 10_000_000
                for (descriptor, transfer) in transfers where transfer.deadline <= now {
                    let isWhole = transfer.job.size == nil && transfer.requested != nil
                    end(descriptor, transfer, error: isWhole ? nil : "late")
                }
            }
            poller.wait(milliseconds: 5) { advance($0) }
        }
    }

    private func begin(_ job: Job) {
        let descriptor = check(socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0), "socket")
        setNonBlocking(descriptor)
        let now = monotonic()
        let transfer = Transfer(job, began: now, deadline: now + max(job.nanoseconds, Fetcher.connectNanoseconds))
        if withSocketAddress(socketAddress(address, job.port), { connect(descriptor, $0, $1) }) < 0,
            errno != EINPROGRESS
        {
            return end(descriptor, transfer, error: String(cString: strerror(errno)))
        }
        transfers[descriptor] = transfer
        poller.add(descriptor, events: writable)
    }

    private func advance(_ descriptor: Int32) {
        guard let transfer = transfers[descriptor] else { return }
        if let requested = transfer.requested {
            receive(descriptor, transfer, since: requested)
        } else {
            request(descriptor, transfer)
        }
    }

    private func request(_ descriptor: Int32, _ transfer: Transfer) {
        var problem: Int32 = 0
        var size = socklen_t(4)
        getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &problem, &size)
        if problem != 0 { return end(descriptor, transfer, error: String(cString: strerror(problem))) }
        transfer.clientPort = localPort(descriptor)
        let text = (transfer.job.size.map { String($0) } ?? "bulk") + "\n"
        let now = monotonic()
        if write(descriptor, text, text.utf8.count) != text.utf8.count {
            return end(descriptor, transfer, error: "the request can't be sent")
        }
        transfer.requested = now
        transfer.deadline = now + transfer.job.nanoseconds
        poller.change(descriptor, events: readable)
    }

    private func localPort(_ descriptor: Int32) -> UInt16 {
        var local = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &local) {
            _ = $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
        }
        return UInt16(bigEndian: local.sin_port)
    }

    private func receive(_ descriptor: Int32, _ transfer: Transfer, since requested: UInt64) {
        let count = read(descriptor, block, 262_144)
        if count < 0 && errno == EAGAIN { return }
        let now = monotonic()
        guard count > 0 else {
            let reason = count == 0 ? "the answer is too short" : String(cString: strerror(errno))
            return end(descriptor, transfer, error: reason)
        }
        if transfer.stamp.count < 8 {
            transfer.stamp += UnsafeBufferPointer(start: block, count: min(count, 8 - transfer.stamp.count))
        }
        transfer.received += count
        if let size = transfer.job.size {
            if transfer.received >= size { end(descriptor, transfer, error: nil, at: now) }
            return
        }
        let time = now - requested
        if let last = transfer.deliveries.last, time < last.nanoseconds + 1_000_000 {
            transfer.deliveries[transfer.deliveries.count - 1].bytes += count
        } else {
            transfer.deliveries.append((time, count))
        }
    }

    private func end(_ descriptor: Int32, _ transfer: Transfer, error: String?, at time: UInt64 = monotonic()) {
        close(descriptor)
        transfers[descriptor] = nil
        var line = "{\"id\":\(transfer.job.id),\"clientPort\":\(transfer.clientPort)"
        if let requested = transfer.requested {
            line += ",\"connect\":\(seconds(requested - transfer.began)),\"time\":\(seconds(time - requested))"
            if transfer.stamp.count == 8 {
                let accepted = transfer.stamp.reversed().reduce(0) { $0 << 8 | UInt64($1) }
                // How long after the request the server has accepted the connection.
                line += ",\"accept\":\(accepted > requested ? seconds(accepted - requested) : "0")"
            }
        }
        if transfer.job.size == nil {
            line += ",\"deliveries\":["
            line += transfer.deliveries.map { "[\(tenths($0.nanoseconds)),\($0.bytes)]" }.joined(separator: ",") + "]"
        }
        print(line + (error.map { ",\"error\":\"\($0)\"}" } ?? "}"))
    }

    private func seconds(_ nanoseconds: UInt64) -> String {
        let microseconds = String(nanoseconds % 1_000_000_000 / 1000)
        return "\(nanoseconds / 1_000_000_000)." + String(repeating: "0", count: 6 - microseconds.count) + microseconds
    }

    /// Milliseconds with one decimal.
    private func tenths(_ nanoseconds: UInt64) -> String {
        "\(nanoseconds / 1_000_000).\(nanoseconds % 1_000_000 / 100_000)"
    }
}
