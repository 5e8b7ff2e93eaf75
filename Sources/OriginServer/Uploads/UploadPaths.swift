import FoundationEssentials
import HTTPTypes
import ResumableUploads
import SystemPackage

/// The URLs for uploading files, and those of upload resources.
///
/// A file is uploaded to the URL that serves it afterwards: if the upload folder is in the served one, the path starts
/// with its relative path. Otherwise the path is the name alone, and uploaded files aren't served.
struct UploadPaths: Sendable {
    /// The path prefix of upload resources. A hidden name, so no served file has it.
    static let uploadPath = "/.uploads/"
    /// The maximum length of a file name in bytes, as in file systems.
    static let maximumNameLength = 255

    /// The path components from the server root to the upload folder.
    let prefix: [String]

    /// The resource of a request.
    enum Subject: Hashable {
        /// Not related to uploads.
        case other
        /// A target file or an upload resource.
        case resource(UploadRequestHead.Resource)
        /// An invalid upload URL.
        case missing
        /// A file name that can't be uploaded, with the reason.
        case refused(String)
        /// A target, and a method that it doesn't take.
        case notAllowed
    }

    /// Makes the paths of two existing folders. Blocks.
    init(served: String, uploads: String) throws(OriginError) {
        let served = try Self.realPath(of: served)
        let uploads = try Self.realPath(of: uploads)
        let base = served == "/" ? "/" : served + "/"
        guard uploads != served else {
            prefix = []
            return
        }
        prefix = uploads.hasPrefix(base) ? uploads.dropFirst(base.count).split(separator: "/").map(String.init) : []
        if prefix.contains(where: { RequestTarget.isHidden($0) }) {
            throw OriginError(code: .uploadsFolderHidden, subject: uploads, cause: nil)
        }
    }

    private static func realPath(of path: String) throws(OriginError) -> String {
        let descriptor = try ServedFolder.openFolder(path)
        // Opened only for reading, so close can't lose writes.
        defer { try? descriptor.close() }
        do {
            return try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor.rawValue)")
        } catch {
            throw OriginError(code: .folderUnreadable, subject: path, cause: nil)
        }
    }

    /// The resource of a request.
    func subject(of head: HTTPRequest) -> Subject {
        guard let target = head.path, target.utf8.count <= RequestTarget.maximumLength,
            let path = RequestTarget.path(of: target)
        else { return .other }
        if path.utf8.starts(with: Self.uploadPath.utf8) {
            let token = UploadToken(path.dropFirst(Self.uploadPath.count))
            return token.map { .resource(.upload($0)) } ?? .missing
        }
        guard ![.get, .head].contains(head.method),
            case .path(let components, endsWithSlash: false) = RequestTarget(target),
            let name = components.last, components.dropLast().elementsEqual(prefix)
        else { return .other }
        guard name.utf8.count <= Self.maximumNameLength else { return .refused("The name of the file is too long.") }
        guard name.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
            return .refused("The name of the file has a control character.")
        }
        guard [.put, .post, .options].contains(head.method) else { return .notAllowed }
        return .resource(.target(UploadTarget(name: name, location: String(path))))
    }
}

extension OriginError {
    /// An error for a folder that can't be opened.
    init(openingFolder path: String, _ errno: Errno) {
        let code: Code =
            switch errno {
            case .noSuchFileOrDirectory: .folderMissing
            case .notDirectory: .notAFolder
            default: .folderUnreadable
            }
        self.init(code: code, subject: path, cause: Cause(call: "open", errno: errno))
    }
}
