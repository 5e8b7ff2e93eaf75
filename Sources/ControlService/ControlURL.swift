import FoundationEssentials
import TerminalDisplay

/// The address of a control server: `http://HOST:PORT`, with a path for a server at one.
package struct ControlURL: Equatable {
    /// A name, or an address without brackets.
    var host: String
    var port: Int
    /// The prefix of every path, without a slash at its end.
    var path: String

    /// The address of a server that no option names.
    package static let usual = "http://localhost:8474"

    /// Parses `text`, in which `http://` may be left out.
    package init(_ text: String) throws(CommandFailure) {
        let lowercased = text.lowercased()
        guard !lowercased.hasPrefix("https://") else {
            throw .wrongInput("“\(text)” is an https URL: squall ctl speaks http only; use a tunnel, such as ssh -L")
        }
        let address = text.contains("://") ? text : "http://\(text)"
        guard let parts = URLComponents(string: address), parts.scheme?.lowercased() == "http",
            let host = parts.host, !host.isEmpty, parts.user == nil, parts.query == nil, parts.fragment == nil,
            (1...65_535).contains(parts.port ?? 80)
        else {
            throw .wrongInput("“\(text)” is no address of a server: write it as \(ControlURL.usual)")
        }
        self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        port = parts.port ?? 80
        path = parts.percentEncodedPath
        while path.hasSuffix("/") { path.removeLast() }
    }

    /// "localhost:8474".
    var authority: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
