import TransferClient
import TransferProtocol
import Units

/// An event of a transfer as a JSON line.
package struct TransferEventJSON: Encodable {
    var event: String
    var acknowledged: Int64?
    var bytes: Int64?
    var bytesCompared: Int64?
    var bytesReceived: Int64?
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
    var rule: String?
    var seconds: Double?
    var sent: Int64?
    var sha256: String?
    var status: Int?
    var total: Int64?
    /// Set when one command runs several transfers.
    package var transfer: String?
    var url: String?
    var verified: [String]?

    /// The report of an event.
    package init(_ event: TransferEvent) {
        switch event {
        case .started(let completed, let total, let isContinued):
            self.event = "started"
            self.total = total
            if total == nil { bytes = completed } else { continued = isContinued }
        case .resumable(let dialect):
            self.event = "resumable"
            self.dialect = dialect
        case .progress(let completed, let sent, let total):
            self.event = "progress"
            self.sent = sent
            self.total = total
            if sent == nil { bytes = completed } else { acknowledged = completed }
        case .resumed(let offset):
            self.event = "resumed"
            self.offset = offset
        case .retrying(let wait, let cause, let rule):
            self.event = "retrying"
            self.rule = rule.code
            seconds = TransferEventJSON.seconds(wait)
            code = cause.code
            reason = cause.description
        case .restarted(let reason):
            self.event = "restarted"
            code = reason.code
            self.reason = reason.description
        case .redirected(let url):
            self.event = "redirected"
            self.url = url
        case .interimResponse(let status, _):
            self.event = "informed"
            self.status = status
        case .waitingForNetwork: self.event = "waiting-for-network"
        case .verified(let source):
            self.event = "verified"
            verified = [source.rawValue]
        case .finished(let summary):
            self.event = "finished"
            bytes = summary.bytes
            bytesRepeated = summary.bytesRepeated
            connections = summary.connections
            restarts = summary.restarts
            resumptions = summary.resumptions
            seconds = TransferEventJSON.seconds(summary.duration)
            sha256 = summary.sha256.hexadecimal
            switch summary.details {
            case .download(let details):
                bytesCompared = details.bytesCompared
                bytesReceived = summary.bytesTransferred
                url = details.finalURL
                verified = details.verified.map(\.rawValue).sorted()
                proof = details.proof.code
            case .upload(let details):
                bytesSent = summary.bytesTransferred
                dialect = details.dialect
                proof = details.proof.rawValue
                status = details.response?.status
            }
        }
    }

    /// The report of a file of the server's length, which wasn't fetched.
    package init(skipped bytes: Int64?) {
        event = "skipped"
        self.bytes = bytes
    }

    /// The report of a failure.
    package init(_ error: TransferError) {
        event = "failed"
        code = error.code.rawValue
        reason = error.sentence
        resumable = error.isResumable
        status = error.status
        if case .unproved(let unverifiedReason) = error { proof = unverifiedReason.rawValue }
    }

    /// The report of a failure before anything was requested.
    package init(code: String, reason: String, resumable: Bool) {
        event = "failed"
        (self.code, self.reason, self.resumable) = (code, reason, resumable)
    }

    private static func seconds(_ duration: Duration) -> Double {
        Double(duration.nanoseconds / 1_000) / 1e6
    }
}

extension TransferEvent {
    /// The event as a permanent line; `nil` for progress.
    package var sentence: String? {
        switch self {
        case .started(_, _, isContinued: true): "goes on with the upload of an earlier run"
        case .started(let received, total: nil, _) where received > 0:
            "goes on from an earlier run, which left \(Formatting.size(received))"
        case .started, .progress, .interimResponse, .finished: nil
        case .resumable(let dialect): "the server can resume it (interop version \(dialect))"
        case .waitingForNetwork: "the network is away; waiting for it"
        case .resumed(let offset): "resumed at \(Formatting.grouped(offset))"
        case .retrying(let wait, let cause, let rule):
            wait > .zero
                ? "\(cause); waiting \(Formatting.seconds(wait).trimmingPrefix { $0 == " " }): \(rule)"
                : "\(cause); trying again at once: \(rule)"
        case .restarted(let reason): "starts over: \(reason)"
        case .redirected(let url): "redirected to \(url.shortened(to: TransferError.shownCharacters))"
        case .verified(.server): "the digest is the one that the server gave"
        case .verified(.caller): "the digest is the one that was asked for"
        }
    }
}

extension UploadDetails {
    /// The proof, or its absence, in words.
    package var proofDescription: String {
        switch proof {
        case .digest: "as the server says"
        case .accepted: "accepted with \(response?.status ?? 0), not verified: the server told no digest"
        case .complete: "not verified: the server says that it has all of it, and its answer was lost"
        }
    }
}

extension DownloadProof {
    /// The name of the proof, or of the reason why there is none, in JSON events.
    fileprivate var code: String {
        switch self {
        case .digest: "digest"
        case .validators: "validators"
        case .none(let unverifiedReason): unverifiedReason.rawValue
        }
    }

    /// Why the file is unverified; `nil` if it is verified.
    package var unverifiedReason: UnverifiedReason? {
        switch self {
        case .digest, .validators: nil
        case .none(let unverifiedReason): unverifiedReason
        }
    }
}
