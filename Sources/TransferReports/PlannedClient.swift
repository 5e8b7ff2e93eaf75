import Forecast
import TransferClient
import TransferProtocol
import Units

extension ClientModel {
    /// A model of Squall's own client, with its limits.
    package init(_ configuration: TransferClientConfiguration) {
        self.init()
        connectLimit = configuration.connectLimit
        firstByteLimit = configuration.firstByteLimit
        stallWindow = configuration.stall.window
        stallBytes = configuration.stall.minimumBytes
        overlapLimit = DownloadState.maximumOverlap
    }
}

/// The backoff of Squall's own client.
package struct ClientRetries: RetryModel {
    private var schedule: RetrySchedule

    package init(seed: UInt64) {
        schedule = RetrySchedule(policy: RetryPolicy(), generator: SeededGenerator(seed: seed), startedAt: .zero)
    }

    package mutating func reached(_ offset: Int64) { schedule.reached(offset) }

    package mutating func failed(at now: Moment, isImmediate: Bool) -> Duration? {
        switch schedule.failed(at: now, isImmediate: isImmediate) {
        case .wait(let delay, _): delay
        case .giveUp: nil
        }
    }
}
