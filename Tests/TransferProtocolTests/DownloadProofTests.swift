import HTTPSemantics
import HTTPTypes
import Testing
import TransferProtocol

/// The proofs of a complete file: each row of the table in docs/command.md.
@Suite struct DownloadProofTests {
    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let earlier = "Sun, 06 Nov 1994 08:49:36 GMT"

    /// How the length of the body is marked.
    enum Framing: CaseIterable {
        case length
        case chunked
        case untilClose

        var fields: HTTPFields {
            switch self {
            case .length: [.contentLength: "300"]
            case .chunked: [.transferEncoding: "chunked"]
            case .untilClose: [:]
            }
        }
    }

    /// The validators of a response.
    enum Validators: CaseIterable {
        case both
        case tag
        case weakTag
        case lastModified
        case youngDate
        case none

        var fields: HTTPFields {
            switch self {
            case .both: [.eTag: "\"v1\"", .lastModified: DownloadProofTests.earlier, .date: DownloadProofTests.date]
            case .tag: [.eTag: "\"v1\"", .date: DownloadProofTests.date]
            case .weakTag:
                [.eTag: "W/\"v1\"", .lastModified: DownloadProofTests.earlier, .date: DownloadProofTests.date]
            case .lastModified: [.lastModified: DownloadProofTests.earlier, .date: DownloadProofTests.date]
            case .youngDate: [.eTag: "\"v1\"", .lastModified: DownloadProofTests.date, .date: DownloadProofTests.date]
            case .none: [.date: DownloadProofTests.date]
            }
        }
    }

    private func fields(_ parts: HTTPFields...) -> HTTPFields {
        parts.reduce(into: [:]) { all, part in for field in part { all.append(field) } }
    }

    /// A file of 300 bytes in one response, or cut after 100 and combined with a second one.
    private func complete(
        _ framing: Framing,
        _ validators: Validators,
        joined: HTTPFields? = nil,
        after count: Int = 100
    ) throws -> DownloadState {
        var state = DownloadState()
        #expect(try state.next(PartialDownload.response(200, fields(framing.fields, validators.fields))) == .begin)
        guard let joined else {
            _ = state.received(300)
            #expect(state.bodyEnded() == .complete)
            return state
        }
        _ = state.received(count)
        state.bodyInterrupted()
        // Half of what came is repeated.
        let first = count - count / 2
        let range: HTTPFields = [.contentRange: "bytes \(first)-299/300", .contentLength: "\(300 - first)"]
        #expect(
            try state.next(PartialDownload.response(206, fields(range, joined))) == .appendDropping(Int64(count / 2))
        )
        _ = state.received(300 - first)
        #expect(state.bodyEnded() == .complete)
        return state
    }

    private func proof(_ state: DownloadState, isDigestRight: Bool = false) -> DownloadProof {
        DownloadProof(state.representation?.evidence ?? DownloadEvidence(), isDigestRight: isDigestRight)
    }

    @Test(arguments: Framing.allCases, Validators.allCases)
    func `one response proves nothing without a digest, and anything with one`(
        framing: Framing,
        validators: Validators
    ) throws {
        let state = try complete(framing, validators)
        #expect(proof(state) == .none(framing == .untilClose ? .lengthUnknown : .oneResponse))
        #expect(proof(state, isDigestRight: true) == .digest)
    }

    @Test(arguments: [
        (Validators.both, DownloadProof.validators), (.tag, .none(.oneValidator)),
        (.lastModified, .none(.oneValidator)), (.youngDate, .none(.oneValidator)),
    ])
    func `parts are proved by two strong validators in both`(validators: Validators, proof: DownloadProof) throws {
        for framing in [Framing.length, .chunked] {
            let state = try complete(framing, validators, joined: validators.fields)
            #expect(self.proof(state) == proof)
            #expect(self.proof(state, isDigestRight: true) == .digest)
        }
    }

    @Test(arguments: [Validators.weakTag, .none])
    func `parts without a strong validator are joined behind an overlap, which proves nothing`(
        validators: Validators
    ) throws {
        let state = try complete(.length, validators, joined: validators.fields)
        #expect(proof(state) == .none(.overlapOnly))
        #expect(proof(state, isDigestRight: true) == .digest)
    }

    @Test func `validators prove nothing when a connection broke after too few bytes to compare`() throws {
        let joined = Validators.both.fields
        #expect(proof(try complete(.length, .both, joined: joined, after: 32)) == .validators)
        #expect(proof(try complete(.length, .both, joined: joined, after: 31)) == .none(.uncomparedJoin))
    }

    @Test func `a part that leaves one of two validators out is joined, and proves nothing`() throws {
        #expect(proof(try complete(.length, .both, joined: Validators.tag.fields)) == .none(.oneValidator))
    }

    @Test func `a part with the same tag and another date is joined, and leaves the file unverified`() throws {
        let swapped: HTTPFields = [.eTag: "\"v1\"", .lastModified: Self.date, .date: Self.date]
        var state = try complete(.length, .both, joined: swapped)
        #expect(proof(state) == .none(.dateDiffers))
        // A later matching response doesn't remove a doubt.
        #expect(
            state.decide(
                on: PartialDownload.response(200, fields(Framing.length.fields, Validators.both.fields)),
                to: .probe,
                now: 0
            )
                == .complete
        )
        #expect(proof(state) == .none(.dateDiffers))
    }

    @Test(arguments: Framing.allCases)
    func `a second look at the end confirms the length and both validators`(framing: Framing) throws {
        var state = try complete(framing, .both)
        let head = PartialDownload.response(200, fields(Framing.length.fields, Validators.both.fields))
        #expect(state.decide(on: head, to: .probe, now: 0) == .complete)
        #expect(proof(state) == .validators)
        var tagged = try complete(framing, .tag)
        let tag = PartialDownload.response(200, fields(Framing.length.fields, Validators.tag.fields))
        #expect(tagged.decide(on: tag, to: .probe, now: 0) == .complete)
        #expect(proof(tagged) == .none(.oneValidator))
    }

    @Test func `a confirmation with another length or version is a lasting contradiction`() throws {
        let responses: [HTTPFields] = [
            fields([.contentLength: "400"], Validators.both.fields),
            [.eTag: "\"v2\"", .contentLength: "300"],
        ]
        for response in responses {
            let complete = try complete(.untilClose, .both)
            var requested = complete
            _ = requested.decide(on: PartialDownload.response(200, response), to: .probe, now: 0)
            requested.confirmationFailed(about: complete)
            #expect(requested.nextStep == .finish)
            #expect(proof(requested) == .none(.contradicted))
        }
    }

    @Test(arguments: [405, 404, 501])
    func `a second look that is refused changes nothing`(status: Int) throws {
        let complete = try complete(.length, .both)
        var requested = complete
        _ = requested.decide(on: PartialDownload.response(status), to: .probe, now: 0)
        requested.confirmationFailed(about: complete)
        #expect(requested == complete)
    }

    @Test func `bytes after a complete response leave the file unverified`() throws {
        var state = try complete(.length, .both, joined: Validators.both.fields)
        state.excessBytesFollowed()
        #expect(proof(state) == .none(.excessBytes))
    }

    @Test func `an unverified file is suspect if the server contradicted itself`() {
        #expect(
            UnverifiedReason.allCases.filter(\.isSuspicious) == [
                .lengthUnknown, .contradicted, .excessBytes, .dateDiffers, .uncomparedJoin,
            ]
        )
        #expect(Set(UnverifiedReason.allCases.map(\.rawValue)).count == UnverifiedReason.allCases.count)
    }

    @Test func `the journal keeps the evidence`() throws {
        for agreement in DownloadEvidence.Agreement.allCases {
            for flags in 0..<8 {
                var source = JournalSource(
                    url: "http://h/a",
                    finalURL: "http://h/a",
                    representation: DownloadRepresentation()
                )
                source.representation.evidence.agreement = agreement
                source.representation.evidence.isLengthUnknown = flags & 1 != 0
                source.representation.evidence.hasExcessBytes = flags & 2 != 0
                source.representation.evidence.isContradicted = flags & 4 != 0
                let record = JournalRecord.started(source)
                let journal = try Journal(records: [(record.kind, record.payload)])
                #expect(journal.source == source)
            }
        }
    }
}
