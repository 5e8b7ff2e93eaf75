import FaultPlan
import OperatingSystem
import ProxyEngine
import ProxyRuntime
import TerminalDisplay
import Units

/// The status line of `squall run` on a terminal, drawn four times a second, with a line for each phase that begins.
struct RunDisplay {
    /// The redraw interval.
    static let interval = Duration.milliseconds(250)

    let proxies: [Proxy]
    let live: LiveLine

    /// Draws until the task is cancelled.
    func run() async {
        var followers = proxies.map { _ in PhaseFollower() }
        var rates = RunRates()
        let glyphs: ProgressBar.Glyphs = TerminalAbilities.ofProcess.hasUnicode ? .unicode : .ascii
        while !Task.isCancelled {
            let now = MonotonicClock.now
            for (index, proxy) in proxies.enumerated() {
                let schedule = proxy.schedule
                for interval in followers[index].advance(schedule, to: now) {
                    guard let phase = proxy.phase(at: interval.begin) else { continue }
                    let name = proxies.count > 1 ? "\(proxy.configuration.name): \(phase.name)" : phase.name
                    live.print(cutting: RunStatus.line(ofPhase: name, at: interval.begin - schedule.start, glyphs))
                }
            }
            var counts = Statistics()
            for proxy in proxies { counts += await proxy.statistics() }
            let (up, down) = rates.add(up: counts.upstreamBytes, down: counts.downstreamBytes, at: now)
            let phases = Set(proxies.map { $0.phase(at: now)?.name })
            var status = RunStatus(
                time: now - (proxies.first?.schedule.start ?? now),
                phase: phases.count == 1 ? phases.first ?? nil : nil
            )
            (status.open, status.upstreamRate, status.downstreamRate) = (counts.open, up, down)
            status.faults = counts.faultEvents.values.reduce(0, +)
            live.draw(lines: [status.line(columns: TerminalAbilities.columns, glyphs)])
            try? await Task.sleep(for: Self.interval)
        }
    }
}
