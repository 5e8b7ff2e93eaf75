import HTTPSemantics
import HTTPTypes
import TransferProtocol

/// The head and content of a response, decided before a byte is sent.
struct ResponsePlan: Hashable, Sendable {
    /// The content of a response.
    enum Content: Hashable, Sendable {
        /// None, by status or method.
        case none
        /// A line of text.
        case text(String)
        /// `count` bytes of the file from `first`; at least one.
        case file(first: Int64, count: Int64)
    }

    var status: HTTPResponse.Status
    var fields: HTTPFields
    var content: Content
    /// The range in the request log.
    var range: ContentRange?

    /// The methods allowed on every resource.
    static let allowedMethods = "GET, HEAD, OPTIONS"

    /// The response to a request for a file (RFC 9110, section 13.2.2): preconditions first, then the range. `method`
    /// is GET or HEAD; HEAD gets the fields of a GET without `Range` (section 14.2), and no content.
    static func file(
        _ file: FileMetadata,
        method: HTTPRequest.Method,
        fields request: HTTPFields,
        now: HTTPDate
    ) -> ResponsePlan {
        let validators = file.validators(now: now)
        let preconditions = Preconditions(request)
        switch preconditions.outcome(method: method, current: validators) {
        case .notModified:
            // With an entity tag a 304 omits the other fields of a 200 (section 15.4.5).
            let fields: HTTPFields = [.date: now.headerValue, .eTag: file.entityTag.headerValue]
            return ResponsePlan(status: .notModified, fields: fields, content: .none)
        case .failed:
            return .message(.preconditionFailed, "The file is not in the state that was asked for.", now: now)
        case .proceed:
            break
        }
        var selection = ByteRangeSelection.complete
        if method == .get, let range = request[.range].flatMap({ ByteRangeRequest($0) }),
            preconditions.honoursRange(of: validators, now: now)
        {
            selection = range.selection(ofLength: file.size)
        }
        return .selected(selection, of: file, validators, method: method, now: now)
    }

    private static func selected(
        _ selection: ByteRangeSelection,
        of file: FileMetadata,
        _ validators: Validators,
        method: HTTPRequest.Method,
        now: HTTPDate
    ) -> ResponsePlan {
        var fields: HTTPFields = [
            .date: now.headerValue,
            .acceptRanges: "bytes",
            .contentType: file.contentType,
            .eTag: file.entityTag.headerValue,
        ]
        fields[.lastModified] = validators.lastModified?.headerValue
        switch selection {
        case .complete:
            fields[.contentLength] = String(file.size)
            let content: Content = method == .head || file.size == 0 ? .none : .file(first: 0, count: file.size)
            return ResponsePlan(status: .ok, fields: fields, content: content)
        case .part(let first, let last):
            let range = ContentRange.bytes(first: first, last: last, total: file.size)
            let count = last - first + 1
            fields[.contentLength] = String(count)
            fields[.contentRange] = range.headerValue
            let content = Content.file(first: first, count: count)
            return ResponsePlan(status: .partialContent, fields: fields, content: content, range: range)
        case .unsatisfiable:
            let range = ContentRange.unsatisfied(total: file.size)
            var plan = message(.rangeNotSatisfiable, "The file has \(file.size) bytes.", now: now)
                .with(.contentRange, range.headerValue).with(.acceptRanges, "bytes")
            plan.range = range
            return plan
        }
    }

    /// Whether the response contains the file or a part of it, so that it may have a digest.
    var describesFile: Bool { status == .ok || status == .partialContent }

    /// A response with a sentence as content.
    static func message(_ status: HTTPResponse.Status, _ sentence: String, now: HTTPDate) -> ResponsePlan {
        let text = sentence + "\n"
        let fields: HTTPFields = [
            .date: now.headerValue,
            .contentType: "text/plain; charset=utf-8",
            .contentLength: String(text.utf8.count),
        ]
        return ResponsePlan(status: status, fields: fields, content: .text(text))
    }

    /// The response to a method that isn't allowed (RFC 9110, section 15.5.6).
    static func methodNotAllowed(now: HTTPDate) -> ResponsePlan {
        message(.methodNotAllowed, "Files can be read only.", now: now).with(.allow, allowedMethods)
    }

    /// The response to an unknown method (RFC 9110, section 9.1).
    static func methodUnknown(now: HTTPDate) -> ResponsePlan {
        message(.notImplemented, "This server doesn't know the method.", now: now)
    }

    /// The redirect from a folder without a trailing slash (RFC 9110, section 15.4.2).
    static func redirection(to location: String, now: HTTPDate) -> ResponsePlan {
        message(.movedPermanently, "The folder is at \(location)", now: now).with(.location, location)
    }

    /// The response to OPTIONS (RFC 9110, section 9.3.7).
    static func options(now: HTTPDate) -> ResponsePlan {
        let fields: HTTPFields = [.date: now.headerValue, .allow: allowedMethods, .acceptRanges: "bytes"]
        return ResponsePlan(status: .noContent, fields: fields, content: .none)
    }

    /// The response to a connection beyond the limit.
    static func tooManyConnections(now: HTTPDate) -> ResponsePlan {
        message(.serviceUnavailable, "Too many connections; try again later.", now: now).with(.retryAfter, "1")
    }

    private func with(_ name: HTTPField.Name, _ value: String) -> ResponsePlan {
        var plan = self
        plan.fields[name] = value
        return plan
    }
}
