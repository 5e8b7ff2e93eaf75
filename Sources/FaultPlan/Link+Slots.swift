import FaultProfile
import Units

extension Link {
    /// One fault's stage and when it is on.
    struct Slot: Sendable {
        /// The fault's identity.
        let fault: Int
        /// The place among the stages, see `Plan.stage`.
        let rank: Int
        /// Whether the window is open at all times.
        private(set) var isAlwaysOpen: Bool
        /// What the stage is.
        let traits: StageTraits
        /// Whether the stage has let pass all that came, and will do nothing before more comes.
        private var isResting = false
        /// How far the stream has come into the stage, and out of it.
        var entered: Int64 = 0
        private(set) var passed: Int64 = 0
        /// The positions in messages that the stage remembers.
        private var rememberedPositions = 0
        var stage: Stage
        /// The messages that the fault is narrowed to, if any.
        var gate: MessageGate?
        private(set) var window: Window

        init(fault: Int, rank: Int, window: Window, stage: Stage, gate: MessageGate? = nil) {
            self.fault = fault
            self.rank = rank
            self.window = window
            self.stage = stage
            self.gate = gate
            isAlwaysOpen = window.isAlways
            traits = self.stage.traits()
        }

        /// Whether the stage takes bytes in before it lets them out.
        var holds: Bool { traits.holds }

        /// The positions and messages that the stage and its gate remember.
        var remembered: Int { rememberedPositions + (gate?.count ?? 0) }

        /// Tells the gate and the stage of a position that was found in the stream.
        mutating func note(_ mark: Mark) {
            gate?.note(mark)
            rememberedPositions = stage.note(mark)
        }

        /// Begins in the middle of a stream: what has come to `position` has passed already.
        mutating func begin(at position: Int64) {
            (entered, passed) = (position, position)
            stage.begin(at: position)
        }

        /// Goes on in another generation, in which it is on at the times of `window`.
        mutating func follow(_ window: Window) {
            self.window = window
            isAlwaysOpen = window.isAlways
            isResting = false
        }

        /// Forgets an end of the stream that a fault had made behind `position`, and has been lifted.
        mutating func withdrawEnd(behind position: Int64) {
            entered = min(entered, position)
            passed = min(passed, position)
            stage.withdrawEnd(behind: position)
        }

        /// Whether the stage needn't be asked with the stream at `progress`: it would let it pass as it is.
        func isIdle(at progress: StreamProgress) -> Bool {
            isResting && progress.position == passed && progress.availableEnd == passed && !progress.isThrottled
        }

        mutating func advance(_ progress: StreamProgress, isSelected: Bool, phase: Int?, _ context: inout StageContext)
            -> StreamProgress
        {
            context.begin(
                isActive: isSelected
                    && (isAlwaysOpen || window.contains(at: context.now, age: context.age, currentPhase: phase)),
                passed: passed
            )
            let passing = stage.advance(progress, &context)
            passed = passing.position
            rememberedPositions = context.rememberedPositions
            isResting =
                traits.isIdleWhenDrained && isAlwaysOpen && gate == nil && passing == progress
                && progress.availableEnd == progress.position && !progress.isThrottled
            return passing
        }
    }

    /// One fault that changes bytes, and when it is on.
    struct AlterSlot: Sendable {
        /// The fault's identity.
        let fault: Int
        private(set) var window: Window
        var alterer: Alterer
        /// The messages that the fault is narrowed to, if any, in bytes of the source.
        var gate: MessageGate?
        /// Whether bytes vanish, or come in, by it.
        let drops: Bool
        let inserts: Bool
        /// Whether the fault acts at a rate.
        let hasRate: Bool
        /// Whether the fault acts at a rate, and is off at times.
        private(set) var spares: Bool
        /// Whether it spares what passes now.
        private(set) var isSparing = false
        /// The offset of the next byte that it changes, as it was last looked up; beyond all others while it spares them.
        private(set) var next = Int64.max

        init(fault: Int, window: Window, alterer: Alterer, gate: MessageGate?) {
            self.fault = fault
            self.window = window
            self.alterer = alterer
            self.gate = gate
            drops = self.alterer.drops()
            inserts = self.alterer.inserts()
            hasRate = self.alterer.hasRate()
            spares = hasRate && !(window.isAlways && gate == nil)
        }

        /// Goes on in another generation, in which it is on at the times of `window`.
        mutating func follow(_ window: Window) {
            self.window = window
            spares = hasRate && !(window.isAlways && gate == nil)
            if !spares, isSparing {
                isSparing = false
                alterer.skipSpared()
            }
        }

        /// Which of the faults that act at one offset acts first: bytes vanish, are changed, and come in.
        var order: Int { drops ? 0 : inserts ? 2 : 1 }

        /// Whether the fault acts at its next offset, once bytes have come up to `end`. Behind the last of them it isn't known
        /// which message the next one belongs to.
        func isReached(by end: Int64) -> Bool { next < end || next == end && inserts && gate == nil }

        /// Looks whether the fault is on at `now`, and where it acts next.
        mutating func look(at now: Moment, age: Int64, phase: Int?, vanished: Int64) {
            if spares {
                isSparing = !window.contains(at: now, age: age, currentPhase: phase)
                if !isSparing { alterer.skipSpared() }
            }
            lookUpNext(vanished: vanished)
        }

        /// Looks up the next byte, after the alterer or what has vanished has changed.
        mutating func lookUpNext(vanished: Int64) {
            next = isSparing ? .max : alterer.next(vanished: vanished)
        }
    }
}
