import Glibc

/// The messages between a `GuardedCommand` and its guard, over a pair of sockets.
///
/// The guard first reports its folder. The command line follows as its length (8 bytes) and its words, each ended by a NUL
/// byte: the number of arguments, the arguments, the environment. A stop may follow. The guard reports the end. A report is
/// a byte for what it tells and 4 bytes for a number, both in the machine's byte order.
enum GuardProtocol {
    /// What a report tells, with its number.
    enum Report: UInt8 {
        /// The folder is there.
        case ready
        /// The folder can't be made: errno.
        case folderFailed
        /// The command can't be started: errno.
        case startFailed
        /// The connections of the command can't be redirected: errno.
        case notSupervised
        /// The command exited: its code.
        case exit
        /// The command was ended by a signal: its number.
        case signal
    }

    static let stop = UInt8(ascii: "T")
    /// The largest command line with its environment: 8 MiB, above the kernel's usual limit of 2 MiB.
    static let commandLimit = 8 * 1_048_576

    /// The length and the words of a command line.
    static func encode(_ arguments: [String], _ environment: [String: String]) -> [UInt8] {
        let variables = environment.map { "\($0.key)=\($0.value)" }
        let words = ["\(arguments.count)"] + arguments + variables
        let body: [UInt8] = words.flatMap { Array($0.utf8) + [0] }
        return withUnsafeBytes(of: Int64(body.count)) { Array($0) } + body
    }

    /// The command line of its words; `nil` if they are none.
    static func decode(_ body: [UInt8]) -> (arguments: [String], environment: [String: String])? {
        let words = body.split(separator: 0, omittingEmptySubsequences: false).dropLast()
            .map { String(decoding: $0, as: UTF8.self) }
        guard let count = words.first.flatMap(Int.init), count > 0, count < words.count else { return nil }
        let variables = words[(count + 1)...].map { word in
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (String(parts[0]), parts.count == 2 ? String(parts[1]) : "")
        }
        return (Array(words[1...count]), Dictionary(variables) { first, _ in first })
    }

    /// Writes all of `bytes`, waiting for room.
    static func write(_ bytes: [UInt8], to descriptor: Int32) throws(SystemError) {
        var offset = 0
        while offset < bytes.count {
            let count = bytes[offset...].withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .last("send") }
            offset += count
        }
    }

    /// Reads exactly `count` bytes; `nil` if the other side has closed before.
    static func read(_ count: Int, from descriptor: Int32) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var offset = 0
        while offset < count {
            let read = bytes[offset...].withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
            if read < 0, errno == EINTR { continue }
            guard read > 0 else { return nil }
            offset += read
        }
        return bytes
    }

    static func write(_ report: Report, _ number: Int32, to descriptor: Int32) {
        // A reader that is gone is found by the poll that follows.
        try? write([report.rawValue] + withUnsafeBytes(of: number) { Array($0) }, to: descriptor)
    }

    /// Reports the end of the command.
    static func write(_ end: ChildProcess.End, to descriptor: Int32) {
        switch end {
        case .exit(let code): write(.exit, code, to: descriptor)
        case .signal(let number): write(.signal, number, to: descriptor)
        }
    }

    /// Reads a report; `nil` if the guard is gone.
    static func report(from descriptor: Int32) -> (report: Report, number: Int32)? {
        guard let bytes = read(5, from: descriptor), let report = Report(rawValue: bytes[0]) else { return nil }
        return (report, bytes[1...].withUnsafeBytes { $0.loadUnaligned(as: Int32.self) })
    }
}
