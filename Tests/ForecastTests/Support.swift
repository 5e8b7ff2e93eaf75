import FaultPlan
import FaultProfile
import Forecast
import Foundation
import Units

/// A client that waits the same time after each failure, and gives up after so many in a row without a new byte.
struct SteadyRetries: RetryModel {
    var wait = Duration.milliseconds(100)
    var attempts = 10
    private var failures = 0
    private var farthest: Int64 = 0

    init(wait: Duration = .milliseconds(100), attempts: Int = 10) {
        self.wait = wait
        self.attempts = attempts
    }

    mutating func reached(_ offset: Int64) {
        if offset > farthest { failures = 0 }
        farthest = max(farthest, offset)
    }

    mutating func failed(at now: Moment, isImmediate: Bool, answer: HTTPAnswer?) -> Duration? {
        failures += 1
        return failures < attempts ? wait : nil
    }
}

/// The forecast of a transfer through the profile of a text.
func forecast(
    _ text: String,
    bytes: Int64,
    direction: Direction = .downstream,
    seed: UInt64 = 7,
    overlap: Int64 = 0,
    contentWait: Duration = .zero,
    retries: SteadyRetries = SteadyRetries(),
    limit: Duration = .seconds(86_400),
    stepLimit: Int = TransferForecast.stepLimit
) throws -> TransferForecast {
    let profile = try ProfileReader.profile(from: ProfileSource(file: "p.json", text: text))
    var client = ClientModel()
    client.requestBytes = 100
    client.headBytes = 100
    client.overlapLimit = overlap
    client.contentWait = contentWait
    return TransferForecast(
        of: Transfer(direction: direction, bytes: ByteCount(bytes)),
        through: Plan(profile: profile, seed: seed, proxy: "proxy", start: .zero),
        client: client,
        retries: retries,
        limit: limit,
        stepLimit: stepLimit
    )
}

/// The shipped profiles.
enum Shipped {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Profiles")
        .resolvingSymlinksInPath().path

    /// Their names, without the presets.
    static let names: [String] = {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return files.filter { $0.hasSuffix(".json") && !$0.hasSuffix(".schema.json") }.map { String($0.dropLast(5)) }
            .sorted()
    }()

    /// The profile of a name.
    static func profile(_ name: String) throws -> Profile {
        try ProfileReader.profile(from: source(name)) { reference in
            if case .trace(let path) = reference,
                let data = try? Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(path)"))
            {
                return .success(ProfileSource(file: path, bytes: Array(data)))
            }
            guard case .shipped(let base) = reference, let path = names.first(where: { $0.hasSuffix("/\(base)") }),
                let source = try? source(path)
            else { return .failure(ResolutionError(what: "there is no such profile", remedy: "name another")) }
            return .success(source)
        }
    }

    private static func source(_ name: String) throws -> ProfileSource {
        let data = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name).json"))
        return ProfileSource(file: "\(name).json", bytes: Array(data))
    }
}
