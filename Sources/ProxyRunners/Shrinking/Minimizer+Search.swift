import Journal
import TerminalDisplay

extension Minimizer {
    /// Tests lists until the smallest one is found, `limit` runs have been made or the task is cancelled. Shows each run
    /// on a terminal.
    ///
    /// - Parameters:
    ///   - runs: the runs made so far, which are counted on.
    ///   - fails: whether a run with these elements fails.
    mutating func search(
        upTo limit: Int,
        counting runs: inout Int,
        _ fails: ([Int]) async throws -> Bool
    ) async throws {
        let all = current.count
        let live = LiveLine()
        defer { live.clear() }
        while case .test(let kept) = next, runs < limit {
            let isFailure: Bool
            do { isFailure = try await fails(kept) } catch is CancellationError { return }
            // The result of a command ended by the signal doesn't count.
            guard !Task.isCancelled else { return }
            runs += 1
            answer(fails: isFailure)
            let result = isFailure ? "fails" : "passes"
            live.print(wrapping: "shrink, run \(runs): \(kept.count) of \(all) faults, \(result)")
        }
    }
}
