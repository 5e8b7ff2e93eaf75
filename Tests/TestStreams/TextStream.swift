import Foundation
import Glibc
import OperatingSystem
import Synchronization

/// The output of a child process as it arrives.
package final class TextStream: Sendable {
    private struct Waiter {
        let matches: @Sendable (String) -> Bool
        /// Whether an unterminated line is matched too.
        var takesOpenLines = false
        let continuation: CheckedContinuation<String?, Never>
    }

    private struct State {
        var bytes: [UInt8] = []
        /// The start of the first unread line.
        var unread = 0
        var hasEnded = false
        var waiter: Waiter?
    }

    private let state = Mutex(State())
    private let end = FirstValue<Void>()

    /// Reads `descriptor`, the read end of a pipe, to its end on a thread, and closes it; or closes it at once if
    /// `isHeard` is false.
    package init(reading descriptor: Int32, isHeard: Bool = true) {
        guard isHeard else {
            close(descriptor)
            take([])
            return
        }
        Thread.detachNewThread { [self] in
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            while case let count = read(descriptor, &buffer, buffer.count), count > 0 || (count < 0 && errno == EINTR) {
                if count > 0 { take(buffer.prefix(count)) }
            }
            close(descriptor)
            take([])
        }
    }

    /// The next line for which `matches` holds, skipping others; `nil` when the output ends first. One caller at a
    /// time.
    package func line(where matches: @escaping @Sendable (String) -> Bool) async -> String? {
        await withCheckedContinuation { continuation in
            state.withLock { state in
                precondition(state.waiter == nil, "one test at a time waits for a line of an output")
                state.waiter = Waiter(matches: matches, continuation: continuation)
                TextStream.answer(&state)
            }
        }
    }

    /// The output up to and including `text`, even within a line; `nil` when the output ends first.
    package func text(upTo text: String) async -> String? {
        await withCheckedContinuation { continuation in
            state.withLock { state in
                precondition(state.waiter == nil, "one test at a time waits for a text of an output")
                state.waiter = Waiter(matches: { $0.contains(text) }, takesOpenLines: true, continuation: continuation)
                TextStream.answer(&state)
            }
        }
    }

    /// The complete output, once it has ended.
    package func text() async -> String {
        await end.value
        return state.withLock { String(decoding: $0.bytes, as: UTF8.self) }
    }

    private func take(_ bytes: ArraySlice<UInt8>) {
        state.withLock { state in
            state.bytes += bytes
            state.hasEnded = bytes.isEmpty
            TextStream.answer(&state)
        }
        if bytes.isEmpty { end.resolve(()) }
    }

    private static func answer(_ state: inout State) {
        guard let waiter = state.waiter else { return }
        while let newline = state.bytes[state.unread...].firstIndex(of: UInt8(ascii: "\n")) {
            let line = String(decoding: state.bytes[state.unread..<newline], as: UTF8.self)
            state.unread = newline + 1
            guard waiter.matches(line) else { continue }
            state.waiter = nil
            waiter.continuation.resume(returning: line)
            return
        }
        let rest = String(decoding: state.bytes[state.unread...], as: UTF8.self)
        if waiter.takesOpenLines, waiter.matches(rest) {
            state.unread = state.bytes.count
            state.waiter = nil
            waiter.continuation.resume(returning: rest)
            return
        }
        guard state.hasEnded else { return }
        state.waiter = nil
        waiter.continuation.resume(returning: nil)
    }
}
