import SystemPackage

/// Why an origin server failed to start.
public struct OriginError: Error, Hashable, Sendable {
    /// The kind of failure; raw values are stable.
    public enum Code: String, CaseIterable, Hashable, Sendable {
        case folderMissing = "folder-missing"
        case notAFolder = "not-a-folder"
        case folderUnreadable = "folder-unreadable"
        case uploadsFolderHidden = "uploads-folder-hidden"
        case uploadsFolderInUse = "uploads-folder-in-use"
        case uploadsFolderUnusable = "uploads-folder-unusable"
        case invalidPort = "invalid-port"
        case unknownHost = "unknown-host"
        case addressInUse = "address-in-use"
        case addressNotAvailable = "address-not-available"
        case addressForbidden = "address-forbidden"
        case listenFailed = "listen-failed"
    }

    /// The kind of failure.
    public let code: Code
    /// The folder, host or address concerned, or the problem of the certificate.
    public let subject: String
    /// The failed system call, if any.
    public let cause: Cause?

    /// A failed system call.
    public struct Cause: Hashable, Sendable {
        /// The name of the call.
        public let call: String
        /// Its error.
        public let errno: Errno
    }
}

extension OriginError: CustomStringConvertible {
    /// The problem and its remedy on one line.
    public var description: String {
        let reason = cause.map { " (\($0.call): \($0.errno), errno \($0.errno.rawValue))" } ?? ""
        return "\(words.problem)\(reason); \(words.remedy)"
    }

    private var words: (problem: String, remedy: String) {
        switch code {
        case .folderMissing: ("there is no folder “\(subject)”", "create it, or name another")
        case .notAFolder: ("“\(subject)” is not a folder", "name the folder that the file is in")
        case .folderUnreadable: ("the folder “\(subject)” can't be opened", "check its permissions")
        case .uploadsFolderHidden:
            (
                "“\(subject)” is a hidden folder in the served one",
                "name a folder whose path has no name that starts with a dot"
            )
        case .uploadsFolderInUse: ("another server takes uploads in “\(subject)”", "stop it, or name another folder")
        case .uploadsFolderUnusable: ("uploads can't be kept in “\(subject)”", "check its permissions and its disk")
        case .invalidPort: ("\(subject) is no port", "use 1 to 65535, or 0 for any free port")
        case .unknownHost:
            (
                "the host “\(subject)” can't be resolved to an address",
                "use an address such as 127.0.0.1, or check the name"
            )
        case .addressInUse: ("\(subject) is already in use", "use another port, or 0 for any free port")
        case .addressNotAvailable:
            ("\(subject) is no address of this machine", "use 127.0.0.1, or 0.0.0.0 for all addresses")
        case .addressForbidden: ("listening on \(subject) isn't permitted", "use a port from 1024 upwards")
        case .listenFailed: ("listening on \(subject) failed", "try another address")
        }
    }
}
