/// When the files of a profile are to be read again, decided by their stamps at each look.
///
/// An editor may write a file in several steps, so a profile that can't be read is only told of when nothing has changed
/// since the look before. What changes within the resolution of the system's clock shows no other stamp, so after a change
/// the files are read once more.
struct ProfileWatch {
    /// The time between two looks: 40 ms, so that a change is in effect within 100 ms.
    static let interval = Duration.milliseconds(40)

    /// What is to be done after a look.
    enum Step: Hashable {
        case nothing
        /// The files are to be read; problems are told where it is certain that they will stay.
        case read(tellsProblems: Bool)
    }

    private var seen: [FileStamp?]
    private var isSettled = true

    /// A watch over files that have just been read, with these stamps.
    init(_ stamps: [FileStamp?]) {
        seen = stamps
    }

    /// The files have these stamps now.
    mutating func look(_ stamps: [FileStamp?]) -> Step {
        let isSame = stamps == seen
        guard !isSame || !isSettled else { return .nothing }
        seen = stamps
        isSettled = isSame
        return .read(tellsProblems: isSame)
    }

    /// Other files are to be watched, which have been read with these stamps.
    mutating func follow(_ stamps: [FileStamp?]) { seen = stamps }
}
