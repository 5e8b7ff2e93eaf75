/// Decides when to reread the files of a profile, from their stamps at each poll.
///
/// An editor may write a file in several steps, so problems are reported only if nothing has changed since the previous
/// poll. Changes within the clock's resolution leave the stamp unchanged, so after a change the files are read once
/// more.
package struct ProfileWatch {
    /// The polling interval: 40 ms, so that a change takes effect within 100 ms.
    package static let interval = Duration.milliseconds(40)

    /// The result of a poll.
    package enum Step: Hashable {
        case nothing
        /// Read the files; report problems if they are certain to persist.
        case read(reportsProblems: Bool)
    }

    private var seen: [FileStamp?]
    private var isSettled = true

    /// A watch over files that were just read, with these stamps.
    package init(_ stamps: [FileStamp?]) {
        seen = stamps
    }

    /// Polls with the files' current stamps.
    package mutating func poll(_ stamps: [FileStamp?]) -> Step {
        let isSame = stamps == seen
        guard !isSame || !isSettled else { return .nothing }
        seen = stamps
        isSettled = isSame
        return .read(reportsProblems: isSame)
    }

    /// Watches other files, which were read with these stamps.
    package mutating func follow(_ stamps: [FileStamp?]) { seen = stamps }
}
