/// The text of a profile and the name of its file.
public struct ProfileSource: Hashable, Sendable {
    /// The file's path, as messages show it; `extends` with a path starts in its folder.
    public var file: String
    /// The file's content. At most `ProfileLimits.fileBytes` are read, or `embeddingBytes` around an embedded profile.
    public var bytes: [UInt8]
    /// The preset of that name in a file of presets; `nil` where the file is one profile.
    public var preset: String?

    /// Makes a source of a file's name and content.
    public init(file: String, bytes: [UInt8], preset: String? = nil) {
        self.file = file
        self.bytes = bytes
        self.preset = preset
    }

    package init(file: String, text: String) {
        self.init(file: file, bytes: Array(text.utf8))
    }
}

/// A reference to a profile or to a file of one.
public enum ProfileReference: Hashable, Sendable {
    /// A shipped profile by name: `"slow-3g"`.
    case shipped(String)
    /// A file: a path as the process can open it, if the path of the file that refers to it was one.
    case path(String)
    /// A trace: a path as the process can open it, likewise. At most `ProfileLimits.traceBytes` are read.
    case trace(String)
    /// A certificate with its key: likewise. At most `ProfileLimits.certificateBytes` are read.
    case certificate(String)

    /// The path of a file; `nil` for a shipped profile.
    package var path: String? {
        switch self {
        case .shipped: nil
        case .path(let path), .trace(let path), .certificate(let path): path
        }
    }

    /// Reads the value of `extends` in the file `referrer`: a text with a slash or the ending of a file, `.json` or one of
    /// `YAMLText.endings`, is a path, absolute or relative to the referrer's folder; any other text is the name of a shipped
    /// profile.
    public init(_ text: String, in referrer: String) {
        guard text.contains("/") || ([".json"] + YAMLText.endings).contains(where: text.hasSuffix) else {
            self = .shipped(text)
            return
        }
        self = .path(ProfileReference.path(ofFile: text, in: referrer))
    }

    /// The path `text`, absolute or from the folder of the file `referrer`.
    static func path(ofFile text: String, in referrer: String) -> String {
        guard !text.hasPrefix("/"), let slash = referrer.lastIndex(of: "/") else { return text }
        return String(referrer[...slash]) + text
    }
}

/// Why a profile that another one extends can't be had.
public struct ResolutionError: Error, Hashable, Sendable {
    /// What is wrong, as a clause: "there is no shipped profile “slow-3h”".
    public let what: String
    /// What to do about it, as an instruction.
    public let remedy: String

    package init(what: String, remedy: String) {
        self.what = what
        self.remedy = remedy
    }
}
