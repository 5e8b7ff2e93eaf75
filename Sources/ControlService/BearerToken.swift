import FoundationEssentials
import TerminalDisplay
import Units

/// The bearer token (RFC 6750) that a control server asks for.
package enum BearerToken {
    /// The maximum size of its file: 4,096 bytes.
    private static let maximumFileSize = 4_096

    /// The token in `file`, else in `SQUALL_TOKEN`; `nil` without either.
    package static func read(from file: String?) throws(CommandFailure) -> String? {
        var text = ProcessInfo.processInfo.environment["SQUALL_TOKEN"]
        if let file {
            guard let data = try? Data(contentsOf: URL(filePath: file)), data.count <= maximumFileSize else {
                throw .wrongInput("the token file “\(file)” can't be read, or has more than 4,096 bytes")
            }
            text = String(decoding: data, as: UTF8.self)
        }
        guard let text else { return nil }
        let token = text.trimmed
        guard !token.isEmpty, token.unicodeScalars.allSatisfy({ $0.value > 32 && $0.value < 127 }) else {
            throw .wrongInput("the token must have one or more visible ASCII characters")
        }
        return token
    }
}
