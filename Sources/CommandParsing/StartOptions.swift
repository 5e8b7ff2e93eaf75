import ArgumentParser
import FoundationEssentials
import OperatingSystem
import Units

/// The start of the proxies' clocks.
package struct StartOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "When the clock of the phases starts, so that several proxies act together: a time of RFC 3339, past or "
                + "to come, or from now, as +5s.",
            valueName: "time"
        ),
        transform: StartTime.init(argument:)
    )
    package var startAt: StartTime?

    package init() {}

    /// The start of the clock; `nil` if not given. May differ between calls.
    package var moment: Moment? { startAt?.moment(at: MonotonicClock.now, WallClockTime.now) }
}

/// A start time: wall clock, or relative to now.
package enum StartTime {
    case at(WallClockTime)
    case after(Duration)

    /// Reads a time of RFC 3339, or one from now.
    package init(argument: String) throws {
        do throws(UnitError) {
            if argument.hasPrefix("+") {
                self = .after(try Duration(parsing: String(argument.dropFirst())))
            } else {
                self = .at(try WallClockTime(parsing: argument))
            }
        } catch {
            let or = argument.hasPrefix("+") ? "" : "; or from now, such as “+5s”"
            throw ValidationError("\(error.problem): \(error.remedy)\(or)")
        }
    }

    /// The moment, given `now` on both clocks.
    package func moment(at now: Moment, _ wallClock: WallClockTime) -> Moment {
        switch self {
        case .at(let time): now.advanced(byNanoseconds: time.nanoseconds - wallClock.nanoseconds)
        case .after(let duration): now + duration
        }
    }
}

extension WallClockTime {
    /// The current wall-clock time.
    package static var now: WallClockTime {
        WallClockTime(nanoseconds: Int64(Date().timeIntervalSince1970 * 1e9))
    }
}
