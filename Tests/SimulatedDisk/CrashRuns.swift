import Foundation

/// Runs of a program whose machine may crash between any two disk calls.
///
/// `SQUALL_NAME_RUNS` sets the number of runs, `SQUALL_NAME_SEED` the first seed.
public struct CrashRuns: Sendable {
    /// The number of runs.
    public let count: UInt64
    private let first: UInt64

    /// Reads the environment; `count` is the number of runs without it.
    public init(_ name: String, count: UInt64 = 300) {
        func number(_ what: String) -> UInt64? {
            ProcessInfo.processInfo.environment["SQUALL_\(name)_\(what)"].flatMap { UInt64($0) }
        }
        (self.count, first) = (number("RUNS") ?? count, number("SEED") ?? 0)
    }

    /// The stories of all runs, and of those with `found` seeds; `broken` is called with what broke a run.
    public func stories<Story>(
        found: [UInt64] = [],
        _ run: (UInt64) throws -> Story,
        broken: (String) -> Void
    ) -> [Story] {
        (found + Array(first..<first + count)).compactMap { seed in
            do {
                return try run(seed)
            } catch {
                broken("seed \(seed): \(error)")
                return nil
            }
        }
    }

    /// The number of 200 runs that break.
    public static func broken(_ run: (UInt64) throws -> Void) -> Int {
        (0..<200 as Range<UInt64>).count { (try? run($0)) == nil }
    }
}
