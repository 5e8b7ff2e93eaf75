import FaultProfile
import Units

extension Link {
    /// One fault's stage and when it is on.
    struct Slot: Sendable {
        let fault: Int
        /// Whether the window is open at all times.
        let isAlwaysOpen: Bool
        /// Whether the stage takes bytes in before it lets them out.
        let holds: Bool
        /// Whether the stage is a rate, see `Stage.isRate`.
        let isRate: Bool
        /// Whether the stage has let pass all that came, and will do nothing before more comes.
        private var isResting = false
        /// How far the stream has come into the stage, and out of it.
        var entered: Int64 = 0
        private(set) var passed: Int64 = 0
        var stage: Stage
        /// The messages that the fault is narrowed to, if any.
        var gate: MessageGate?
        let window: Window

        init(fault: Int, window: Window, stage: Stage, gate: MessageGate? = nil) {
            self.fault = fault
            self.window = window
            self.stage = stage
            self.gate = gate
            isAlwaysOpen = window.isAlways
            holds = stage.holds
            isRate = stage.isRate
        }

        /// Whether the stage needn't be asked with the stream at `reach`: it would let it pass as it is.
        func rests(at reach: Reach) -> Bool {
            isResting && reach.position == passed && reach.horizon == passed && !reach.isThrottled
        }

        mutating func advance(_ reach: Reach, isPicked: Bool, phase: Int?, _ visit: inout Visit) -> Reach {
            visit.begin(
                isActive: isPicked
                    && (isAlwaysOpen || window.contains(at: visit.now, age: visit.age, currentPhase: phase)),
                passed: passed
            )
            let passing = stage.advance(reach, &visit)
            passed = passing.position
            isResting =
                stage.restsBehindAll && isAlwaysOpen && gate == nil && passing == reach
                && reach.horizon == reach.position && !reach.isThrottled
            return passing
        }
    }

    /// One fault that changes bytes, and when it is on.
    struct AlterSlot: Sendable {
        let fault: Int
        let window: Window
        var alterer: Alterer
        /// The messages that the fault is narrowed to, if any, in bytes of the source.
        var gate: MessageGate?
        /// Whether the fault strikes at a rate, and is off at times.
        let spares: Bool
        /// Whether it spares what passes now.
        private(set) var isSparing = false
        /// The offset of the next byte that it changes, as it was last looked up; beyond all others while it spares them.
        private(set) var next = Int64.max

        init(fault: Int, window: Window, alterer: Alterer, gate: MessageGate?) {
            self.fault = fault
            self.window = window
            self.alterer = alterer
            self.gate = gate
            spares = alterer.hasRate && !(window.isAlways && gate == nil)
        }

        /// Looks whether the fault is on at `now`, and where it strikes next.
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
