import FaultProfile
import Units

/// The clocks of a link at one moment, in nanoseconds.
struct LinkTime {
    var age: Int64 = 0
    /// The time on the proxy's clock; below zero before its start.
    var clock: Int64 = 0
}

/// The inputs of a call to the stages of a link, and their outputs beside the stream's progress.
struct StageContext {
    /// The time.
    let now: Moment
    /// When the new bytes came, for the first stage that holds bytes; `now` for later ones. Never after `now`.
    var arrival: Moment
    /// How far the stream may have come after the stages so far.
    var progress: StreamProgress
    /// The offset up to which bytes may be taken in; `nil` before a stage that holds bytes.
    var readEnd: Int64?
    /// Whether a sender's buffer limits what is taken in, whatever later stages have room for.
    private var isBuffered = false
    var time = LinkTime()
    /// The age of the connection, in nanoseconds.
    var age: Int64 { time.age }
    /// Whether the link stands still: nothing enters it, and what a queue in it could carry meanwhile is lost.
    var isStill = false
    let delivered: Int64
    /// The bytes delivered or, with a delay line, in the delay line.
    let settled: Int64
    /// The available end in front of the first stage.
    var waiting = Int64.max
    /// When the last rate lets bytes come.
    var feed: Feed?
    /// The time that busy rates catch up on, see `Lateness`.
    var catchUp = CatchUp()
    /// Whether the stage's fault is on.
    var isActive = true
    /// How far the stream had passed this stage at the last call.
    var passed: Int64 = 0
    /// The earliest wake time that a stage has asked for.
    private(set) var wake = Moment.distantFuture
    /// The offset up to which this stage, which holds bytes, has room.
    var takeLimit = Int64.max
    /// The offset up to which bytes may be written at a time.
    private(set) var writeLimit = Int64.max
    /// The number of positions that the stage remembers, set by its call.
    var rememberedPositions = 0
    /// Set by a stage that may act when its window opens, even if no bytes wait.
    var needsWindowWake = false
    /// Set by a stage that lets nothing out of the link for now.
    var isPaused = false
    /// Set by a stage that nothing will ever pass again, not even the end of the stream.
    var isBlackholed = false
    /// Set by a stage whose fault drops the bytes that come, so they needn't wait for room.
    var isDiscarding = false
    /// When a stage closes the connection, whatever the link holds.
    private(set) var closeDue = Moment.distantFuture
    /// The offset at which a fault ends the stream, and whether one closes the connection: now, or when the silence
    /// that holds it is over. Set after the last stage: to read them from `StageChain` copies it, with a count of
    /// references for each of its parts.
    var stop: Int64?
    var isClosing = false
    /// Bytes that rates lost because calls came too late.
    private(set) var lostBytes: Int64 = 0
    /// Whether the stage closes the connection now.
    private(set) var closes = false
    /// Whether the stage has set any of the following.
    private(set) var hasActed = false
    /// What the stage did for the first time.
    var effect: FaultEvent.Effect? { didSet { hasActed = true } }
    /// The offset of the effect, if a position decided and not the clock.
    var effectOffset: Int64? { didSet { hasActed = true } }
    /// The target in a message, if the offset counts in messages.
    var effectPlace: MessageAim.Target? { didSet { hasActed = true } }
    /// Whether the journal has the offset of `cut`.
    var hasOffset = true
    /// Where and how the stage ended the stream.
    var cut: (offset: Int64, ending: Ending)? { didSet { hasActed = true } }
    /// The request that the proxy answers, before which the stage ended the stream.
    var answer: (position: Int64, number: Int64)? { didSet { hasActed = true } }

    init(_ progress: StreamProgress, now: Moment, arrival: Moment, delivered: Int64, settled: Int64) {
        self.progress = progress
        self.now = now
        self.arrival = arrival
        self.delivered = delivered
        self.settled = settled
    }

    /// Prepares the call of the next stage.
    mutating func begin(isActive: Bool, passed: Int64) {
        self.isActive = isActive
        self.passed = passed
        takeLimit = .max
    }

    /// Clears what the stage did.
    mutating func forgetEvent() {
        effect = nil
        effectOffset = nil
        effectPlace = nil
        cut = nil
        hasOffset = true
        closes = false
        answer = nil
        hasActed = false
    }

    /// Limits what is taken in by the room of a stage that holds bytes.
    mutating func hold(_ availableEnd: Int64, upTo limit: Int64, isSender: Bool) {
        if isBuffered { return }
        readEnd = min(readEnd ?? availableEnd, limit)
        isBuffered = isSender && limit < .max
    }

    mutating func limitWrites(to offset: Int64) {
        if offset < writeLimit { writeLimit = offset }
    }

    mutating func lose(_ bytes: Int64) { lostBytes = lostBytes.addingSaturated(bytes) }

    mutating func close() {
        closes = true
        hasActed = true
    }

    /// Asks for a call at `moment`, to close the connection then.
    mutating func close(at moment: Moment) {
        closeDue = min(closeDue, moment)
        wake(at: moment)
    }

    mutating func wake(at moment: Moment) {
        if moment < wake { wake = moment }
    }
}
