import FaultPlan
import FaultProfile
import OperatingSystem
import ProxyRuntime
import Synchronization
import TerminalDisplay
import TransferClient
import TransferReports
import Units

/// The events of a demo transfer, in order: faults and the client's reactions.
package final class DemoStory: Sendable {
    /// The maximum number of lines kept; further ones are only counted.
    static let limit = 1_000

    /// The maximum number of phases kept for the chart; the first ones go.
    static let phaseLimit = 1_000

    private struct State {
        var phases: Phases?
        /// The phases so far, the present one last.
        var spans: [PhaseSpan] = []
        /// The phase that `enter` reported.
        var entered: String?
        var lines: [(moment: Moment, text: String)] = []
        var omitted = 0
        /// The number of injections per fault description, in order of first occurrence.
        var events: [(fault: String, count: Int)] = []
        var resumptions: [Int64] = []
        var resumed: DemoScene.Resumption?
        /// What is told live.
        var narration = DemoNarration()
    }

    /// The network phases reported so far.
    private struct Phases {
        let schedule: Schedule
        let profile: Profile
        let tones: [PhaseTone]
        var follower = PhaseFollower()

        /// What the phase at `index` does, in a few words each.
        func figures(of index: Int) -> [String] {
            if case .gone(let mode) = tones[index] { return [DemoWords.effect(of: mode)] }
            return profile.phases[index].faults.map(\.kind.figures.text)
        }
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

    /// The phases so far, and the last resumption, on the clock of the transfer.
    var scene: (phases: [PhaseSpan], resumed: DemoScene.Resumption?) { state.withLock { ($0.spans, $0.resumed) } }

    /// Starts reporting the phases of a schedule of `profile`.
    func follow(_ schedule: Schedule, of profile: Profile) {
        let phases = Phases(schedule: schedule, profile: profile, tones: PhaseSpan.tones(of: profile))
        state.withLock { $0.phases = phases }
    }

    /// Reports the phase of a clock that may be set, unless it is the one reported before.
    package func enter(_ phase: String?, at moment: Moment) {
        let sentences = state.withLock { state -> [[String]] in
            defer { state.entered = phase }
            guard let phase, phase != state.entered else { return [] }
            DemoStory.append((moment, "— \(phase)"), &state)
            let span = PhaseSpan(name: phase, begin: moment - started, tone: .good(isSecond: false))
            DemoStory.append(span, &state)
            return [state.narration.phase(phase, [])]
        }
        guard !sentences.isEmpty, let phase else { return }
        for fields in sentences { printLive(moment, fields) }
        tell(phase, "")
    }

    /// Reports the phases that began until `moment`.
    func followPhases(until moment: Moment) {
        let news = state.withLock { enterPhases(until: moment, &$0) }
        for item in news { printLive(item.moment, item.fields) }
    }

    /// Records a fault.
    package func record(_ entry: JournalEntry) {
        let fault = "\(entry.fault) \(entry.effect.word)"
        add(Narrator.sentence(entry), at: entry.moment) { state in
            if entry.effect.reason != nil {
                // A stream that isn't HTTP is no fault that acted.
            } else if let index = state.events.firstIndex(where: { $0.fault == fault }) {
                state.events[index].count += 1
            } else {
                state.events.append((fault, 1))
            }
            return state.narration.fault(entry)
        }
    }

    /// Records an event of the client.
    func record(_ event: TransferEvent) {
        guard let sentence = event.sentence else { return }
        let caption = DemoCaption.text(of: event)
        guard case .resumed(let offset) = event else { return record(sentence, caption) { $0.client(event) } }
        record(sentence, caption, resumedAt: offset)
    }

    private func record(_ sentence: String, _ caption: String?, resumedAt offset: Int64) {
        let time = MonotonicClock.now - started
        record(sentence, caption) {
            $0.resumed(at: offset)
        } change: { state in
            state.resumptions.append(offset)
            state.resumed = DemoScene.Resumption(offset: offset, time: time)
        }
    }

    private func record(
        _ sentence: String,
        _ caption: String?,
        _ narrate: (inout DemoNarration) -> [String],
        change: (inout State) -> Void = { _ in }
    ) {
        add("client: \(sentence)", at: MonotonicClock.now) { state in
            change(&state)
            return narrate(&state.narration)
        }
        tell(state.withLock { $0.entered }, caption ?? sentence)
    }

    /// Adds the lines of the phases that began until `moment`; returns what is told live about them.
    private func enterPhases(until moment: Moment, _ state: inout State) -> [(moment: Moment, fields: [String])] {
        guard var phases = state.phases else { return [] }
        let begun = phases.follower.advance(phases.schedule, to: moment)
        state.phases = phases
        return begun.compactMap { interval in
            guard let index = interval.phase else { return nil }
            let begin = max(interval.begin, phases.schedule.start)
            let phase = phases.profile.phases[index]
            DemoStory.append((begin, "— \(phase.name)"), &state)
            let span = PhaseSpan(name: phase.name, begin: max(.zero, begin - started), tone: phases.tones[index])
            DemoStory.append(span, &state)
            state.entered = phase.name
            return (begin, state.narration.phase(phase.name, phases.figures(of: index)))
        }
    }

    private static func append(_ line: (moment: Moment, text: String), _ state: inout State) {
        if state.lines.count < DemoStory.limit {
            state.lines.append(line)
        } else {
            state.omitted += 1
        }
    }

    private static func append(_ span: PhaseSpan, _ state: inout State) {
        state.spans.append(span)
        if state.spans.count > DemoStory.phaseLimit { state.spans.removeFirst() }
    }

    private func add(_ text: String, at moment: Moment, _ change: (inout State) -> [String]) {
        let news = state.withLock { state in
            var news = enterPhases(until: moment, &state)
            news.append((moment, change(&state)))
            DemoStory.append((moment, text), &state)
            return news
        }
        for item in news { printLive(item.moment, item.fields) }
    }

    /// Prints a line of `fields` above the live lines, as far as they fit; nothing if there are none.
    private func printLive(_ moment: Moment, _ fields: [String]) {
        guard live.isOn, !fields.isEmpty else { return }
        let time = Formatting.seconds(moment - started)
        live.print(DemoNarration.line(time, fields, TerminalAbilities.ofProcess, columns: TerminalAbilities.columns))
    }
}
