import EventLoop
import FaultPlan
import Synchronization
import TransferClient
import Units

/// What happened during a demo, in order: the faults that struck and what the client made of them.
final class DemoStory: Sendable {
    /// The lines that are remembered; beyond it they are counted only.
    static let limit = 1_000

    private struct State {
        var lines: [(moment: Moment, text: String)] = []
        var omitted = 0
        var faults = 0
        var resumptions: [Int64] = []
    }

    let started: Moment
    private let state = Mutex(State())
    private let live: LiveLine

    init(started: Moment, live: LiveLine) {
        self.started = started
        self.live = live
    }

    /// The faults that struck so far.
    var faults: Int { state.withLock { $0.faults } }
    /// The offsets at which the client resumed.
    var resumptions: [Int64] { state.withLock { $0.resumptions } }
    /// Everything that happened, a line each, and the number of lines that were too many.
    var lines: (lines: [String], omitted: Int) {
        state.withLock { state in
            (state.lines.map { "\(Formatting.seconds($0.moment - started))  \($0.text)" }, state.omitted)
        }
    }

    /// A fault struck.
    func tell(_ entry: JournalEntry) {
        add(Narrator.sentence(entry), at: entry.moment) { $0.faults += 1 }
    }

    /// The client did something.
    func tell(_ event: DownloadEvent) {
        guard let sentence = event.sentence else { return }
        add("client: \(sentence)", at: MonotonicClock.now) { state in
            if case .resumed(let offset) = event { state.resumptions.append(offset) }
        }
    }

    /// The network entered a phase.
    func enter(_ phase: String, at moment: Moment) {
        add("— \(phase)", at: moment) { _ in }
    }

    private func add(_ text: String, at moment: Moment, _ change: (inout State) -> Void) {
        state.withLock { state in
            change(&state)
            guard state.lines.count < DemoStory.limit else {
                state.omitted += 1
                return
            }
            state.lines.append((moment, text))
        }
        live.tell("\(Formatting.seconds(moment - started))  \(text)")
    }
}
