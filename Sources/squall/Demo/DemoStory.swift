import EventLoop
import FaultPlan
import Synchronization
import TransferClient
import Units

/// The events of a demo transfer, in order: faults and the client's reactions.
final class DemoStory: Sendable {
    /// The maximum number of lines kept; further ones are only counted.
    static let limit = 1_000

    private struct State {
        var phases: Phases?
        /// The phase that `enter` reported.
        var entered: String?
        var lines: [(moment: Moment, text: String)] = []
        var omitted = 0
        /// The number of injections per fault description, in order of first occurrence.
        var events: [(fault: String, count: Int)] = []
        var resumptions: [Int64] = []
    }

    /// The network phases reported so far.
    private struct Phases {
        let schedule: Schedule
        let names: [String]
        var current: Schedule.Interval?
    }

    let started: Moment
    private let state = Mutex(State())
    private let live: LiveLine
    /// Called with each phase and each event of the client.
    private let tell: @Sendable (_ phase: String?, _ sentence: String) -> Void

    init(
        started: Moment,
        live: LiveLine,
        tell: @escaping @Sendable (_ phase: String?, _ sentence: String) -> Void = { _, _ in }
    ) {
        self.started = started
        self.live = live
        self.tell = tell
    }

    /// The number of faults injected so far.
    var faults: Int { state.withLock { $0.events.reduce(0) { $0 + $1.count } } }
    /// The faults injected so far with their counts.
    var events: [(fault: String, count: Int)] { state.withLock { $0.events } }
    /// The offsets at which the client resumed.
    var resumptions: [Int64] { state.withLock { $0.resumptions } }
    /// All lines kept, and the number of those dropped.
    var lines: (lines: [String], omitted: Int) {
        state.withLock { state in
            (state.lines.map { "\(Formatting.seconds($0.moment - started))  \($0.text)" }, state.omitted)
        }
    }

    /// Starts reporting the phases of a schedule.
    func follow(_ schedule: Schedule, names: [String]) {
        state.withLock { $0.phases = Phases(schedule: schedule, names: names) }
    }

    /// Reports the phase of a clock that may be set, unless it is the one reported before.
    func enter(_ phase: String?, at moment: Moment) {
        let isNew = state.withLock { state in
            defer { state.entered = phase }
            guard let phase, phase != state.entered else { return false }
            DemoStory.append((moment, "— \(phase)"), &state)
            return true
        }
        guard isNew, let phase else { return }
        printLive((moment, "— \(phase)"))
        tell(phase, "")
    }

    /// The name of the phase at `moment`, reported if it is new.
    func phase(at moment: Moment) -> String? {
        let (news, name) = state.withLock { state in
            let news = DemoStory.enterPhase(at: moment, &state)
            let index = state.phases?.current?.phase
            return (news, index.flatMap { state.phases?.names[$0] } ?? state.entered)
        }
        if let news { printLive(news) }
        return name
    }

    /// Records a fault.
    func record(_ entry: JournalEntry) {
        let fault = "\(entry.fault) \(entry.effect.word)"
        add(Narrator.sentence(entry), at: entry.moment) { state in
            if let index = state.events.firstIndex(where: { $0.fault == fault }) {
                state.events[index].count += 1
            } else {
                state.events.append((fault, 1))
            }
        }
    }

    /// Records an event of the client.
    func record(_ event: DownloadEvent) {
        guard let sentence = event.sentence else { return }
        if case .resumed(let offset) = event { record(sentence, resumedAt: offset) } else { record(sentence) }
    }

    /// Records an event of the client.
    func record(_ event: UploadEvent) {
        guard let sentence = event.sentence else { return }
        if case .resumed(let offset) = event { record(sentence, resumedAt: offset) } else { record(sentence) }
    }

    private func record(_ sentence: String, resumedAt offset: Int64? = nil) {
        add("client: \(sentence)", at: MonotonicClock.now) { state in
            if let offset { state.resumptions.append(offset) }
        }
        tell(state.withLock { $0.entered }, sentence)
    }

    private static func enterPhase(at moment: Moment, _ state: inout State) -> (moment: Moment, text: String)? {
        guard let phases = state.phases else { return nil }
        let interval = phases.schedule.interval(at: moment)
        if let current = phases.current, interval.begin <= current.begin { return nil }
        state.phases?.current = interval
        guard let index = interval.phase else { return nil }
        let line = (moment: max(interval.begin, phases.schedule.start), text: "— \(phases.names[index])")
        append(line, &state)
        return line
    }

    private static func append(_ line: (moment: Moment, text: String), _ state: inout State) {
        if state.lines.count < DemoStory.limit {
            state.lines.append(line)
        } else {
            state.omitted += 1
        }
    }

    private func add(_ text: String, at moment: Moment, _ change: (inout State) -> Void) {
        let news = state.withLock { state in
            let news = DemoStory.enterPhase(at: moment, &state)
            change(&state)
            DemoStory.append((moment, text), &state)
            return news
        }
        if let news { printLive(news) }
        printLive((moment, text))
    }

    private func printLive(_ line: (moment: Moment, text: String)) {
        live.print("\(Formatting.seconds(line.moment - started))  \(line.text)")
    }
}
