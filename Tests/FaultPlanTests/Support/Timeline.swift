import FaultPlan
import FaultProfile
import SimulatedLink
import Testing
import Units

/// What leaves a link, drawn as text, when `arrivals` come to it. A character is a tick.
///
/// `-` nothing; a digit so many bytes; `|` an orderly end; `!` a reset of the source; `x` a cut by close,
/// `X` by reset, `s` by silence; `(2|)` several of these in one tick. The result is at least as long as `arrivals`, or
/// `ticks` long where a link is watched that never comes to its end.
func timeline(
    of link: Link,
    arrivals: String,
    tick: Duration = .milliseconds(1),
    ticks: Int? = nil,
    readSize: Int64 = 1 << 20
) -> String {
    let (list, length) = Marbles.arrivals(arrivals, tick: tick.nanoseconds)
    let shownTicks = ticks ?? length
    var simulation = LinkSimulation(link, arrivals: list, readSize: readSize)
    if let ticks {
        simulation.run(until: Moment(nanoseconds: Int64(ticks) * tick.nanoseconds - 1))
    } else {
        simulation.run()
    }
    return Marbles.text(of: simulation.deliveries, tick: tick.nanoseconds, atLeast: shownTicks)
}

enum Marbles {
    /// The arrivals that a text draws, and the ticks that it is long.
    static func arrivals(_ text: String, tick: Int64) -> (list: [LinkSimulation.Arrival], ticks: Int) {
        var list: [LinkSimulation.Arrival] = []
        var ticks = 0
        var isGrouped = false
        for character in text {
            let moment = Moment(nanoseconds: Int64(ticks) * tick)
            switch character {
            case "(": isGrouped = true
            case ")": isGrouped = false
            case "|": list.append(.init(at: moment, bytes: 0, end: .finish))
            case "!": list.append(.init(at: moment, bytes: 0, end: .reset))
            case "-": break
            case let digit:
                guard let bytes = digit.wholeNumberValue else {
                    Issue.record("\(digit) is no mark of a timeline")
                    continue
                }
                list.append(.init(at: moment, bytes: Int64(bytes)))
            }
            if !isGrouped { ticks += 1 }
        }
        return (list, ticks)
    }

    /// The text that draws `deliveries`.
    static func text(of deliveries: [LinkSimulation.Delivery], tick: Int64, atLeast ticks: Int) -> String {
        var cells = [(bytes: Int64, end: String)](repeating: (0, ""), count: ticks)
        var before: Int64 = 0
        for delivery in deliveries {
            let (index, rest) = delivery.moment.nanoseconds.quotientAndRemainder(dividingBy: tick)
            if rest != 0 { Issue.record("a delivery at \(delivery.moment) lies between two ticks") }
            while cells.count <= Int(index) { cells.append((0, "")) }
            cells[Int(index)].bytes += delivery.offset - before
            before = delivery.offset
            if let end = delivery.end { cells[Int(index)].end = mark(of: end) }
        }
        return cells.map { cell in
            if cell.bytes == 0 { return cell.end.isEmpty ? "-" : cell.end }
            return cell.end.isEmpty ? "\(cell.bytes)" : "(\(cell.bytes)\(cell.end))"
        }.joined()
    }

    private static func mark(of end: Ending) -> String {
        switch end {
        case .finish: "|"
        case .reset: "!"
        case .cut(.close), .cut(.notify), .alert: "x"
        case .cut(.reset): "X"
        case .answer: "A"
        case .cut(.silence): "s"
        }
    }
}
