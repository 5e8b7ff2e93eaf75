/// Finds the host name in a TLS ClientHello, which may be split over records (RFC 8446, sections 4.1.2 and 5.1).
///
/// The name is known once its extension is complete; what follows in the hello isn't checked.
struct ClientHello {
    /// The type of a record with handshake messages.
    static let handshakeRecord: UInt8 = 22
    private static let recordHead = 5
    private static let longestFragment = 1 << 14
    private static let clientHello: UInt8 = 1
    private static let messageHead = 4
    private static let serverName = 0
    private static let applicationProtocols = 16
    private static let hostName = 0

    /// The handshake message without the heads of records.
    private var message: [UInt8] = []
    /// The end of the bytes that were taken into the message or are heads of records.
    private var scanned = 0
    /// The bytes of the record's fragment that haven't come.
    private var left = 0
    /// Whether the bytes are no handshake message of a client.
    private(set) var isForeign = false

    /// Whether the whole message has come.
    var isComplete: Bool { length.map { message.count >= ClientHello.messageHead + $0 } ?? false }

    private var length: Int? {
        message.count >= ClientHello.messageHead ? message.span.number(at: 1) << 8 | Int(message[3]) : nil
    }

    /// Reads further in the bytes of the connection, given from the first.
    mutating func read(_ bytes: Span<UInt8>) -> NameReader.Outcome {
        var isValid = true
        while isValid, scanned < bytes.count {
            if left > 0 {
                let count = min(left, bytes.count - scanned)
                for index in scanned..<scanned + count { message.append(bytes[index]) }
                scanned += count
                left -= count
            } else {
                isValid = ClientHello.mayBeHead(bytes.extracting(scanned...))
                if bytes.count - scanned < ClientHello.recordHead { break }
                left = Int(bytes[scanned + 3]) << 8 | Int(bytes[scanned + 4])
                scanned += ClientHello.recordHead
            }
        }
        let outcome = find()
        if !isComplete, !isValid || message.first.map({ $0 != ClientHello.clientHello }) ?? false { isForeign = true }
        return isValid || outcome != .incomplete ? outcome : .none
    }

    /// Whether the bytes are the head of a record with a part of a handshake message, or the beginning of such a head.
    private static func mayBeHead(_ head: Span<UInt8>) -> Bool {
        // All versions of TLS have 3 here (RFC 8446, section 5.1).
        guard head[0] == handshakeRecord, head.count < 2 || head[1] == 3 else { return false }
        guard head.count >= recordHead else { return true }
        return (1...longestFragment).contains(Int(head[3]) << 8 | Int(head[4]))
    }

    /// The name in the message as far as it has come.
    private func find() -> NameReader.Outcome {
        let bytes = message.span
        if let type = message.first, type != ClientHello.clientHello { return .none }
        guard let length else { return .incomplete }
        do throws(TLSVector.Stop) {
            guard let content = try ClientHello.find(ClientHello.serverName, of: length, in: bytes) else {
                return .none
            }
            return try ClientHello.name(in: content, of: bytes)
        } catch {
            return error == .missing ? .incomplete : .none
        }
    }

    /// The content of an extension of a hello of `length` bytes; `nil` without it.
    private static func find(_ wanted: Int, of length: Int, in bytes: Span<UInt8>) throws(TLSVector.Stop) -> TLSVector?
    {
        var hello = TLSVector(messageHead..<messageHead + length)
        // legacy_version and random.
        try hello.skip(2 + 32)
        // legacy_session_id, cipher_suites, legacy_compression_methods.
        for size in [1, 2, 1] { _ = try hello.vector(bytes, size: size) }
        // A hello of old may have none (RFC 5246, section 7.4.1.2).
        if hello.isEmpty { return nil }
        var extensions = try hello.vector(bytes, size: 2)
        while !extensions.isEmpty {
            let type = try extensions.number(bytes, size: 2)
            let content = try extensions.vector(bytes, size: 2)
            if type == wanted { return content }
        }
        return nil
    }

    /// The protocols that a complete hello offers by ALPN (RFC 7301), in order; none without it, `nil` if it is malformed. Names
    /// that aren't of ASCII, such as those of RFC 8701, are left out: no server chooses them.
    func protocols() -> [String]? {
        guard let length else { return nil }
        let bytes = message.span
        do throws(TLSVector.Stop) {
            guard var content = try ClientHello.find(ClientHello.applicationProtocols, of: length, in: bytes) else {
                return []
            }
            var list = try content.vector(bytes, size: 2)
            var names: [String] = []
            while !list.isEmpty {
                let name = try list.vector(bytes, size: 1).content(bytes)
                if !name.isEmpty, name.allSatisfy({ bytes[$0] < 0x80 }) { names.append(bytes.text(name)) }
            }
            return names
        } catch {
            return nil
        }
    }

    /// The first host name of a ServerNameList (RFC 6066, section 3).
    private static func name(in content: TLSVector, of bytes: Span<UInt8>) throws(TLSVector.Stop)
        -> NameReader.Outcome
    {
        _ = try content.content(bytes)
        var content = content
        var list = try content.vector(bytes, size: 2)
        while !list.isEmpty {
            let type = try list.number(bytes, size: 1)
            let name = try list.vector(bytes, size: 2).content(bytes)
            if type == hostName { return ProxyTarget(host: bytes.text(name), port: 1).map { .name($0.host) } ?? .none }
        }
        return .none
    }
}

/// A range of a message that holds numbers and vectors, some of whose bytes may not have come (RFC 8446, section 3.4).
private struct TLSVector {
    /// Why reading can't go on.
    enum Stop: Error {
        /// The bytes haven't come.
        case missing
        /// The range ends too early.
        case malformed
    }

    private var rest: Range<Int>

    init(_ range: Range<Int>) {
        rest = range
    }

    var isEmpty: Bool { rest.isEmpty }

    /// Skips `count` bytes; returns where they are.
    @discardableResult
    mutating func skip(_ count: Int) throws(Stop) -> Range<Int> {
        guard count <= rest.count else { throw .malformed }
        defer { rest = rest.lowerBound + count..<rest.upperBound }
        return rest.lowerBound..<rest.lowerBound + count
    }

    /// A number of 1 or 2 bytes.
    mutating func number(_ bytes: Span<UInt8>, size: Int) throws(Stop) -> Int {
        let place = try skip(size)
        guard place.upperBound <= bytes.count else { throw .missing }
        return size == 1 ? Int(bytes[place.lowerBound]) : bytes.number(at: place.lowerBound)
    }

    /// Enters a vector whose length has `size` bytes; the vector's own may be missing.
    mutating func vector(_ bytes: Span<UInt8>, size: Int) throws(Stop) -> TLSVector {
        TLSVector(try skip(try number(bytes, size: size)))
    }

    /// The bytes that are left, all of which have come.
    func content(_ bytes: Span<UInt8>) throws(Stop) -> Range<Int> {
        guard rest.upperBound <= bytes.count else { throw .missing }
        return rest
    }
}

extension Span where Element == UInt8 {
    /// The two bytes from `index` on as a number, most significant byte first.
    fileprivate func number(at index: Int) -> Int { Int(self[index]) << 8 | Int(self[index + 1]) }
}
