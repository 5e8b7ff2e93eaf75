import Synchronization
import TerminalDisplay
import Units

/// The display of a transfer on a terminal, drawn ten times a second.
final class DemoDisplay: Sendable {
    /// The redraw interval.
    static let interval = Duration.milliseconds(100)

    let live: LiveLine
    private let size: DemoSize
    private let scene: Mutex<DemoScene>

    /// A display of a transfer with a size and an expected time.
    init(_ transfer: DemoTransfer, _ size: DemoSize, live: LiveLine) {
        self.size = size
        self.live = live
        scene = Mutex(DemoScene(transfer: transfer, time: .zero, span: size.expected))
    }

    /// Draws the transfer as it is at `time`, with `passed` bytes through the network so far.
    func draw(_ story: DemoStory, _ progress: ProgressSnapshot, passed: Int64, at time: Duration) {
        let (phases, resumed) = story.scene
        let faults = story.faults
        let scene = scene.withLock { scene in
            scene.time = time
            scene.span = DemoScene.span(time, expected: size.expected)
            scene.history.reached(passed, at: time)
            (scene.phases, scene.resumed, scene.progress, scene.faults) = (phases, resumed, progress, faults)
            scene.progress.total = progress.total ?? size.bytes
            return scene
        }
        live.draw(lines: Self.screen.lines(scene))
    }

    /// The chart of the whole transfer, which ended at `time`.
    func finalChart(at time: Duration) -> [String] {
        let screen = Self.screen
        guard screen.abilities.hasEscapes else { return [] }
        var scene = scene.withLock { $0 }
        scene.span = max(time, .milliseconds(100))
        return screen.chart(scene)
    }

    /// The terminal as it is now.
    private static var screen: DemoScreen {
        DemoScreen(abilities: .ofProcess, columns: TerminalAbilities.columns, rows: TerminalAbilities.rows)
    }
}
