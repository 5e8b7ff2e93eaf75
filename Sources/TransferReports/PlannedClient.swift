import FaultPlan
import FaultProfile
import Forecast
import HTTPSemantics
import TransferClient
import TransferProtocol
import Units

extension ClientModel {
    /// A model of Squall's own client, with its limits for a transfer in `direction`.
    package init(_ configuration: TransferClientConfiguration, _ direction: Direction) {
        self.init()
        connectLimit = configuration.connectLimit
        let isUpload = direction == .upstream
        firstByteLimit = isUpload ? configuration.uploadResponseLimit : configuration.firstByteLimit
        stallWindow = configuration.stall.window
        stallBytes = configuration.stall.minimumBytes
        overlapLimit = DownloadState.maximumOverlap
        if isUpload { contentWait = configuration.interimResponseLimit }
    }
}

/// The backoff of Squall's own client.
package struct ClientRetries: RetryModel {
    private var schedule: RetrySchedule

    package init(seed: UInt64) {
        schedule = RetrySchedule(policy: RetryPolicy(), generator: SeededGenerator(seed: seed), startedAt: .zero)
    }

    package mutating func reached(_ offset: Int64) { schedule.reached(offset) }

    package mutating func failed(at now: Moment, isImmediate: Bool, answer: HTTPAnswer?) -> Duration? {
        if let answer, !answer.status.isTransientStatus { return nil }
        let field = answer?.fields.first { $0.name.lowercased() == "retry-after" }
        // A date is taken for a past one.
        let retryAfter = field.flatMap { RetryAfter.delay($0.value, now: .max) }
        return switch schedule.failed(at: now, retryAfter: retryAfter, isImmediate: isImmediate) {
        case .wait(let delay, _): delay
        case .giveUp: nil
        }
    }
}
