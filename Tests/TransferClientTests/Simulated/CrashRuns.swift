import Foundation
import SimulatedDisk
import SystemPackage
import Testing
import Units

@testable import TransferClient

/// Runs of a client whose machine may crash between any two disk calls.
///
/// `SQUALL_NAME_RUNS` sets the number of runs, `SQUALL_NAME_SEED` the first seed.
struct CrashRuns {
    /// A run that broke a promise.
    struct Broken: Error, CustomStringConvertible {
        var description: String
    }

    static let folder = FilePath("/d")

    let count: UInt64
    private let first: UInt64

    init(_ name: String) {
        func number(_ what: String) -> UInt64? {
            ProcessInfo.processInfo.environment["SQUALL_\(name)_\(what)"].flatMap { UInt64($0) }
        }
        (count, first) = (number("RUNS") ?? 300, number("SEED") ?? 0)
    }

    /// The stories of all runs, and of those with `found` seeds; a broken run is an issue.
    func stories<Story>(found: [UInt64] = [], _ run: (UInt64) throws -> Story) -> [Story] {
        (found + Array(first..<first + count)).compactMap { seed in
            do {
                return try run(seed)
            } catch {
                Issue.record("seed \(seed): \(error)")
                return nil
            }
        }
    }

    /// The number of 200 runs that break.
    static func broken(_ run: (UInt64) throws -> Void) -> Int {
        (0..<200 as Range<UInt64>).count { (try? run($0)) == nil }
    }

    /// A disk with the durable folder.
    static func disk(_ seed: UInt64) throws -> SimulatedDisk {
        let disk = SimulatedDisk(seed: seed)
        try disk.makeFolder(folder)
        try disk.synchronizeFolder("/")
        return disk
    }

    /// The faults of a life: a stop within `calls`, and failing calls; none after the first `lives`.
    static func faults(
        of life: Int,
        within lives: Int,
        stoppingWithin calls: UInt64,
        _ random: inout SeededGenerator,
        ignoresSynchronization: Bool
    ) -> SimulatedDisk.Faults {
        var faults = SimulatedDisk.Faults()
        if life < lives {
            if random.next() % 8 > 0 { faults.stop = Int(1 + random.next() % calls) }
            if random.next() % 4 == 0 { faults.chance = 0.01 }
        }
        faults.ignoresSynchronization = ignoresSynchronization
        return faults
    }

    /// Runs a life of the client to its end.
    static func live<Life: Sendable>(_ executor: SimulatedExecutor, _ body: @escaping @Sendable () async -> Life) throws
        -> Life
    {
        guard let life = executor.run(body) else { throw Broken(description: "a life came to no end") }
        return life
    }
}
