import FoundationEssentials
import HTTPTypes
import ResumableUploads
import SystemPackage

/// The URLs to which files can be uploaded, and those of the uploads themselves.
///
/// A file is uploaded to the URL at which it is served afterwards: where the folder for uploads lies in the served folder,
/// its path from there is the start of the path. Where it lies elsewhere, the path is the name alone, and nothing that
/// is uploaded is served.
struct UploadArea: Sendable {
    /// The start of the path of an upload's URI. A hidden name, so no served file has it.
    static let uploadPath = "/.uploads/"
    /// The most bytes of a file's name, as file systems have it.
    static let longestName = 255

    /// The names from the root of the server to the folder for uploads.
    let prefix: [String]

    /// What a request is about.
    enum Subject: Hashable {
        /// Something else: it isn't for this handler.
        case other
        /// A file to upload, or an upload.
        case resource(UploadRequest.Resource)
        /// A URI of no upload.
        case missing
        /// A file of this name can't be uploaded, and why.
        case refused(String)
    }

    /// Makes the area of two folders that exist. Blocks.
    init(served: String, uploads: String) throws(OriginError) {
        let served = try Self.realPath(of: served)
        let uploads = try Self.realPath(of: uploads)
        let base = served == "/" ? "/" : served + "/"
        guard uploads != served else {
            prefix = []
            return
        }
        prefix = uploads.hasPrefix(base) ? uploads.dropFirst(base.count).split(separator: "/").map(String.init) : []
        if prefix.contains(where: { RequestTarget.isKeptBack($0) }) {
            throw OriginError(code: .uploadsFolderHidden, subject: uploads, cause: nil)
        }
    }

    private static func realPath(of path: String) throws(OriginError) -> String {
        let descriptor: FileDescriptor
        do {
            descriptor = try FileDescriptor.open(FilePath(path), .readOnly, options: [.directory, .closeOnExec])
        } catch {
            throw OriginError(openingFolder: path, error as? Errno ?? .ioError)
        }
        // Nothing was written through it that its close could lose.
        defer { try? descriptor.close() }
        do {
            return try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor.rawValue)")
        } catch {
            throw OriginError(code: .folderUnreadable, subject: path, cause: nil)
        }
    }

    /// What a request is about.
    func subject(of head: HTTPRequest) -> Subject {
        guard let target = head.path, target.utf8.count <= RequestTarget.maximumLength,
            let path = RequestTarget.path(of: target)
        else { return .other }
        if path.utf8.starts(with: Self.uploadPath.utf8) {
            let token = UploadToken(path.dropFirst(Self.uploadPath.count))
            return token.map { .resource(.upload($0)) } ?? .missing
        }
        guard [.put, .post, .options].contains(head.method),
            case .path(let components, endsWithSlash: false) = RequestTarget(target),
            let name = components.last, components.dropLast().elementsEqual(prefix)
        else { return .other }
        guard name.utf8.count <= Self.longestName else { return .refused("The name of the file is too long.") }
        guard name.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
            return .refused("The name of the file has a control character.")
        }
        return .resource(.target(UploadTarget(name: name, location: String(path))))
    }
}

extension OriginError {
    /// A folder that can't be opened.
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
