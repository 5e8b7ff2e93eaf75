internal import Units

/// A part of the day in which a transfer may run, by the local clock: "22:00-06:00".
public struct DailyWindow: Hashable, Sendable, Codable {
    /// The first minute of the day in the window, from 0 to 1,439.
    public let start: Int
    /// The first minute of the day after the window, from 0 to 1,439. At or before `start`: of the next day.
    public let end: Int

    private static let day: Int64 = 86_400_000

    private enum CodingKeys: String, CodingKey {
        case start, end
    }

    /// Makes a window; `nil` for minutes that no day has, or for a window without a minute.
    public init?(start: Int, end: Int) {
        guard (0..<1_440).contains(start), (0..<1_440).contains(end), start != end else { return nil }
        (self.start, self.end) = (start, end)
    }

    /// Reads a window. Throws for what is none.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let start = try container.decode(Int.self, forKey: .start)
        let end = try container.decode(Int.self, forKey: .end)
        guard let window = DailyWindow(start: start, end: end) else {
            throw DecodingError.dataCorruptedError(forKey: .start, in: container, debugDescription: "no part of a day")
        }
        self = window
    }

    /// Reads "HH:MM-HH:MM"; `nil` for anything else.
    public init?(_ text: String) {
        let times = text.split(separator: "-", omittingEmptySubsequences: false).map { DailyWindow.minute(of: $0) }
        guard times.count == 2, let start = times[0], let end = times[1] else { return nil }
        self.init(start: start, end: end)
    }

    private static func minute(of text: Substring) -> Int? {
        let digits = Array(text.utf8)
        guard digits.count == 5, digits[2] == UInt8(ascii: ":") else { return nil }
        let numbers = [0, 1, 3, 4].map { Int(digits[$0]) - 48 }
        guard numbers.allSatisfy((0...9).contains) else { return nil }
        let (hour, minute) = (numbers[0] * 10 + numbers[1], numbers[2] * 10 + numbers[3])
        return hour < 24 && minute < 60 ? hour * 60 + minute : nil
    }

    /// The window as "HH:MM-HH:MM".
    public var text: String { "\(Self.text(start))-\(Self.text(end))" }

    private static func text(_ minute: Int) -> String {
        let (hour, rest) = (minute / 60, minute % 60)
        return (hour < 10 ? "0" : "") + "\(hour):" + (rest < 10 ? "0" : "") + "\(rest)"
    }

    /// Whether the window is open at a time, and when that changes.
    ///
    /// - Parameter offset: How far the local clock is ahead of UTC. It may change at night, so the change is asked for
    ///   again when its time has come.
    func state(at now: QueueTime, offset: Duration) -> (isOpen: Bool, changesAt: QueueTime) {
        let local = now.milliseconds &+ offset.wholeMilliseconds
        let time = (local % Self.day + Self.day) % Self.day
        let (opening, closing) = (Int64(start) * 60_000, Int64(end) * 60_000)
        let isOpen = opening < closing ? (opening..<closing).contains(time) : !(closing..<opening).contains(time)
        let next = isOpen ? closing : opening
        let wait = next > time ? next - time : next + Self.day - time
        return (isOpen, now + .milliseconds(wait))
    }

    /// When an open window was opened.
    func opening(before now: QueueTime, offset: Duration) -> QueueTime {
        state(at: now, offset: offset).changesAt + .seconds(-60 * ((end - start + 1_440) % 1_440))
    }
}
