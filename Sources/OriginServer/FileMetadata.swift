import Digests
import FoundationEssentials
import HTTPSemantics
import SystemPackage
import TransferProtocol

/// The metadata of an open file that a response head needs.
struct FileMetadata: Hashable, Sendable {
    /// The size in bytes.
    let size: Int64
    let entityTag: EntityTag
    /// The mtime, rounded down to seconds.
    let modified: HTTPDate
    /// The media type.
    let contentType: String
    /// The state of the content, to detect a change while it is sent.
    let contentState: ContentState

    /// Changes with a file's content, but not when the file is renamed, replaced or unlinked.
    struct ContentState: Hashable, Sendable {
        let size: Int64
        let modifiedSeconds: Int64
        let modifiedNanoseconds: Int64

        init(_ status: Stat) {
            size = status.size
            modifiedSeconds = Int64(status.st_mtim.tv_sec)
            modifiedNanoseconds = Int64(status.st_mtim.tv_nsec)
        }
    }

    init(_ status: Stat, fileName: String) {
        size = status.size
        entityTag = Self.entityTag(of: status)
        modified = HTTPDate(secondsSinceEpoch: Int64(status.st_mtim.tv_sec))
        contentType = ContentType.of(fileName: fileName)
        contentState = ContentState(status)
    }

    /// The validators for a response dated `now`. An mtime in the future becomes `now` (RFC 9110, section 8.8.2.1).
    func validators(now: HTTPDate) -> Validators {
        Validators(entityTag: entityTag, lastModified: min(modified, now))
    }

    /// A strong entity tag for the state of a file.
    ///
    /// Covers device and inode, so that a replacement file differs; size; mtime; and ctime, which programs can't set,
    /// so that a rewrite with a restored mtime differs too. It can't distinguish two states of one inode with the same
    /// size within one kernel clock tick (at most 10 ms), when a file is rewritten in place during a download. Hashed,
    /// so that inode numbers aren't exposed.
    static func entityTag(of status: Stat) -> EntityTag {
        let fields = [
            "\(status.deviceID.rawValue)", "\(status.inode.rawValue)", "\(status.size)",
            "\(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec)", "\(status.st_ctim.tv_sec).\(status.st_ctim.tv_nsec)",
        ]
        let name = SHA256.hash(fields.joined(separator: " ").utf8).prefix(16).hexadecimal
        guard let tag = EntityTag("\"\(name)\"") else {
            preconditionFailure("Hexadecimal digits between quotes are an entity tag")
        }
        return tag
    }
}
