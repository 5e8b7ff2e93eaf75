import FaultProfile
import Units

/// What a stage is told when it is asked, and what it says beside how far the stream may come.
///
/// One visit goes through all stages of a link, and gathers what they say.
struct StageContext {
    /// The time.
    let now: Moment
    /// When the bytes that are new to the first stage that holds them came; never after `now`, and behind it `now`.
    var arrival: Moment
    /// The age of the connection, in nanoseconds.
    var age: Int64 = 0
    /// The bytes that have left the link.
    let delivered: Int64
    /// The bytes that have left the link or, where it has a delay line, have entered it.
    let settled: Int64
    /// How far the stream could come if no stage held it back.
    var waiting = Int64.max
    /// From when on a busy rate makes up for what it could have let pass, in nanoseconds, and whether the link was asked
    /// late a moment ago, see `Lateness`.
    var catchUp = CatchUp()
    /// Whether the stage's fault is on.
    var isActive = true
    /// How far the stream had come behind this stage when it was last asked.
    var passed: Int64 = 0
    /// When to ask again at the latest, as far as the stages so far know.
    private(set) var wake = Moment.distantFuture
    /// Up to which offset the link may take bytes in, as far as this stage, which holds them, has room.
    var takeLimit = Int64.max
    /// Up to which offset bytes may be handed to the sink at a time.
    private(set) var writeLimit = Int64.max
    /// The positions in messages that the stage remembers, set when it has been asked.
    var rememberedPositions = 0
    /// Set by a stage that could act as soon as its window opens, although nothing waits to pass.
    var needsWindowWake = false
    /// Set by a stage that lets nothing out of the link.
    var isPaused = false
    /// Set by a stage that nothing will pass any more, the end of the stream included.
    var isBlackholed = false
    /// The bytes of rates that were due and are lost, because the link was asked too late.
    private(set) var lostBytes: Int64 = 0
    /// Whether the stage did something that is to be kept: what is said from here on.
    private(set) var hasActed = false
    /// What the stage did for the first time, if anything.
    var effect: FaultEvent.Effect? { didSet { hasActed = true } }
    /// Where it did, if its position decided that and not the clock.
    var effectOffset: Int64? { didSet { hasActed = true } }
    /// The same in a message, where that is what counts.
    var effectPlace: MessageAim.Target? { didSet { hasActed = true } }
    /// Where, and how, the stage ended the stream.
    var cut: (offset: Int64, how: Cut.Ending)? { didSet { hasActed = true } }
    /// In front of which request the stage ended the stream, for an answer in the server's place.
    var answer: (position: Int64, number: Int64)? { didSet { hasActed = true } }

    init(now: Moment, arrival: Moment, delivered: Int64, settled: Int64) {
        self.now = now
        self.arrival = arrival
        self.delivered = delivered
        self.settled = settled
    }

    /// Goes on to the next stage.
    mutating func begin(isActive: Bool, passed: Int64) {
        self.isActive = isActive
        self.passed = passed
        takeLimit = .max
    }

    /// Forgets what the stage did, once it is kept.
    mutating func forgetEvent() {
        effect = nil
        effectOffset = nil
        effectPlace = nil
        cut = nil
        answer = nil
        hasActed = false
    }

    /// Lets bytes be handed to the sink up to `offset` at a time.
    mutating func limitWrites(to offset: Int64) {
        if offset < writeLimit { writeLimit = offset }
    }

    /// Counts bytes of a rate that nothing makes up for.
    mutating func lose(_ bytes: Int64) { lostBytes = lostBytes.addingSaturated(bytes) }

    /// Asks for another visit at `moment`.
    mutating func wake(at moment: Moment) {
        if moment < wake { wake = moment }
    }
}
