import FaultProfile
import OperatingSystem
import ProxyEngine
import Synchronization
import Units

/// The story of a demo for the page: captions, and the progress of transfers.
package final class Story: Sendable {
    /// The captions that are kept: 100.
    static let captionLimit = 100
    /// The transfers that are kept: 6.
    static let transferLimit = 6

    /// The progress of a transfer.
    package struct Transfer: Hashable, Sendable {
        package enum State: String, Sendable {
            case running, done, failed
        }

        /// The name, which is unique in a story.
        package var name: String
        package var bytes: Int64
        /// The size in bytes; `nil` until it is known.
        package var total: Int64?
        package var resumptions: Int
        package var state: State

        package init(name: String, bytes: Int64, total: Int64?, resumptions: Int, state: State) {
            (self.name, self.bytes, self.total) = (name, bytes, total)
            (self.resumptions, self.state) = (resumptions, state)
        }
    }

    private struct Content {
        var captions: [JSONText] = []
        var told: UInt64 = 0
        /// In the order of their beginnings, each with the number of its last change.
        var transfers: [(transfer: Transfer, change: UInt64)] = []
        var changes: UInt64 = 0
    }

    /// The captions and changes that a reader has.
    struct Position {
        fileprivate var told: UInt64 = 0
        fileprivate var changes: UInt64 = 0
    }

    private let content = Mutex(Content())
    private let reader = FirstValue<Void>()

    package init() {}

    package func tell(_ caption: String) {
        let time = JournalClock.shared.time(of: MonotonicClock.now)
        content.withLock { content in
            content.told += 1
            content.captions.append(.object([("time", .text(time)), ("text", .text(caption))]))
            if content.captions.count > Story.captionLimit { content.captions.removeFirst() }
        }
    }

    /// Shows the progress of a transfer in the place of what was shown of it.
    package func show(_ transfer: Transfer) {
        content.withLock { content in
            let index = content.transfers.firstIndex { $0.transfer.name == transfer.name }
            if let index, content.transfers[index].transfer == transfer { return }
            content.changes += 1
            if let index {
                content.transfers[index] = (transfer, content.changes)
            } else {
                content.transfers.append((transfer, content.changes))
                if content.transfers.count > Story.transferLimit { content.transfers.removeFirst() }
            }
        }
    }

    /// Returns when an event stream has been opened, or `endWait` was called.
    package func waitForReader() async { await reader.value }

    package func endWait() { reader.resolve(()) }

    /// The captions and the transfers after `position`, oldest first; `position` is at the end then.
    func news(after position: inout Position) -> (captions: [JSONText], transfers: [JSONText]) {
        content.withLock { content in
            defer { position = Position(told: content.told, changes: content.changes) }
            let captions = content.captions.suffix(Int(clamping: content.told - position.told))
            let transfers = content.transfers.filter { $0.change > position.changes }
            return (Array(captions), transfers.map(\.transfer.json))
        }
    }
}

extension Story.Transfer {
    /// The transfer as a member of responses.
    fileprivate var json: JSONText {
        .object([
            ("name", .text(name)), ("bytes", .signed(bytes)), ("total", total.map(JSONText.signed) ?? .null),
            ("resumptions", .signed(Int64(resumptions))), ("state", .text(state.rawValue)),
        ])
    }
}
