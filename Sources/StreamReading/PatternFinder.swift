import FaultPlan
import FaultProfile

/// Finds a pattern in a stream across reads (Knuth, Morris and Pratt). Reports the first match of each read: a fault that
/// lets it pass lets later ones of the same moment pass, too.
struct PatternFinder {
    let fault: Int
    private let pattern: [UInt8]
    /// For each match length, the length of the longest shorter match.
    private let fallback: [Int]
    private var matched = 0
    private var offset: Int64

    /// Makes a finder that begins at `offset`.
    init(_ pattern: BytePattern, fault: Int, from offset: Int64 = 0) {
        self.fault = fault
        self.offset = offset
        self.pattern = pattern.bytes
        var fallback = [Int](repeating: 0, count: pattern.bytes.count + 1)
        var length = 0
        for index in 1..<max(1, pattern.bytes.count) {
            while length > 0, pattern.bytes[index] != pattern.bytes[length] { length = fallback[length] }
            if pattern.bytes[index] == pattern.bytes[length] { length += 1 }
            fallback[index + 1] = length
        }
        self.fallback = fallback
    }

    mutating func read(_ bytes: Span<UInt8>, count: Int, into marks: inout [Mark]) {
        guard let first = pattern.first else { return }
        var isFound = false
        for index in 0..<count {
            let byte = bytes[index]
            if matched == 0, byte != first { continue }
            while matched > 0, byte != pattern[matched] { matched = fallback[matched] }
            if byte == pattern[matched] { matched += 1 }
            guard matched == pattern.count else { continue }
            if !isFound { marks.append(.pattern(fault: fault, at: offset + Int64(index) + 1)) }
            isFound = true
            matched = fallback[matched]
        }
        offset += Int64(count)
    }
}
