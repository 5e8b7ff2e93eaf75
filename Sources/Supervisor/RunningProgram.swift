import CSeccomp
import FaultProfile
import Glibc

extension Program {
    /// The program of a process, by proc(5); `nil` if the process has ended.
    init?(process: Int32) {
        guard
            let name = Program.text(
                64,
                { room in
                    let file = open("/proc/\(process)/comm", O_RDONLY | O_CLOEXEC)
                    guard file >= 0 else { return -1 }
                    defer { close(file) }
                    return read(file, room.baseAddress, room.count)
                }
            )
        else { return nil }
        let path = Program.text(Int(PATH_MAX)) { room in
            guard let start = room.baseAddress else { return -1 }
            return readlink("/proc/\(process)/exe", start, room.count)
        }
        self.init(name: name.hasSuffix("\n") ? String(name.dropLast()) : name, path: path)
    }

    private static func text(_ limit: Int, _ read: (UnsafeMutableBufferPointer<CChar>) -> Int) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: limit) { room in
            let count = read(room)
            guard count > 0 else { return nil }
            return String(
                decoding: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(room)[..<count]),
                as: UTF8.self
            )
        }
    }
}

extension DialOutcome {
    /// The journal's word: `connected`, `closed`, or the name of the error.
    var word: String {
        switch self {
        case .connected: "connected"
        case .closed: "closed"
        case .failed(let code): squall_error_name(code).map { String(cString: $0) } ?? "errno \(code)"
        }
    }
}
