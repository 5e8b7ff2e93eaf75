import TransferClient

/// One of the transfers of a demo.
enum DemoTransfer: String {
    case download, upload

    /// The first half of the message about a failure.
    var failure: String {
        switch self {
        case .download: "the file did not arrive"
        case .upload: "the uploaded file did not arrive"
        }
    }
}

/// What a transfer of the demo took, once it is complete.
struct DemoResult {
    var bytes: Int64
    var bytesRepeated: Int64
    var connections: Int
    var resumptions: Int
    var duration: Duration

    init(_ summary: DownloadSummary) {
        bytes = summary.bytes
        bytesRepeated = summary.bytesRepeated
        connections = summary.connections
        resumptions = summary.resumptions
        duration = summary.duration
    }

    init(_ summary: UploadSummary) {
        bytes = summary.bytes
        bytesRepeated = summary.bytesRepeated
        connections = summary.connections
        resumptions = summary.resumptions
        duration = summary.duration
    }
}

/// Why a transfer of the demo isn't complete.
enum DemoFailure: Error {
    case cancelled
    /// What happened, without an offer to go on: another demo starts from the beginning.
    case failed(String)

    init(_ error: DownloadError) {
        self = error == .cancelled ? .cancelled : .failed(error.description)
    }

    init(_ error: UploadError) {
        self = error == .cancelled ? .cancelled : .failed(error.description)
    }
}
