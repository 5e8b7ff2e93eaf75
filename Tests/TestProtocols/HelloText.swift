/// A ClientHello, part by part (RFC 8446, section 4.1.2).
package struct HelloText {
    /// The content of `server_name`; `nil` leaves the extension out.
    package var serverName: [UInt8]?
    /// The extensions in front of `server_name`.
    package var before: [[UInt8]] = [[0x3A, 0x3A, 0, 0], [0, 10, 0, 4, 0, 2, 0, 29]]
    /// The extensions after `server_name`.
    package var after: [[UInt8]] = [[0, 43, 0, 3, 2, 3, 4]]
    /// The longest fragment of a record.
    package var fragment = 1 << 14

    /// A hello for `name`, with the extension for `protocols` (RFC 7301) at its end.
    package init(_ name: String?, protocols: [String]? = nil) {
        serverName = name.map { HelloText.list([(0, Array($0.utf8))]) }
        guard let protocols else { return }
        let list = protocols.flatMap { HelloText.vector(Array($0.utf8), 1) }
        after.append([0, 16] + HelloText.vector(HelloText.vector(list, 2), 2))
    }

    /// A ServerNameList (RFC 6066, section 3).
    package static func list(_ names: [(type: UInt8, name: [UInt8])]) -> [UInt8] {
        vector(names.flatMap { [$0.type] + vector($0.name, 2) }, 2)
    }

    /// An extension of `size` bytes, as that of a post-quantum key share.
    package static func keyShare(_ size: Int) -> [UInt8] {
        [0, 51] + vector([UInt8](repeating: 0x11, count: size - 4), 2)
    }

    package static func vector(_ content: [UInt8], _ lengthBytes: Int) -> [UInt8] {
        (0..<lengthBytes).reversed().map { UInt8(truncatingIfNeeded: content.count >> (8 * $0)) } + content
    }

    /// The handshake message.
    package var message: [UInt8] {
        let name = serverName.map { [[0, 0] + HelloText.vector($0, 2)] } ?? []
        let body =
            [3, 3] + [UInt8](repeating: 7, count: 32) + HelloText.vector([UInt8](repeating: 1, count: 32), 1)
            + HelloText.vector([0x13, 0x01, 0x13, 0x02], 2) + HelloText.vector([0], 1)
            + HelloText.vector((before + name + after).flatMap(\.self), 2)
        return [1] + HelloText.vector(body, 3)
    }

    /// The message in records.
    package var bytes: [UInt8] {
        let message = message
        return stride(from: 0, to: message.count, by: fragment).flatMap { start in
            [22, 3, 1] + HelloText.vector(Array(message[start..<min(start + fragment, message.count)]), 2)
        }
    }
}
