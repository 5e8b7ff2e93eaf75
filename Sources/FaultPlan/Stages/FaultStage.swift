import FaultProfile
import Units

/// How a kind of fault acts on a link: a value that says how far the stream may have come behind it by now.
///
/// A stage has to give the same answer for the same position and time, whatever the sizes of reads, however late it is
/// asked, and whether it is asked once or twice. It implements `advance`; all else has a default.
protocol FaultStage: Sendable {
    /// What it is, for good.
    var traits: StageTraits { get }
    /// How late the stage may be asked, in nanoseconds, and still make up for it.
    var latenessAllowance: Int64 { get }
    /// What the stage has worked out so far beside the answers, see `Link.work`.
    var work: Int { get }
    /// The positions in messages that the stage remembers until they have passed.
    var rememberedPositions: Int { get }

    /// How late the stage may be asked at a moment of the link's life where other stages have a rate as well.
    func evenness(after now: Moment, age: Int64) -> Int64
    /// Asks the stage: with the stream at `progress` in front of it, how far has it come behind?
    mutating func advance(_ progress: StreamProgress, _ context: inout StageContext) -> StreamProgress
    /// Tells the stage of a position that was found in the stream.
    mutating func note(_ mark: Mark)
    /// Tells a rate how far all stages together let the stream come, and so how much of it is left unused.
    mutating func settle(at availableEnd: Int64, now: Moment)
    /// Leaves out what only bytes show, see `Link.simplify`.
    mutating func simplify(isBesideRate: Bool)
    /// Begins in the middle of a stream: what has come to `position` has passed already. Called before the first question.
    mutating func begin(at position: Int64)
    /// Forgets an end of the stream behind `position`, which another stage had made and has been lifted.
    mutating func withdrawEnd(behind position: Int64)
    /// Gives back what the stage shares with other links.
    mutating func leave()
}

extension FaultStage {
    var traits: StageTraits { StageTraits() }
    var latenessAllowance: Int64 { .max }
    var work: Int { 0 }
    var rememberedPositions: Int { 0 }

    func evenness(after now: Moment, age: Int64) -> Int64 { .max }
    mutating func note(_ mark: Mark) {}
    mutating func settle(at availableEnd: Int64, now: Moment) {}
    mutating func simplify(isBesideRate: Bool) {}
    // What has come when it is asked first is what a stage goes by.
    mutating func begin(at position: Int64) {}
    mutating func withdrawEnd(behind position: Int64) {}
    mutating func leave() {}
}

/// What a stage is, for as long as it lives.
struct StageTraits {
    /// Whether the stage takes bytes in before it lets them out.
    var holds = false
    /// Whether it stands for the way to a receiver, which has not taken the bytes that the stage holds.
    var isSender = false
    /// Whether it decides about bytes as they enter it, however long they stay.
    var decidesOnEntry = false
    /// Whether bytes pass the stage at once, and only what is written at a time is bounded.
    var onlyBoundsWrites = false
    /// Whether it counts for the stage when bytes came, and not only when they were taken.
    var countsFromArrival = false
    /// Whether it must know if anything waits in front of the link.
    var measuresAvailability = false
    /// Whether, once it has let pass all that came, it does nothing before more comes, however late it is asked.
    var isIdleWhenDrained = false
    /// Whether it matters to the stage how evenly bytes come.
    var isPaced = false
    /// Whether it is a rate, of which nothing is saved up while other stages are slower.
    var isRate = false
}

/// A question to a stage, or something to tell it, whatever stage it is.
///
/// A type instead of a closure: the one `switch` of `Stage` is compiled for each, so that asking costs no more than a
/// `switch` of its own would.
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
            let passing = stage.advance(progress, &context)
            context.rememberedPositions = stage.rememberedPositions
            return passing
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
        static func call(_ stage: inout some FaultStage, _ isBesideRate: Bool, _: inout Void) -> Int64 {
            stage.simplify(isBesideRate: isBesideRate)
            return stage.latenessAllowance
        }
    }

    private enum Evenness: StageCall {
        static func call(_ stage: inout some FaultStage, _ at: (now: Moment, age: Int64), _: inout Void) -> Int64 {
            stage.evenness(after: at.now, age: at.age)
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
            stage.withdrawEnd(behind: position)
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

    /// See `FaultStage`.
    mutating func begin(at position: Int64) { ask(Begin.self, position) }

    /// See `FaultStage`.
    mutating func withdrawEnd(behind position: Int64) { ask(WithdrawEnd.self, position) }

    /// What the stage is, see `FaultStage`.
    mutating func traits() -> StageTraits { ask(Traits.self, ()) }

    /// See `FaultStage`; tells the visit how many positions the stage remembers.
    mutating func advance(_ progress: StreamProgress, _ context: inout StageContext) -> StreamProgress {
        call(Advance.self, progress, &context)
    }

    /// See `FaultStage`; returns how many positions the stage remembers.
    mutating func note(_ mark: Mark) -> Int { ask(Note.self, mark) }

    /// See `FaultStage`.
    mutating func settle(at availableEnd: Int64, now: Moment) { ask(Settle.self, (availableEnd, now)) }

    /// See `FaultStage`; returns how late the stage may be asked from now on.
    mutating func simplify(isBesideRate: Bool) -> Int64 { ask(Simplify.self, isBesideRate) }

    /// See `FaultStage`.
    mutating func evenness(after now: Moment, age: Int64) -> Int64 { ask(Evenness.self, (now, age)) }

    /// See `FaultStage`.
    mutating func work() -> Int { ask(Work.self, ()) }

    /// See `FaultStage`.
    mutating func leave() { ask(Leave.self, ()) }
}
