import TransferClient
import Units

/// An upload event as a JSON line.
package struct UploadReport: Encodable {
    var event: String
    var acknowledged: Int64?
    var bytes: Int64?
    var bytesRepeated: Int64?
    var bytesSent: Int64?
    var code: String?
    var connections: Int?
    var continued: Bool?
    var dialect: Int?
    var offset: Int64?
    var proof: String?
    var reason: String?
    var restarts: Int?
    var resumable: Bool?
    var resumptions: Int?
    var seconds: Double?
    var sent: Int64?
    var sha256: String?
    var status: Int?
    var total: Int64?
    /// Set when one command runs several transfers.
    package var transfer: String?

    /// The report of an event.
    package init(_ event: UploadEvent) {
        switch event {
        case .started(let total, let canBeCombined):
            self.event = "started"
            self.total = total
            continued = canBeCombined
        case .resumable(let dialect):
            self.event = "resumable"
            self.dialect = dialect
        case .progress(let sent, let acknowledged, let total):
            self.event = "progress"
            self.sent = sent
            self.acknowledged = acknowledged
            self.total = total
        case .resumed(let offset):
            self.event = "resumed"
            self.offset = offset
        case .retrying(let wait, let cause):
            self.event = "retrying"
            seconds = UploadReport.seconds(wait)
            code = cause.code
            reason = cause.description
        case .restarted(let reason):
            self.event = "restarted"
            code = reason.code
            self.reason = reason.description
        case .interimResponse(let status, _):
            self.event = "informed"
            self.status = status
        case .waitingForNetwork: self.event = "waiting-for-network"
        case .verified: self.event = "verified"
        case .finished(let summary):
            self.event = "finished"
            bytes = summary.bytes
            bytesRepeated = summary.bytesRepeated
            bytesSent = summary.bytesSent
            connections = summary.connections
            dialect = summary.dialect
            proof = summary.proof.rawValue
            restarts = summary.restarts
            resumptions = summary.resumptions
            seconds = UploadReport.seconds(summary.duration)
            sha256 = summary.sha256.hexadecimal
            status = summary.status
        }
    }

    /// The report of a failure.
    package init(_ error: UploadError) {
        event = "failed"
        code = error.code.rawValue
        reason = error.sentence
        resumable = error.isResumable
        status = error.status
    }

    private static func seconds(_ duration: Duration) -> Double {
        Double(duration.nanoseconds / 1_000) / 1e6
    }
}

extension UploadEvent {
    /// The event as a permanent line; `nil` for progress.
    package var sentence: String? {
        switch self {
        case .started(_, let canBeCombined): canBeCombined ? "goes on with the upload of an earlier run" : nil
        case .resumable(let dialect): "the server can resume it (interop version \(dialect))"
        case .progress, .interimResponse, .finished: nil
        case .waitingForNetwork: "the network is away; waiting for it"
        case .resumed(let offset): "resumed at \(Formatting.grouped(offset))"
        case .retrying(let wait, let cause):
            "\(cause.description); trying again "
                + (wait > .zero ? "in \(Formatting.seconds(wait).trimmingPrefix { $0 == " " })" : "at once")
        case .restarted(let reason): "starts anew: \(reason.description)"
        case .verified: "the digest is the one that the server told"
        }
    }
}

extension UploadSummary {
    /// The proof, or its absence, in words.
    package var proofDescription: String {
        switch proof {
        case .digest: "as the server says"
        case .accepted: "accepted with \(status ?? 0), not verified: the server told no digest"
        case .complete: "not verified: the server says that it has all of it, and its answer was lost"
        }
    }
}
