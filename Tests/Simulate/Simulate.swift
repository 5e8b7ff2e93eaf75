import ArgumentParser
import Dispatch
import Glibc
import SimulatedWorld

/// Runs simulated worlds, a seed each, and prints the seeds in which something doesn't hold.
@main struct Simulate: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Run the proxy in simulated worlds, one for each seed, and print the seeds that fail."
    )

    @Option(help: "How many seeds to run.")
    var seeds = 100_000

    @Option(help: "The first seed.")
    var first: UInt64 = 1

    @Option(help: "Run this seed alone, and print everything that happens in it.")
    var trace: UInt64?

    @Option(help: "Stop after so many seeds that fail.")
    var failures = 1

    @Option(help: "Run every N-th seed twice, and compare the journals.")
    var repeatEvery = 50

    func run() throws {
        RunningWorld.reportCrashes()
        if let trace { return try show(trace) }
        let watchdog = DispatchSource.makeTimerSource(queue: .global())
        watchdog.schedule(deadline: .now() + 5, repeating: 5)
        watchdog.setEventHandler { RunningWorld.check() }
        watchdog.resume()
        var (failed, bytes, calls, lines) = (0, 0, 0, 0)
        for seed in first..<first + UInt64(seeds) {
            let outcome = World.run(seed: seed)
            var found = outcome.failures
            if repeatEvery > 0, Int(seed) % repeatEvery == 0 {
                if World.run(seed: seed).journal != outcome.journal {
                    found.append("the same seed has another journal")
                }
            }
            bytes += outcome.bytes
            calls += outcome.calls
            lines += outcome.journal.count
            guard !found.isEmpty else { continue }
            failed += 1
            print("seed \(seed): \(found.joined(separator: "; "))")
            print("  again, with a trace: simulate --trace \(seed)")
            fflush(nil)
            if failed == failures { break }
        }
        print("\(seeds) seeds from \(first): \(failed) failed")
        print("  \(bytes) bytes, \(calls) calls, \(lines) faults in the journals")
        if failed > 0 { throw ExitCode(1) }
    }

    private func show(_ seed: UInt64) throws {
        let outcome = World.run(seed: seed) { print($0) }
        print("seed \(seed): \(outcome.failures.isEmpty ? "holds" : outcome.failures.joined(separator: "; "))")
        if !outcome.failures.isEmpty { throw ExitCode(1) }
    }
}
