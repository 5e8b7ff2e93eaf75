import FaultPlan
import FaultProfile
import Forecast
import TransferClient
import TransferReports
import Units

/// How many bytes a transfer of the demo has, and how long it should take.
///
/// Without `--size` a forecast of the profile decides: as many bytes as arrive until 3 s after its last phase has begun, or in
/// 20 s without phases; between 10 s and 30 s, at most 64 MiB.
struct DemoSize: Hashable {
    /// The most bytes.
    static let most = ByteCount.mebibytes(64)
    /// The fewest bytes.
    static let least = ByteCount.kibibytes(16)
    /// The bytes for a network that lets nothing through.
    static let withoutNetwork = ByteCount.mebibytes(1)
    /// The time that a transfer has to show a profile in.
    static let times = Duration.seconds(10)...Duration.seconds(30)
    /// The time for a profile without phases.
    static let usualTime = Duration.seconds(20)
    /// The time after the start of the last phase.
    static let lastPhaseTime = Duration.seconds(3)
    /// The time that a transfer takes on a terminal if the network doesn't limit it.
    static let watchedTime = Duration.seconds(8)
    /// The longest forecast for a given size.
    private static let longestForecast = Duration.seconds(600)
    /// The steps of a forecast: a fraction of a second.
    private static let stepLimit = 2_000_000

    var bytes: Int64
    /// The predicted time.
    var expected: Duration
    /// The limit that the client sets itself on a terminal, so that a transfer which the network doesn't slow down can be
    /// watched; `nil` if it needs none.
    var pace: BitRate?

    /// The size that shows `profile`.
    private init(_ profile: Profile, seed: UInt64, direction: Direction) {
        let forecast = Self.forecast(profile, seed, direction, Self.most, limit: Self.time(of: profile, seed: seed))
        expected = forecast.duration
        switch forecast.bytes {
        case 0: bytes = Self.withoutNetwork.bytes
        case let arrived where forecast.outcome == .complete || arrived >= Self.most.bytes: bytes = Self.most.bytes
        case let arrived:
            let unit = ByteCount.kibibytes(arrived < 1 << 20 ? 4 : 64).bytes
            bytes = max(Self.least.bytes, arrived / unit * unit)
        }
        if forecast.outcome == .complete, expected < Self.watchedTime {
            pace = BitRate(bitsPerSecond: bytes * 8 / (Self.watchedTime.nanoseconds / 1_000_000_000))
            expected += Self.watchedTime
        }
    }

    /// The given size.
    private init(given size: ByteCount, _ profile: Profile, seed: UInt64, direction: Direction) {
        bytes = size.bytes
        expected = Self.forecast(profile, seed, direction, size, limit: Self.longestForecast).duration
    }

    /// The time after which the last phase of `profile` has been seen.
    static func time(of profile: Profile, seed: UInt64) -> Duration {
        guard !profile.phases.isEmpty else { return usualTime }
        let schedule = Schedule(phases: profile.phases, repeats: profile.repeats, start: .zero, seed: seed)
        let begin = schedule.begin(ofPhase: profile.phases.count - 1) ?? times.upperBound
        guard begin < times.upperBound else { return times.upperBound }
        return min(max(begin + lastPhaseTime, times.lowerBound), times.upperBound)
    }

    /// The size for a transfer in `direction`: the given one, or what the forecast says.
    init(_ size: ByteCount?, _ profile: Profile, seed: UInt64, direction: Direction) {
        if let size {
            self.init(given: size, profile, seed: seed, direction: direction)
        } else {
            self.init(profile, seed: seed, direction: direction)
        }
    }

    private static func forecast(
        _ profile: Profile,
        _ seed: UInt64,
        _ direction: Direction,
        _ size: ByteCount,
        limit: Duration
    ) -> TransferForecast {
        TransferForecast(
            of: Transfer(direction: direction, bytes: size),
            through: Plan(profile: profile, seed: seed, proxy: "demo", start: .zero),
            client: ClientModel(TransferClientConfiguration(), direction),
            retries: ClientRetries(seed: seed),
            limit: limit,
            stepLimit: stepLimit
        )
    }
}

/// The sizes of the transfers of a demo.
struct DemoSizes {
    private let download: DemoSize
    private let upload: DemoSize

    /// Forecasts `transfers`, at least one, through `profile`.
    init(_ size: ByteCount?, of transfers: [DemoTransfer], _ profile: Profile, seed: UInt64) {
        func make(_ transfer: DemoTransfer) -> DemoSize? {
            guard transfers.contains(transfer) else { return nil }
            return DemoSize(size, profile, seed: seed, direction: transfer.direction)
        }
        let (first, second) = (make(.download), make(.upload))
        guard let either = first ?? second else { preconditionFailure("a demo has a transfer") }
        (download, upload) = (first ?? either, second ?? either)
    }

    /// The size of a transfer.
    subscript(_ transfer: DemoTransfer) -> DemoSize {
        switch transfer {
        case .download: download
        case .upload: upload
        }
    }
}
