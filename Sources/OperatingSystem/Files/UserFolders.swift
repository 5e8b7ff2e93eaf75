import Glibc

/// The folders of the user: by the XDG Base Directory Specification, which ignores relative paths, and for temporary files.
package enum UserFolders {
    /// `$TMPDIR` or /tmp.
    package static var temporary: String {
        let path = getenv("TMPDIR").map { String(cString: $0) } ?? ""
        return path.isEmpty ? "/tmp" : path
    }
    /// `$XDG_STATE_HOME` or `~/.local/state`; `nil` without a home.
    package static var state: String? { path("XDG_STATE_HOME") ?? home("/.local/state") }
    /// `$XDG_CONFIG_HOME` or `~/.config`; `nil` without a home.
    package static var settings: String? { path("XDG_CONFIG_HOME") ?? home("/.config") }

    private static func home(_ folder: String) -> String? { path("HOME").map { $0 + folder } }

    private static func path(_ variable: String) -> String? {
        getenv(variable).map { String(cString: $0) }.flatMap { $0.hasPrefix("/") ? $0 : nil }
    }
}
