/// The receiver of a virtual sender: when it acknowledges and how much it has room for, as on Linux. Times are in nanoseconds.
///
/// Every other packet is acknowledged, or one that has waited for 40 ms. A packet is acknowledged by itself at the start,
/// while the receive window grows, around missing bytes, and if it ends a burst or a write, which carries PSH.
struct VirtualReceiver {
    /// The most bytes that it has room for: 3.75 MB, of which as many fit into a send buffer of 4 MiB with what Linux adds.
    static let largestWindow: Int64 = 3_750_000

    /// How long a packet waits for another one: 40 ms, and half of a tick of the system's clock.
    private static let delay: Int64 = 42_000_000
    /// The duplicate acknowledgements that are sent at once, and how long the others wait for more: 3, and 1 ms.
    private static let promptDuplicates = 3
    private static let duplicateDelay: Int64 = 1_000_000
    /// The packets that are acknowledged by themselves at the start.
    private static let promptAtStart = 16
    /// The window at the start, and what it grows by for each byte that comes.
    private static let initialWindow: Int64 = 65_536
    private static let growth: Int64 = 2
    /// The window for each byte that comes in order in a round trip. Linux allows for a rate that doubles.
    private static let windowPerRound: Int64 = 6

    private let roundTrip: Int64
    private let largest: Int64
    /// The bytes that it has room for, behind those in order.
    private(set) var window: Int64
    /// What the window grows to.
    private var aim: Int64
    /// The offset up to which bytes are there, and whether more are behind a gap.
    private var received: Int64
    private var hasGap = false
    /// The duplicate acknowledgements since bytes last came in order.
    private var duplicates = 0
    /// The packets that wait to be acknowledged, and until when.
    private var waiting = 0
    private var due = Int64.min
    private var prompt = VirtualReceiver.promptAtStart
    /// When the round trip began that is measured, and up to where bytes were there.
    private var roundStart = Int64.min
    private var roundOffset: Int64

    /// Begins a connection at an offset of the stream, with room for at most `largest` bytes.
    init(at offset: Int64, roundTrip: Int64, largest: Int64) {
        self.roundTrip = roundTrip
        self.largest = largest
        (received, roundOffset) = (offset, offset)
        window = min(Self.initialWindow, largest)
        aim = window
    }

    /// Receives a packet; returns its ACK deadline if no earlier ACK is pending.
    ///
    /// - Parameters:
    ///   - end: the offset up to which bytes are there with it.
    ///   - hasGap: whether bytes are missing that were sent before it.
    ///   - isPushed: whether it ends a burst or a write.
    mutating func receive(_ bytes: Int64, upTo end: Int64, hasGap: Bool, isPushed: Bool, at moment: Int64) -> Int64 {
        let isPrompt = grow(bytes, at: moment)
        if due <= moment { waiting = 0 }
        let (hadGap, isDuplicate) = (self.hasGap, end == received)
        self.hasGap = hasGap
        received = end
        guard !isDuplicate else {
            duplicates += 1
            waiting = 0
            return moment.addingSaturated(duplicates > Self.promptDuplicates ? Self.duplicateDelay : 0)
        }
        duplicates = 0
        waiting += 1
        guard !isPrompt, !hadGap, !hasGap, !isPushed, waiting < 2 else {
            waiting = 0
            return moment
        }
        due = moment.addingSaturated(Self.delay)
        return due
    }

    /// Grows the window. Returns whether the packet is acknowledged by itself for that, or because few came so far.
    private mutating func grow(_ bytes: Int64, at moment: Int64) -> Bool {
        if moment.subtractingSaturated(roundStart) >= roundTrip {
            aim = min(max(aim, (received - roundOffset).multipliedSaturated(by: Self.windowPerRound)), largest)
            (roundStart, roundOffset) = (moment, received)
        }
        if window < aim {
            window = min(window + bytes * Self.growth, aim)
            return true
        }
        guard prompt > 0 else { return false }
        prompt -= 1
        return true
    }
}
