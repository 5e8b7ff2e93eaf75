import FoundationEssentials

/// A problem details object (RFC 9457) for uploads.
public enum ProblemDetails: Hashable, Sendable {
    /// The PATCH started at another offset than the upload's (409).
    case mismatchingOffset(expected: Int64, provided: Int64)
    /// Requests declared contradicting lengths (400).
    case inconsistentLength
    /// The upload is already complete (400); up to draft 11.
    case completedUpload

    /// The media type of the object.
    public static let mediaType = "application/problem+json"
    /// The maximum size of an object that is parsed: 16 KiB.
    public static let maximumSize = 16 << 10

    /// The status of the response.
    public var status: Int {
        switch self {
        case .mismatchingOffset: 409
        case .inconsistentLength, .completedUpload: 400
        }
    }

    /// The problem as a JSON object in UTF-8.
    public var json: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Strings and integers always encode.
        return (try? encoder.encode(Members(self))).map { Array($0) } ?? Array("{}".utf8)
    }

    /// Parses a JSON object. Returns `nil` when it is longer than `maximumSize`, isn't JSON, has another type, or lacks a
    /// member.
    public init?(json: some Collection<UInt8>) {
        guard json.count <= Self.maximumSize, let members = try? JSONDecoder().decode(Members.self, from: Data(json))
        else {
            return nil
        }
        switch members.type.flatMap({ ProblemType(rawValue: $0) }) {
        case .mismatchingOffset:
            guard let expected = members.expectedOffset, let provided = members.providedOffset,
                (0...StructuredItem.largestInteger).contains(expected),
                (0...StructuredItem.largestInteger).contains(provided)
            else { return nil }
            self = .mismatchingOffset(expected: expected, provided: provided)
        case .inconsistentLength: self = .inconsistentLength
        case .completedUpload: self = .completedUpload
        case nil: return nil
        }
    }

    fileprivate enum ProblemType: String {
        case mismatchingOffset = "https://iana.org/assignments/http-problem-types#mismatching-upload-offset"
        case inconsistentLength = "https://iana.org/assignments/http-problem-types#inconsistent-upload-length"
        case completedUpload = "https://iana.org/assignments/http-problem-types#completed-upload"
    }

    private struct Members: Codable {
        var type: String?
        var title: String?
        var status: Int?
        var expectedOffset: Int64?
        var providedOffset: Int64?

        enum CodingKeys: String, CodingKey {
            case type, title, status
            case expectedOffset = "expected-offset"
            case providedOffset = "provided-offset"
        }

        init(_ problem: ProblemDetails) {
            status = problem.status
            switch problem {
            case .mismatchingOffset(let expected, let provided):
                type = ProblemType.mismatchingOffset.rawValue
                title = "The offset in the request isn't the upload's"
                expectedOffset = expected
                providedOffset = provided
            case .inconsistentLength:
                type = ProblemType.inconsistentLength.rawValue
                title = "The length of the upload contradicts an earlier one"
            case .completedUpload:
                type = ProblemType.completedUpload.rawValue
                title = "The upload is complete already"
            }
        }
    }
}
