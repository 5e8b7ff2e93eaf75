import SimulatedDisk
import SystemPackage
import Units

@testable import TransferClient

/// A client's runs.
extension CrashRuns {
    /// A run that broke a promise.
    struct Broken: Error, CustomStringConvertible {
        var description: String
    }

    static let folder = FilePath("/d")

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
