import EventLoop
import FaultPlan
import FaultProfile
import Journal
import OperatingSystem
import ProfileFiles
import ProxyEngine
import ProxyRuntime
import TerminalDisplay
import Units

/// A search for the smallest list of faults with which a command fails.
package struct Shrinking {
    let plan: ReplayPlan
    let trial: CommandRun
    /// The maximum number of runs of the command.
    let runs: Int
    /// Whether the order of the plan's events is that in which they happened.
    let isInOrder: Bool

    /// A search among the faults of `plan` with `runs` runs at most.
    package init(plan: ReplayPlan, trial: CommandRun, runs: Int, isInOrder: Bool) {
        (self.plan, self.trial, self.runs, self.isInOrder) = (plan, trial, runs, isInOrder)
    }

    /// Searches, reports each run on a terminal, and writes the result. Stops on a signal.
    package func run() async throws {
        try await withRuntime(threads: 1) { loops, interrupt in
            try await interrupt.cancelling { try await search(on: loops) }
        }
    }

    private func search(on loops: EventLoopGroup) async throws {
        var minimizer = Minimizer(count: plan.units.count)
        var done = 0
        // One run is reserved for the journal.
        try await minimizer.search(upTo: runs - 1, counting: &done) { kept in
            try await trial.fails(with: plan.profile(keeping: units(kept)), on: loops)
        }
        if case .done(let verdict) = minimizer.next { try refuse(verdict) }
        try await conclude(minimizer, done, loops)
    }

    private func refuse(_ verdict: Minimizer.Verdict) throws(CommandFailure) {
        switch verdict {
        case .smallest: return
        case .neverFails:
            let all = plan.units.count == 1 ? "the fault" : "all \(Shrinking.faults(plan.units.count))"
            throw .failed("the command doesn't fail with \(all) of the journal")
        case .failsWithout: throw .failed("the command fails without a fault as well")
        }
    }

    /// Runs the command once more with the result, to write the journal, and reports.
    private func conclude(_ minimizer: Minimizer, _ done: Int, _ loops: EventLoopGroup) async throws {
        let kept = units(minimizer.current)
        let profile = plan.profile(keeping: kept, isNamedApart: true)
        try checkSize(of: profile)
        try checkOrder(of: kept)
        guard !Task.isCancelled else { return try reportInterruption(kept, profile, done) }
        guard let fails = try await trial.record(profile, on: loops) else {
            return try reportInterruption(kept, profile, done)
        }
        try report(kept, profile, done + 1, written: "\(trial.files.profile), \(trial.files.journal)")
        var reasons = fails ? [] : ["the command passed the last time: it doesn't always fail"]
        if case .test = minimizer.next {
            reasons.append("those were all the runs allowed; a smaller list may do (--runs)")
        }
        guard reasons.isEmpty else { throw CommandFailure.failed(reasons.joined(separator: "; ")) }
    }

    /// Rejects a list that exceeds the limits of a profile.
    private func checkSize(of profile: Profile) throws(CommandFailure) {
        let count = profile.faults.count + profile.phases.reduce(0) { $0 + $1.faults.count }
        guard count > ProfileLimits.faults else { return }
        let limit = ProfileLimits.faults
        throw .failed("\(count) faults are left, more than the \(limit) of a profile: nothing was written (--runs)")
    }

    /// Rejects a list of which no profile can be written without knowing what happened first.
    private func checkOrder(of kept: [ReplayPlan.Unit]) throws(CommandFailure) {
        guard !isInOrder, let (name, trigger) = plan.faultAfterSeveral(in: kept) else { return }
        throw .failed(
            "the fault “\(name)” waits for “\(trigger)”, of which several events are left, and without times the journal "
                + "doesn't tell the first: nothing was written; shrink the journal with its times"
        )
    }

    /// Reports the smallest list so far if it is smaller than the journal's.
    private func reportInterruption(
        _ kept: [ReplayPlan.Unit],
        _ profile: Profile,
        _ done: Int
    ) throws(CommandFailure) {
        guard kept.count < plan.units.count else {
            throw .failed("interrupted before a smaller list of faults was found")
        }
        try report(kept, profile, done, written: trial.files.profile)
        throw .failed("interrupted; a smaller list may do")
    }

    /// Writes the profile of the result and reports it.
    private func report(
        _ kept: [ReplayPlan.Unit],
        _ profile: Profile,
        _ runs: Int,
        written: String
    ) throws(CommandFailure) {
        try OutputFile(path: trial.files.profile).write(ProfileWriter.text(of: profile))
        Console.print(Shrinking.result(kept: kept.count, of: plan.units.count, runs: runs))
        for unit in kept { Console.print("  \(Shrinking.sentence(unit))") }
        Console.print("written: \(written)")
    }

    private func units(_ kept: [Int]) -> [ReplayPlan.Unit] { kept.map { plan.units[$0] } }

    private static func faults(_ count: Int) -> String { "\(count) fault\(count == 1 ? "" : "s")" }

    /// "40 faults shrunk to 2 in 9 runs", "1 fault, which can't be left out, in 2 runs".
    static func result(kept: Int, of all: Int, runs: Int) -> String {
        let runs = "\(runs) run\(runs == 1 ? "" : "s")"
        guard all == 1, kept == 1 else { return "\(faults(all)) shrunk to \(kept) in \(runs)" }
        return "\(faults(all)), which can't be left out, in \(runs)"
    }

    static func sentence(_ unit: ReplayPlan.Unit) -> String {
        switch unit {
        case .fault(let name): return name
        case .event(let event):
            let connection = event.connection.map { "connection \($0), " } ?? ""
            let direction = event.direction.map { "\($0.rawValue): " } ?? ""
            let offset = event.offset.map { " at \(Formatting.grouped($0))" } ?? ""
            return "\(connection)\(direction)\(event.fault) \(event.what)\(offset)"
        }
    }
}
