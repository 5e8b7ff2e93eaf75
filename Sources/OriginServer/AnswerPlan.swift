import HTTPSemantics
import HTTPTypes
import TransferProtocol

/// The head of an answer and what follows it: everything that is decided before a byte is sent.
struct AnswerPlan: Hashable, Sendable {
    /// The content of an answer.
    enum Content: Hashable, Sendable {
        /// None, because the status or the method doesn't have any.
        case none
        /// A line of text.
        case text(String)
        /// The file's bytes from `first`, `count` of them, at least one.
        case file(first: Int64, count: Int64)
    }

    var status: HTTPResponse.Status
    var fields: HTTPFields
    var content: Content
    /// What the request log says about the range.
    var range: ContentRange?

    /// The methods that are allowed on everything.
    static let allowedMethods = "GET, HEAD, OPTIONS"

    /// The answer to a request for a file, by RFC 9110, section 13.2.2: preconditions first, then the range. `method`
    /// is GET or HEAD; HEAD gets the fields of GET without `Range` (section 14.2), and no content.
    static func file(
        _ file: FileFacts,
        method: HTTPRequest.Method,
        fields request: HTTPFields,
        now: HTTPDate
    ) -> AnswerPlan {
        let validators = file.validators(now: now)
        let preconditions = Preconditions(request)
        switch preconditions.outcome(method: method, current: validators) {
        case .notModified:
            // The other fields of a 200 are left out, as section 15.4.5 asks for where there is an entity tag.
            let fields: HTTPFields = [.date: now.headerValue, .eTag: file.entityTag.headerValue]
            return AnswerPlan(status: .notModified, fields: fields, content: .none)
        case .failed:
            return .message(.preconditionFailed, "The file is not in the state that was asked for.", now: now)
        case .proceed:
            break
        }
        var selection = ByteRangeSelection.whole
        if method == .get, let range = request[.range].flatMap({ ByteRangeRequest($0) }),
            preconditions.honoursRange(of: validators, now: now)
        {
            selection = range.selection(ofLength: file.size)
        }
        return .selected(selection, of: file, validators, method: method, now: now)
    }

    private static func selected(
        _ selection: ByteRangeSelection,
        of file: FileFacts,
        _ validators: Validators,
        method: HTTPRequest.Method,
        now: HTTPDate
    ) -> AnswerPlan {
        var fields: HTTPFields = [
            .date: now.headerValue,
            .acceptRanges: "bytes",
            .contentType: file.contentType,
            .eTag: file.entityTag.headerValue,
        ]
        fields[.lastModified] = validators.lastModified?.headerValue
        switch selection {
        case .whole:
            fields[.contentLength] = String(file.size)
            let content: Content = method == .head || file.size == 0 ? .none : .file(first: 0, count: file.size)
            return AnswerPlan(status: .ok, fields: fields, content: content)
        case .part(let first, let last):
            let range = ContentRange.bytes(first: first, last: last, total: file.size)
            let count = last - first + 1
            fields[.contentLength] = String(count)
            fields[.contentRange] = range.headerValue
            let content = Content.file(first: first, count: count)
            return AnswerPlan(status: .partialContent, fields: fields, content: content, range: range)
        case .unsatisfiable:
            let range = ContentRange.unsatisfied(total: file.size)
            var plan = message(.rangeNotSatisfiable, "The file has \(file.size) bytes.", now: now)
            plan.fields[.contentRange] = range.headerValue
            plan.fields[.acceptRanges] = "bytes"
            plan.range = range
            return plan
        }
    }

    /// Whether the answer carries the file or a part of it, so that a digest of the whole may go with it.
    var describesFile: Bool { status == .ok || status == .partialContent }

    /// An answer that says in a sentence why there is no other.
    static func message(_ status: HTTPResponse.Status, _ sentence: String, now: HTTPDate) -> AnswerPlan {
        let text = sentence + "\n"
        let fields: HTTPFields = [
            .date: now.headerValue,
            .contentType: "text/plain; charset=utf-8",
            .contentLength: String(text.utf8.count),
        ]
        return AnswerPlan(status: status, fields: fields, content: .text(text))
    }

    /// The answer to a method that isn't allowed (RFC 9110, section 15.5.6).
    static func methodNotAllowed(now: HTTPDate) -> AnswerPlan {
        var plan = message(.methodNotAllowed, "Files can be read only.", now: now)
        plan.fields[.allow] = allowedMethods
        return plan
    }

    /// The answer to a method that this server doesn't know (RFC 9110, section 9.1).
    static func methodUnknown(now: HTTPDate) -> AnswerPlan {
        message(.notImplemented, "This server doesn't know the method.", now: now)
    }

    /// The answer to the name of a folder without its slash: the reference to the folder (RFC 9110, section 15.4.2).
    static func redirection(to location: String, now: HTTPDate) -> AnswerPlan {
        var plan = message(.movedPermanently, "The folder is at \(location)", now: now)
        plan.fields[.location] = location
        return plan
    }

    /// The answer to OPTIONS (RFC 9110, section 9.3.7).
    static func options(now: HTTPDate) -> AnswerPlan {
        let fields: HTTPFields = [.date: now.headerValue, .allow: allowedMethods, .acceptRanges: "bytes"]
        return AnswerPlan(status: .noContent, fields: fields, content: .none)
    }

    /// The answer to a connection beyond the limit.
    static func tooManyConnections(now: HTTPDate) -> AnswerPlan {
        var plan = message(.serviceUnavailable, "Too many connections; try again later.", now: now)
        plan.fields[.retryAfter] = "1"
        return plan
    }
}
