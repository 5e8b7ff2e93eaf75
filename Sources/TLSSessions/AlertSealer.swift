#if TLS
    import CCrypto
    import NIOCore
    import NIOSSL
    import Synchronization

    /// Seals an alert behind the records of a server's session of TLS 1.3 (RFC 8446, section 5.2), which the library sends no
    /// alert for. It knows the keys by the line that the library writes for a key log.
    final class AlertSealer: Sendable {
        /// The alerts that end nothing by their level (RFC 8446, section 6): close_notify and user_canceled.
        private static let warnings: Set<UInt8> = [0, 90]
        private static let label = "SERVER_TRAFFIC_SECRET_0"
        private static let alertType: UInt8 = 21
        private static let applicationData: UInt8 = 23
        private static let tagSize = squall_tag_size
        private static let nonceSize = squall_nonce_size

        /// The suites (RFC 8446, appendix B.4).
        private enum Suite: UInt16 {
            case aes128 = 0x1301
            case aes256
            case chaCha20

            var keySize: Int { self == .aes128 ? 16 : 32 }
        }

        private struct State {
            var secret: [UInt8]?
            var suite: Suite?
            /// The records that have been sealed with the keys of content.
            var count: UInt64 = 0
        }

        private let state = Mutex(State())

        /// Takes a line of the key log.
        func take(_ line: ByteBuffer) {
            let words = String(buffer: line).split(whereSeparator: \.isWhitespace)
            guard words.count == 3, words[0] == AlertSealer.label else { return }
            let digits = Array(words[2].utf8)
            let secret = stride(from: 0, to: digits.count - 1, by: 2).compactMap {
                UInt8(String(decoding: digits[$0...$0 + 1], as: UTF8.self), radix: 16)
            }
            state.withLock { $0.secret = secret }
        }

        /// Takes what the server sends, in order.
        ///
        /// - Parameter isOpen: whether the handshake was complete before.
        func note(_ records: ByteBufferView, isOpen: Bool) {
            var rest = records
            while rest.count >= 5 {
                let head = Array(rest.prefix(5))
                let body = rest.dropFirst(5).prefix(Int(head[3]) << 8 | Int(head[4]))
                state.withLock { state in
                    if isOpen {
                        if head[0] == AlertSealer.applicationData { state.count += 1 }
                    } else if state.suite == nil, head[0] == 22, let suite = AlertSealer.suite(ofServerHello: body) {
                        state.suite = Suite(rawValue: suite)
                    }
                }
                rest = rest.dropFirst(5 + body.count)
            }
        }

        /// The suite in a handshake message, if it is a ServerHello (RFC 8446, section 4.1.3).
        private static func suite(ofServerHello body: ByteBufferView) -> UInt16? {
            let bytes = Array(body)
            let idLength = 4 + 2 + 32
            guard bytes.count > idLength, bytes[0] == 2 else { return nil }
            let place = idLength + 1 + Int(bytes[idLength])
            return bytes.count > place + 1 ? UInt16(bytes[place]) << 8 | UInt16(bytes[place + 1]) : nil
        }

        /// The record of an alert; `nil` before the handshake is complete, and with another version.
        func record(of alert: UInt8) -> [UInt8]? {
            let state = state.withLock { $0 }
            guard let secret = state.secret, let suite = state.suite else { return nil }
            let content = [AlertSealer.warnings.contains(alert) ? 1 : 2, alert, AlertSealer.alertType]
            let head = [AlertSealer.applicationData, 3, 3, 0, UInt8(content.count + AlertSealer.tagSize)]
            let key = AlertSealer.expand(secret, "key", suite.keySize, suite)
            var nonce = AlertSealer.expand(secret, "iv", AlertSealer.nonceSize, suite)
            for index in 0..<8 {
                nonce[nonce.count - 1 - index] ^= UInt8(truncatingIfNeeded: state.count >> UInt64(8 * index))
            }
            var sealed = [UInt8](repeating: 0, count: content.count + AlertSealer.tagSize)
            let number = Int32(suite.rawValue)
            let isSealed = unsafe squall_seal(number, key, nonce, head, head.count, content, content.count, &sealed)
            return isSealed == 1 ? head + sealed : nil
        }

        /// HKDF-Expand-Label without a context, of a length that one hash has (RFC 8446, section 7.1; RFC 5869, section 2.3).
        private static func expand(_ secret: [UInt8], _ label: String, _ count: Int, _ suite: Suite) -> [UInt8] {
            let name = Array("tls13 \(label)".utf8)
            let info = [UInt8(count >> 8), UInt8(count & 255), UInt8(name.count)] + name + [0, 1]
            var code = [UInt8](repeating: 0, count: squall_largest_hash)
            let size = unsafe squall_authenticate(Int32(suite.rawValue), secret, secret.count, info, info.count, &code)
            precondition(size >= count, "HMAC of libcrypto works on memory alone and can't fail")
            return Array(code.prefix(count))
        }
    }
#endif
