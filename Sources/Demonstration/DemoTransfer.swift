import FaultPlan
import TransferClient

/// A transfer of the demo.
package enum DemoTransfer: String {
    case download, upload

    /// The direction of its bytes.
    var direction: Direction {
        switch self {
        case .download: .downstream
        case .upload: .upstream
        }
    }

    /// The state of a transfer.
    package enum State {
        case running, done, failed
    }

    /// The first half of a failure message.
    var failure: String {
        switch self {
        case .download: "the file did not arrive"
        case .upload: "the uploaded file did not arrive"
        }
    }
}

/// The figures of a completed demo transfer.
struct DemoResult {
    var bytes: Int64
    var bytesRepeated: Int64
    var connections: Int
    var resumptions: Int
    var duration: Duration
}

extension DemoResult {
    init(_ summary: TransferSummary) {
        bytes = summary.bytes
        bytesRepeated = summary.bytesRepeated
        connections = summary.connections
        resumptions = summary.resumptions
        duration = summary.duration
    }
}

/// Why a demo transfer failed.
enum DemoFailure: Error, Equatable {
    case cancelled
    /// The reason, without advice to resume: another demo starts from the beginning.
    case failed(String)

    init(_ error: TransferError) {
        self = error == .cancelled ? .cancelled : .failed(error.description)
    }
}
