import Units

/// A fault of HTTP/1.1 itself, on the messages that `when.http` picks.
public enum HTTPFault: Hashable, Sendable {
    /// The request isn't forwarded: the proxy answers in the server's place and closes the connection.
    case answer(HTTPAnswer)
    /// Informational responses of these codes (100 to 199 without 101) vanish.
    case drop(StatusSelection)
}

/// What a client is answered in the server's place.
public struct HTTPAnswer: Hashable, Sendable {
    /// The status code, 200 to 599.
    public var status: Int
    /// Fields beside those that the proxy gives (`Connection`, `Content-Length`), in order.
    public var fields: [Field]
    /// The content, as UTF-8; empty with 204 and 304, which have none.
    public var body: String

    /// A field of the answer.
    public struct Field: Hashable, Sendable {
        /// The field's name: a token (RFC 9110, section 5.6.2).
        public var name: String
        /// The field's value, without line ends.
        public var value: String

        /// Makes a field.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// Makes an answer.
    public init(status: Int, fields: [Field] = [], body: String = "") {
        self.status = status
        self.fields = fields
        self.body = body
    }
}
