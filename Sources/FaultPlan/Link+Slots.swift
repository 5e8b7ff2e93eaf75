import FaultProfile
import Units

extension Link {
    /// The stage of one fault, and when it is on.
    struct Slot: Sendable {
        let fault: Int
        /// The order among the stages, see `StageRank`.
        let rank: Int
        private(set) var isAlwaysOpen: Bool
        let traits: StageTraits
        /// Whether the stage has passed everything, and does nothing until more comes.
        private var isResting = false
        /// How far the stream has entered and left the stage.
        var entered: Int64 = 0
        private(set) var passed: Int64 = 0
        private var rememberedPositions = 0
        var stage: Stage
        /// The messages that the fault is narrowed to.
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

        var holds: Bool { traits.holds }

        /// Whether the stage is a delay that may fall while bytes are in it. That of a fault narrowed to messages falls with
        /// each message, which isn't the link's matter.
        var mayFall: Bool {
            guard gate == nil else { return false }
            return switch traits.delayFalls {
            case .never: false
            case .withFault: !isAlwaysOpen
            case .atTimes: true
            }
        }

        /// Whether the fault is on.
        func isOn(at now: Moment, _ time: LinkTime, phase: Int?) -> Bool {
            isAlwaysOpen || window.contains(at: now, age: time.age, currentPhase: phase)
        }

        var remembered: Int { rememberedPositions + (gate?.count ?? 0) }

        /// Passes a position to the gate and the stage.
        mutating func note(_ mark: Mark) {
            gate?.note(mark)
            rememberedPositions = stage.note(mark)
        }

        /// Begins in the middle of a stream, with everything before `position` passed.
        mutating func begin(at position: Int64) {
            (entered, passed) = (position, position)
            stage.begin(at: position)
        }

        /// Takes the window of another generation.
        mutating func apply(_ window: Window) {
            self.window = window
            isAlwaysOpen = window.isAlways
            isResting = false
        }

        /// Withdraws an end of the stream after `position`, made by a fault that is gone.
        mutating func withdrawEnd(after position: Int64) {
            entered = min(entered, position)
            passed = min(passed, position)
            stage.withdrawEnd(after: position)
        }

        /// Whether the stage would pass `progress` unchanged, so it needn't be called.
        func isIdle(at progress: StreamProgress) -> Bool {
            isResting && progress.position == passed && progress.availableEnd == passed && !progress.isThrottled
        }

        mutating func advance(_ progress: StreamProgress, isSelected: Bool, phase: Int?, _ context: inout StageContext)
            -> StreamProgress
        {
            context.begin(isActive: isSelected && isOn(at: context.now, context.time, phase: phase), passed: passed)
            let output = stage.advance(progress, &context)
            passed = output.position
            rememberedPositions = context.rememberedPositions
            isResting =
                traits.isIdleWhenDrained && isAlwaysOpen && gate == nil && output == progress
                && progress.availableEnd == progress.position && !progress.isThrottled
            return output
        }
    }

    /// A fault that changes bytes, and when it is on.
    struct AlterSlot: Sendable {
        let fault: Int
        private(set) var window: Window
        var alterer: Alterer
        /// The messages that the fault is narrowed to, in source bytes.
        var gate: MessageGate?
        /// Whether the fault removes or inserts bytes.
        let drops: Bool
        let inserts: Bool
        let hasRate: Bool
        /// Whether the fault acts at a rate and is off at times.
        private(set) var spares: Bool
        private(set) var isSuspended = false
        /// The offset of the next byte to change; `Int64.max` while the fault is off.
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

        /// Takes the window of another generation.
        mutating func apply(_ window: Window) {
            self.window = window
            spares = hasRate && !(window.isAlways && gate == nil)
            if !spares, isSuspended {
                isSuspended = false
                alterer.skipSuspended()
            }
        }

        /// Passes the messages that end at or before `position`; `false` if there are none.
        mutating func pass(_ position: Int64) -> Bool {
            guard let end = gate?.pass(position) else { return false }
            alterer.messageEnded(at: end)
            return true
        }

        /// The order of faults at one offset: remove, change, insert.
        var order: Int { drops ? 0 : inserts ? 2 : 1 }

        /// Whether the fault acts at its next offset once bytes have come up to `end`. The message of the byte at `end`
        /// is unknown.
        func isReached(by end: Int64) -> Bool { next < end || next == end && inserts && gate == nil }

        /// Updates whether the fault is on at `now`, and where it acts next.
        mutating func look(at now: Moment, age: Int64, phase: Int?, vanished: Int64) {
            if spares {
                isSuspended = !window.contains(at: now, age: age, currentPhase: phase)
                if !isSuspended { alterer.skipSuspended() }
            }
            lookUpNext(vanished: vanished)
        }

        /// Updates the offset of the next byte to change.
        mutating func lookUpNext(vanished: Int64) {
            next = isSuspended ? .max : alterer.next(vanished: vanished)
        }
    }
}
