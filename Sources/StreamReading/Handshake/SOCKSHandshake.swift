import FaultProfile

/// The server's side of a SOCKS5 handshake (RFC 1928) without authentication or with a password (RFC 1929).
struct SOCKSHandshake {
    /// The result of reading the next message.
    enum Result: Equatable {
        /// The message is incomplete.
        case incomplete
        /// A message of this size was read; the next one follows.
        case message(size: Int)
        /// The request, of this size, is for the target.
        case request(ProxyTarget, size: Int)
        /// The handshake has failed; the reply says so.
        case failed
    }

    private enum State {
        case greeting
        case password
        case request
    }

    static let version: UInt8 = 5
    private static let noMethod: UInt8 = 0xFF
    private static let connect: UInt8 = 1

    private let password: ProxyPassword?
    private var state = State.greeting
    /// Whether the password that the client has given is right; `nil` if none is asked for or given.
    private(set) var hasRightPassword: Bool?
    /// The replies that have not been taken.
    var replies: [UInt8] = []

    init(password: ProxyPassword?) {
        self.password = password
    }

    mutating func read(_ bytes: Span<UInt8>) -> Result {
        switch state {
        case .greeting: readGreeting(bytes)
        case .password: readPassword(bytes)
        case .request: readRequest(bytes)
        }
    }

    /// The reply that ends the handshake: `code` 0 is success. The bound address is left open.
    static func reply(_ code: UInt8) -> [UInt8] { [version, code, 0, 1, 0, 0, 0, 0, 0, 0] }

    /// Whether an error may be sent as the reply to a request.
    var awaitsReply: Bool { if case .request = state { true } else { false } }

    /// VER, NMETHODS, METHODS.
    private mutating func readGreeting(_ bytes: Span<UInt8>) -> Result {
        guard bytes.count >= 2 else { return .incomplete }
        let size = 2 + Int(bytes[1])
        guard bytes.count >= size else { return .incomplete }
        let offered = (2..<size).map { bytes[$0] }
        // Clients that only offer a password may give any where none is asked for.
        let wanted: [UInt8] = password == nil ? [0, 2] : [2]
        guard let method = wanted.first(where: offered.contains) else {
            replies += [SOCKSHandshake.version, SOCKSHandshake.noMethod]
            return .failed
        }
        replies += [SOCKSHandshake.version, method]
        state = method == 2 ? .password : .request
        return .message(size: size)
    }

    /// VER, ULEN, UNAME, PLEN, PASSWD.
    private mutating func readPassword(_ bytes: Span<UInt8>) -> Result {
        guard bytes.count >= 2 else { return .incomplete }
        let start = 2 + Int(bytes[1])
        guard bytes.count > start else { return .incomplete }
        let size = start + 1 + Int(bytes[start])
        guard bytes.count >= size else { return .incomplete }
        let given = (start + 1..<size).map { bytes[$0] }
        hasRightPassword = password?.matches(given)
        guard bytes[0] == 1, hasRightPassword ?? true else {
            replies += [1, 1]
            return .failed
        }
        replies += [1, 0]
        state = .request
        return .message(size: size)
    }

    /// VER, CMD, RSV, ATYP, DST.ADDR, DST.PORT.
    private mutating func readRequest(_ bytes: Span<UInt8>) -> Result {
        guard bytes.count >= 5 else { return .incomplete }
        guard bytes[0] == SOCKSHandshake.version else { return fail(1) }
        guard bytes[1] == SOCKSHandshake.connect else { return fail(7) }
        let address: Range<Int>
        switch bytes[3] {
        case 1: address = 4..<8
        case 3: address = 5..<5 + Int(bytes[4])
        case 4: address = 4..<20
        default: return fail(8)
        }
        let size = address.upperBound + 2
        guard bytes.count >= size else { return .incomplete }
        let port = UInt16(bytes[size - 2]) << 8 | UInt16(bytes[size - 1])
        let host =
            switch bytes[3] {
            case 1: address.map { String(bytes[$0]) }.joined(separator: ".")
            case 3: bytes.text(address)
            default: SOCKSHandshake.six(bytes.extracting(address))
            }
        guard let target = ProxyTarget(host: host, port: port) else { return fail(1) }
        return .request(target, size: size)
    }

    private mutating func fail(_ code: UInt8) -> Result {
        replies += SOCKSHandshake.reply(code)
        return .failed
    }

    /// The text of the 16 bytes of an IPv6 address.
    private static func six(_ bytes: Span<UInt8>) -> String {
        let groups = (0..<8).map { String(UInt16(bytes[2 * $0]) << 8 | UInt16(bytes[2 * $0 + 1]), radix: 16) }
        let text = groups.joined(separator: ":")
        return IPAddress(text)?.text ?? text
    }
}
