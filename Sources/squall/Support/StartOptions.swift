import ArgumentParser
import EventLoop
import Foundation
import Units

/// When the clock of a proxy starts, as the command line says it.
struct StartOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "When the clock of the phases starts, so that several proxies act together: a time of RFC 3339, past or "
                + "to come, or from now, as +5s.",
            valueName: "time"
        ),
        transform: StartTime.init(argument:)
    )
    var startAt: StartTime?

    /// The moment at which the clock starts; `nil` when nothing was said. Asked twice, it may answer otherwise.
    var moment: Moment? { startAt?.moment(at: MonotonicClock.now, WallClockTime.now) }
}

/// A start that is given by the clock on the wall, or from now.
enum StartTime {
    case at(WallClockTime)
    case after(Duration)

    init(argument: String) throws {
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

    /// The moment that is meant, where it is `now` on one clock and `wallClock` on the other.
    func moment(at now: Moment, _ wallClock: WallClockTime) -> Moment {
        switch self {
        case .at(let time): now.advanced(byNanoseconds: time.nanoseconds - wallClock.nanoseconds)
        case .after(let duration): now + duration
        }
    }
}

extension WallClockTime {
    /// The time on the machine's clock.
    static var now: WallClockTime {
        WallClockTime(nanoseconds: Int64(Date().timeIntervalSince1970 * 1e9))
    }
}
