import CLossLink
import Glibc

/// Writes a message to standard error and exits with 2.
func fail(_ message: String) -> Never {
    let line = message.hasSuffix("\n") ? message : "loss-link: \(message)\n"
    _ = write(2, line, line.utf8.count)
    exit(2)
}

/// Exits with 2 and the system's reason if a call has failed.
@discardableResult
func check(_ result: Int32, _ call: String) -> Int32 {
    if result < 0 { fail("\(call): \(String(cString: strerror(errno)))") }
    return result
}

/// The monotonic clock, in nanoseconds.
func monotonic() -> UInt64 {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
}

/// The fields of each line of standard input, up to an empty line or the end.
///
/// Exits with 2 if a line has another number of fields.
func readTable(fields count: Int, of table: String) -> [[String]] {
    var rows: [[String]] = []
    while let line = readLine(), !line.isEmpty {
        let fields = line.split(separator: " ").map(String.init)
        if fields.count != count {
            fail("\(table), line \(rows.count + 1): \(fields.count) fields instead of \(count)")
        }
        rows.append(fields)
    }
    return rows
}

/// A number of a table; exits with 2 if the text isn't one within the range.
func number<Value: LosslessStringConvertible & Comparable>(
    _ text: String,
    within range: ClosedRange<Value>,
    _ name: String
) -> Value {
    guard let value = Value(text), range.contains(value) else {
        fail("\(name) is \(text): expected a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return value
}

/// An IPv4 address and a port, as the system takes it.
func socketAddress(_ address: String, _ port: UInt16) -> sockaddr_in {
    var result = sockaddr_in()
    result.sin_family = sa_family_t(AF_INET)
    result.sin_port = port.bigEndian
    if inet_pton(AF_INET, address, &result.sin_addr) != 1 { fail("\(address) is no IPv4 address") }
    return result
}

func withSocketAddress<Result>(
    _ address: sockaddr_in,
    _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
) -> Result {
    withUnsafePointer(to: address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
}

func setNonBlocking(_ descriptor: Int32) {
    check(fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK), "fcntl")
}

/// Readiness of descriptors. At most 64 events a call.
final class Poller {
    private let descriptor = check(epoll_create1(0), "epoll_create1")
    private let events = UnsafeMutablePointer<epoll_event>.allocate(capacity: 64)

    func add(_ watched: Int32, events: UInt32) { control(EPOLL_CTL_ADD, watched, events) }
    func change(_ watched: Int32, events: UInt32) { control(EPOLL_CTL_MOD, watched, events) }

    private func control(_ operation: Int32, _ watched: Int32, _ events: UInt32) {
        var event = epoll_event(events: events, data: epoll_data(fd: watched))
        check(epoll_ctl(descriptor, operation, watched, &event), "epoll_ctl")
    }

    /// Calls `body` with each descriptor that is ready. `milliseconds` below zero waits without an end.
    func wait(milliseconds: Int32, _ body: (Int32) -> Void) {
        let count = epoll_wait(descriptor, events, 64, milliseconds)
        if count < 0 && errno != EINTR { fail("epoll_wait: \(String(cString: strerror(errno)))") }
        for index in 0..<max(0, Int(count)) { body(events[index].data.fd) }
    }
}

let readable = EPOLLIN.rawValue
let writable = EPOLLOUT.rawValue
