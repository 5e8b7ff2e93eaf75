import TransferClient
import TransferProtocol
import Units

/// A download event as a JSON line.
package struct TransferReport: Encodable {
    var event: String
    var bytes: Int64?
    var bytesCompared: Int64?
    var bytesReceived: Int64?
    var bytesRepeated: Int64?
    var code: String?
    var connections: Int?
    var offset: Int64?
    var proof: String?
    var reason: String?
    var restarts: Int?
    var resumable: Bool?
    var resumptions: Int?
    var rule: String?
    var seconds: Double?
    var sha256: String?
    var status: Int?
    var total: Int64?
    /// Set when one command runs several transfers.
    package var transfer: String?
    var url: String?
    var verified: [String]?

    /// The report of an event.
    package init(_ event: DownloadEvent) {
        switch event {
        case .started(let received):
            self.event = "started"
            bytes = received
        case .progress(let received, let total):
            self.event = "progress"
            bytes = received
            self.total = total
        case .resumed(let offset):
            self.event = "resumed"
            self.offset = offset
        case .retrying(let wait, let cause, let rule):
            self.event = "retrying"
            self.rule = rule.code
            seconds = TransferReport.seconds(wait)
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
        case .verified(let verification):
            self.event = "verified"
            verified = [verification.rawValue]
        case .finished(let summary):
            self.event = "finished"
            bytes = summary.bytes
            bytesCompared = summary.bytesCompared
            bytesReceived = summary.bytesReceived
            bytesRepeated = summary.bytesRepeated
            connections = summary.connections
            restarts = summary.restarts
            resumptions = summary.resumptions
            seconds = TransferReport.seconds(summary.duration)
            sha256 = summary.sha256.hexadecimal
            url = summary.finalURL
            verified = summary.verified.map(\.rawValue).sorted()
            proof = summary.proof.code
        }
    }

    /// The report of a file of the server's length, which wasn't fetched.
    package init(skipped bytes: Int64?) {
        event = "skipped"
        self.bytes = bytes
    }

    /// The report of a failure.
    package init(_ error: DownloadError) {
        event = "failed"
        code = error.code.rawValue
        reason = error.sentence
        resumable = error.isResumable
        status = error.status
        if case .unproved(let unverifiedReason) = error { proof = unverifiedReason.rawValue }
    }

    private static func seconds(_ duration: Duration) -> Double {
        Double(duration.nanoseconds / 1_000) / 1e6
    }
}

extension DownloadEvent {
    /// The event as a permanent line; `nil` for progress.
    package var sentence: String? {
        switch self {
        case .started(let received):
            received > 0 ? "goes on from an earlier run, which left \(Formatting.size(received))" : nil
        case .progress, .interimResponse: nil
        case .waitingForNetwork: "the network is away; waiting for it"
        case .resumed(let offset): "resumed at \(Formatting.grouped(offset))"
        case .retrying(let wait, let cause, let rule):
            wait > .zero
                ? "\(cause.description); waiting \(TransferReport.shortText(wait)): \(rule.description)"
                : "\(cause.description); trying again at once: \(rule.description)"
        case .restarted(let reason): "starts over: \(reason.description)"
        case .redirected(let url): "redirected to \(url.shortened(to: DownloadError.shownCharacters))"
        case .verified(.server): "the digest is the one that the server gave"
        case .verified(.caller): "the digest is the one that was asked for"
        case .finished: nil
        }
    }
}

extension TransferReport {
    fileprivate static func shortText(_ wait: Duration) -> String {
        Formatting.seconds(wait).trimmingPrefix { $0 == " " }.description
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
