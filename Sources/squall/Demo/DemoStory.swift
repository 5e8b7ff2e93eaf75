import EventLoop
import FaultPlan
import Synchronization
import TransferClient
import Units

/// What happened during a transfer of a demo, in order: the faults that acted and what the client made of them.
final class DemoStory: Sendable {
    /// The lines that are remembered; beyond it they are counted only.
    static let limit = 1_000

    private struct State {
        var phases: Phases?
        var lines: [(moment: Moment, text: String)] = []
        var omitted = 0
        /// How often each fault acted, by what is told of it, in the order of their first acts.
        var events: [(fault: String, count: Int)] = []
        var resumptions: [Int64] = []
    }

    /// The phases of the network that the story has come to.
    private struct Phases {
        let schedule: Schedule
        let names: [String]
        var current: Schedule.Interval?
    }

    let started: Moment
    private let state = Mutex(State())
    private let live: LiveLine

    init(started: Moment, live: LiveLine) {
        self.started = started
        self.live = live
    }

    /// The faults that acted so far.
    var faults: Int { state.withLock { $0.events.reduce(0) { $0 + $1.count } } }
    /// The faults that acted so far, each with how often.
    var events: [(fault: String, count: Int)] { state.withLock { $0.events } }
    /// The offsets at which the client resumed.
    var resumptions: [Int64] { state.withLock { $0.resumptions } }
    /// Everything that happened, a line each, and the number of lines that were too many.
    var lines: (lines: [String], omitted: Int) {
        state.withLock { state in
            (state.lines.map { "\(Formatting.seconds($0.moment - started))  \($0.text)" }, state.omitted)
        }
    }

    /// From here on the story tells of the phases by itself.
    func follow(_ schedule: Schedule, names: [String]) {
        state.withLock { $0.phases = Phases(schedule: schedule, names: names) }
    }

    /// The name of the phase at `moment`, which is told of when it's a new one.
    func phase(at moment: Moment) -> String? {
        let (news, name) = state.withLock { state in
            let news = DemoStory.enterPhase(at: moment, &state)
            let index = state.phases?.current?.phase
            return (news, index.flatMap { state.phases?.names[$0] })
        }
        if let news { tellLive(news) }
        return name
    }

    /// A fault acted.
    func tell(_ entry: JournalEntry) {
        let fault = "\(entry.fault) \(entry.effect.word)"
        add(Narrator.sentence(entry), at: entry.moment) { state in
            if let index = state.events.firstIndex(where: { $0.fault == fault }) {
                state.events[index].count += 1
            } else {
                state.events.append((fault, 1))
            }
        }
    }

    /// The client did something.
    func tell(_ event: DownloadEvent) {
        guard let sentence = event.sentence else { return }
        add("client: \(sentence)", at: MonotonicClock.now) { state in
            if case .resumed(let offset) = event { state.resumptions.append(offset) }
        }
    }

    /// The client did something.
    func tell(_ event: UploadEvent) {
        guard let sentence = event.sentence else { return }
        add("client: \(sentence)", at: MonotonicClock.now) { state in
            if case .resumed(let offset) = event { state.resumptions.append(offset) }
        }
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
        if let news { tellLive(news) }
        tellLive((moment, text))
    }

    private func tellLive(_ line: (moment: Moment, text: String)) {
        live.tell("\(Formatting.seconds(line.moment - started))  \(line.text)")
    }
}
