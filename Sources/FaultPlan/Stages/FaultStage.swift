import FaultProfile
import Units

/// The behaviour of a fault on a link: how far the stream may have come after it by now.
///
/// A stage must give the same answer for the same position and time, whatever the read sizes, however late and however
/// often it is called. Only `advance` is required.
protocol FaultStage: Sendable {
    /// The constant traits of the stage.
    var traits: StageTraits { get }
    /// How late the stage may be called, in nanoseconds, and still catch up.
    var latenessAllowance: Int64 { get }
    /// The work so far, see `Link.work`.
    var work: Int { get }
    /// The number of positions that the stage remembers.
    var rememberedPositions: Int { get }

    /// How late the stage may be called at a given time if other stages have a rate as well.
    func rateConstantFor(after now: Moment, _ time: LinkTime) -> Int64
    /// Until when nothing may enter the link at `now`, because the delay of the stage has fallen and its bytes are still on
    /// their way; `nil` if bytes may enter. To be called again then.
    func standstill(at now: Moment, _ time: LinkTime, isActive: Bool) -> Moment?
    /// Maps input progress to output progress.
    mutating func advance(_ progress: StreamProgress, _ context: inout StageContext) -> StreamProgress
    /// Takes a position found in the stream.
    mutating func note(_ mark: Mark)
    /// Tells a rate how far all stages together let the stream come.
    mutating func settle(at availableEnd: Int64, now: Moment)
    /// Omits effects that only show in the bytes, see `Link.simplify`. `isAlone` says that the link has no other stage.
    mutating func simplify(isAlone: Bool)
    /// Begins in the middle of a stream, with everything before `position` passed. Called before `advance`.
    mutating func begin(at position: Int64)
    /// Withdraws an end of the stream after `position`, made by another stage that is gone.
    mutating func withdrawEnd(after position: Int64)
    /// Releases what the stage shares with other links.
    mutating func leave()
}

extension FaultStage {
    var traits: StageTraits { StageTraits() }
    var latenessAllowance: Int64 { .max }
    var work: Int { 0 }
    var rememberedPositions: Int { 0 }

    func rateConstantFor(after now: Moment, _ time: LinkTime) -> Int64 { .max }
    func standstill(at now: Moment, _ time: LinkTime, isActive: Bool) -> Moment? { nil }
    mutating func note(_ mark: Mark) {}
    mutating func settle(at availableEnd: Int64, now: Moment) {}
    mutating func simplify(isAlone: Bool) {}
    mutating func begin(at position: Int64) {}
    mutating func withdrawEnd(after position: Int64) {}
    mutating func leave() {}
}

/// The constant traits of a stage.
struct StageTraits {
    /// Whether the stage takes bytes in before they may leave.
    var holds = false
    /// Whether the stage models a sender, whose held bytes the receiver hasn't taken.
    var isSender = false
    /// Whether the stage decides about bytes when they enter it.
    var decidesOnEntry = false
    /// Whether the stage only bounds writes.
    var onlyBoundsWrites = false
    /// Whether arrival times matter to the stage.
    var countsFromArrival = false
    /// Whether the stage needs the number of bytes that wait in front of the link.
    var measuresAvailability = false
    /// Whether the stage needs no calls once everything has passed, until more comes.
    var isIdleWhenDrained = false
    /// Whether the pace of bytes matters to the stage.
    var isPaced = false
    /// Whether the stage is a rate, which has no burst allowance while other stages are slower.
    var isRate = false
    /// Whether the stage is a delay, which may fall: always, or only as its fault goes off.
    var delayFalls: DelayFalls = .never
    /// How far apart the delays of the stage may lie, in nanoseconds; 0 if all are the same. Bytes that come at one moment
    /// share one.
    var delaySpread: Int64 = 0
}

/// When a delay falls, so that bytes would overtake those before them if they could.
enum DelayFalls {
    case never
    /// As the fault goes off.
    case withFault
    /// At times, and as the fault goes off.
    case atTimes
}

/// A call to a stage of any kind.
///
/// A type and no closure, so that the `switch` of `Stage` is specialized for each call.
protocol StageCall {
    associatedtype Argument
    associatedtype Context
    associatedtype Answer

    static func call(_ stage: inout some FaultStage, _ argument: Argument, _ context: inout Context) -> Answer
}

extension Stage {
    private enum Traits: StageCall {
        static func call(_ stage: inout some FaultStage, _: Void, _: inout Void) -> StageTraits { stage.traits }
    }

    private enum Advance: StageCall {
        static func call(_ stage: inout some FaultStage, _ progress: StreamProgress, _ context: inout StageContext)
            -> StreamProgress
        {
            let output = stage.advance(progress, &context)
            context.rememberedPositions = stage.rememberedPositions
            return output
        }
    }

    private enum Note: StageCall {
        static func call(_ stage: inout some FaultStage, _ mark: Mark, _: inout Void) -> Int {
            stage.note(mark)
            return stage.rememberedPositions
        }
    }

    private enum Settle: StageCall {
        static func call(_ stage: inout some FaultStage, _ at: (availableEnd: Int64, now: Moment), _: inout Void) {
            stage.settle(at: at.availableEnd, now: at.now)
        }
    }

    private enum Simplify: StageCall {
        static func call(_ stage: inout some FaultStage, _ isAlone: Bool, _: inout Void) -> Int64 {
            stage.simplify(isAlone: isAlone)
            return stage.latenessAllowance
        }
    }

    private enum RateConstantFor: StageCall {
        static func call(_ stage: inout some FaultStage, _ at: (now: Moment, time: LinkTime), _: inout Void) -> Int64 {
            stage.rateConstantFor(after: at.now, at.time)
        }
    }

    private enum Standstill: StageCall {
        static func call(
            _ stage: inout some FaultStage,
            _ at: (now: Moment, time: LinkTime, isActive: Bool),
            _: inout Void
        ) -> Moment? {
            stage.standstill(at: at.now, at.time, isActive: at.isActive)
        }
    }

    private enum Work: StageCall {
        static func call(_ stage: inout some FaultStage, _: Void, _: inout Void) -> Int { stage.work }
    }

    private enum Begin: StageCall {
        static func call(_ stage: inout some FaultStage, _ position: Int64, _: inout Void) {
            stage.begin(at: position)
        }
    }

    private enum WithdrawEnd: StageCall {
        static func call(_ stage: inout some FaultStage, _ position: Int64, _: inout Void) {
            stage.withdrawEnd(after: position)
        }
    }

    private enum Leave: StageCall {
        static func call(_ stage: inout some FaultStage, _: Void, _: inout Void) { stage.leave() }
    }

    private mutating func ask<Call: StageCall>(_: Call.Type, _ argument: Call.Argument) -> Call.Answer
    where Call.Context == Void {
        var nothing: Void = ()
        return call(Call.self, argument, &nothing)
    }

    // See `FaultStage` for all of these.

    mutating func begin(at position: Int64) { ask(Begin.self, position) }
    mutating func withdrawEnd(after position: Int64) { ask(WithdrawEnd.self, position) }
    mutating func traits() -> StageTraits { ask(Traits.self, ()) }
    mutating func settle(at availableEnd: Int64, now: Moment) { ask(Settle.self, (availableEnd, now)) }
    mutating func work() -> Int { ask(Work.self, ()) }
    mutating func leave() { ask(Leave.self, ()) }

    /// See `FaultStage`; also sets the number of remembered positions in the context.
    mutating func advance(_ progress: StreamProgress, _ context: inout StageContext) -> StreamProgress {
        call(Advance.self, progress, &context)
    }

    /// See `FaultStage`; returns the number of remembered positions.
    mutating func note(_ mark: Mark) -> Int { ask(Note.self, mark) }

    /// See `FaultStage`; returns how late the stage may be called from now on.
    mutating func simplify(isAlone: Bool) -> Int64 { ask(Simplify.self, isAlone) }

    mutating func rateConstantFor(after now: Moment, _ time: LinkTime) -> Int64 {
        ask(RateConstantFor.self, (now, time))
    }

    mutating func standstill(at now: Moment, _ time: LinkTime, isActive: Bool) -> Moment? {
        ask(Standstill.self, (now, time, isActive))
    }
}
