import FoundationEssentials
import TerminalDisplay

/// The address of a control server: `http://HOST:PORT` or `https://HOST:PORT`, with a path for a server at one.
package struct ControlURL: Equatable {
    /// A name, or an address without brackets.
    var host: String
    var port: Int
    /// Whether it is `https`.
    package private(set) var isSecure: Bool
    /// The prefix of every path, without a slash at its end.
    var path: String

    /// The address of a server that no option names.
    package static let usual = "http://localhost:8474"

    /// Parses `text`, in which `http://` may be left out.
    package init(_ text: String) throws(CommandFailure) {
        let address = text.contains("://") ? text : "http://\(text)"
        let parts = URLComponents(string: address)
        isSecure = parts?.scheme?.lowercased() == "https"
        let usualPort = isSecure ? 443 : 80
        guard let parts, isSecure || parts.scheme?.lowercased() == "http",
            let host = parts.host, !host.isEmpty, parts.user == nil, parts.query == nil, parts.fragment == nil,
            (1...65_535).contains(parts.port ?? usualPort)
        else {
            throw .wrongInput("“\(text)” is no address of a server: write it as \(ControlURL.usual)")
        }
        self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        port = parts.port ?? usualPort
        path = parts.percentEncodedPath
        while path.hasSuffix("/") { path.removeLast() }
    }

    /// "localhost:8474".
    var authority: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
