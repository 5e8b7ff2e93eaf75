import HTTPTypes

/// The validators of a representation's current state (RFC 9110, section 8.8).
public struct Validators: Hashable, Sendable {
    /// The entity tag, if any.
    public var entityTag: EntityTag?
    /// The date of the last change, if known; never later than the `Date` of the response.
    public var lastModified: HTTPDate?

    /// Makes the validators of a state.
    public init(entityTag: EntityTag?, lastModified: HTTPDate?) {
        self.entityTag = entityTag
        self.lastModified = lastModified
    }
}

/// The preconditions of a request (RFC 9110, section 13).
public struct Preconditions: Hashable, Sendable {
    /// The result of evaluating the preconditions.
    public enum Outcome: Hashable, Sendable {
        /// The request is performed.
        case proceed
        /// The client has the current state: 304, with the validators and no content.
        case notModified
        /// The current state isn't the expected one: 412, and nothing is changed.
        case failed
    }

    private let ifMatch: Condition
    private let ifNoneMatch: Condition
    private let ifModifiedSince: HTTPDate?
    private let ifUnmodifiedSince: HTTPDate?
    private let ifRange: IfRange

    /// Parses the five fields. An invalid date is ignored (RFC 9110, sections 13.1.3 and 13.1.4). An invalid list of
    /// tags matches nothing: `If-Match` fails and `If-None-Match` passes.
    public init(_ fields: HTTPFields) {
        ifMatch = Condition(fields[.ifMatch])
        ifNoneMatch = Condition(fields[.ifNoneMatch])
        ifModifiedSince = fields[.ifModifiedSince].flatMap { HTTPDate($0) }
        ifUnmodifiedSince = fields[.ifUnmodifiedSince].flatMap { HTTPDate($0) }
        ifRange = IfRange(fields[.ifRange])
    }

    /// Evaluates the preconditions in the order of RFC 9110, section 13.2.2, against the current state of the target;
    /// `nil` when it has none. Called only when the response would be a success otherwise (section 13.2.1).
    public func outcome(method: HTTPRequest.Method, current: Validators?) -> Outcome {
        let isRead = method == .get || method == .head
        if ifMatch.isPresent {
            guard ifMatch.holds(for: current, { $0.matchesStrongly($1) }) else { return .failed }
        } else if let date = ifUnmodifiedSince, let current {
            // A state without a date can't be shown to be older.
            guard let lastModified = current.lastModified, lastModified <= date else { return .failed }
        }
        if ifNoneMatch.isPresent {
            if ifNoneMatch.holds(for: current, { $0.matchesWeakly($1) }) { return isRead ? .notModified : .failed }
        } else if isRead, let date = ifModifiedSince, let lastModified = current?.lastModified, lastModified <= date {
            return .notModified
        }
        return .proceed
    }

    /// Whether `Range` is honoured: always without `If-Range`; with it only if it identifies the current state (RFC
    /// 9110, section 13.1.5).
    ///
    /// A tag uses strong comparison. A date must equal `lastModified` exactly, and that must be a strong validator: at
    /// least one second before `now`, the `Date` of the response (section 8.8.2.2). Any other value never matches.
    public func honoursRange(of current: Validators, now: HTTPDate) -> Bool {
        switch ifRange {
        case .absent: true
        case .entityTag(let tag): current.entityTag.map { $0.matchesStrongly(tag) } ?? false
        case .date(let date): current.lastModified == date && date < now
        case .malformed: false
        }
    }
}

extension Preconditions {
    /// A field with entity tags.
    private enum Condition: Hashable {
        case absent
        case present(EntityTagCondition)
        case malformed

        init(_ headerValue: String?) {
            self = headerValue.map { EntityTagCondition($0).map { .present($0) } ?? .malformed } ?? .absent
        }

        var isPresent: Bool { self != .absent }

        func holds(for current: Validators?, _ matches: (EntityTag, EntityTag) -> Bool) -> Bool {
            guard let current, case .present(let condition) = self else { return false }
            switch condition {
            case .any:
                return true
            case .oneOf(let tags):
                guard let entityTag = current.entityTag else { return false }
                return tags.contains { matches(entityTag, $0) }
            }
        }
    }

    /// The `If-Range` field.
    private enum IfRange: Hashable {
        case absent
        case entityTag(EntityTag)
        case date(HTTPDate)
        case malformed

        init(_ headerValue: String?) {
            self =
                if let headerValue {
                    EntityTag(headerValue).map { .entityTag($0) } ?? HTTPDate(headerValue).map { .date($0) }
                        ?? .malformed
                } else {
                    .absent
                }
        }
    }
}
