import TransferClient
import TransferProtocol
import Units

/// Events of the client in words for an audience, without the system's messages; `nil` for those that need no other words.
enum DemoCaption {
    /// The caption of an event.
    static func text(of event: TransferEvent) -> String? {
        switch event {
        case .retrying(let delay, let cause, _): retrying(cause.caption, in: delay)
        case .resumed(let offset): resumed(at: offset)
        case .started, .resumable, .progress, .interimResponse, .waitingForNetwork, .restarted, .redirected, .verified,
            .finished:
            nil
        }
    }

    private static func resumed(at offset: Int64) -> String { "Resumed at \(NearestText.size(offset))" }

    /// "No network. Trying again in 2 s".
    private static func retrying(_ cause: String, in delay: Duration) -> String {
        let seconds = (delay.nanoseconds + 500_000_000) / 1_000_000_000
        return "\(cause). Trying again \(seconds > 0 ? "in \(seconds) s" : "at once")"
    }
}

extension TransientFailure {
    fileprivate var caption: String {
        switch self {
        case .connectFailed, .unreachable, .connectTimedOut, .firstByteTimedOut, .stalled, .deadlineExceeded:
            "No network"
        case .connectionLost, .bodyTooShort, .partialOnly: "The connection is lost"
        case .status(let status): "The server answers \(status)"
        case .uploadGone, .uploadExpired: "The server has lost the upload"
        case .malformedResponse, .rejected, .representationChanged, .differentURL, .completenessUnknown,
            .receivedBytesDamaged, .noOffset, .noProgress, .smallerRequests, .differentDialect:
            "The answer is of no use"
        }
    }
}
