import Crypto
import FoundationEssentials
import HTTPSemantics
import SystemPackage
import TransferProtocol

/// What is known of an open file: everything that an answer's head is made of.
struct FileFacts: Hashable, Sendable {
    /// Bytes.
    let size: Int64
    let entityTag: EntityTag
    /// The time of the last change of the content, rounded down to the second.
    let modified: HTTPDate
    /// The media type.
    let contentType: String
    /// The state of the content alone, to see whether it changed while it was being sent.
    let contentState: ContentState

    /// What changes whenever a file's content does, and stays when it is only renamed, replaced or unlinked.
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

    /// The validators for an answer dated `now`. A file from the future is as old as the answer, as RFC 9110,
    /// section 8.8.2.1, asks for.
    func validators(now: HTTPDate) -> Validators {
        Validators(entityTag: entityTag, lastModified: min(modified, now))
    }

    /// A strong entity tag of a file's state.
    ///
    /// It covers device and inode, so a file put in place of another has another tag; the size; the time of the last
    /// change of the content; and the time of the last change of the inode, which no program can set, so a rewrite
    /// that puts the old time back has another tag as well. What remains are two states of one inode with the same
    /// size within one tick of the kernel's clock (at most 10 ms): a file that is rewritten in place
    /// while it is being downloaded. It is digested, so that inode numbers aren't told to everybody.
    private static func entityTag(of status: Stat) -> EntityTag {
        let fields = [
            "\(status.deviceID.rawValue)", "\(status.inode.rawValue)", "\(status.size)",
            "\(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec)", "\(status.st_ctim.tv_sec).\(status.st_ctim.tv_nsec)",
        ]
        let digest = SHA256.hash(data: Array(fields.joined(separator: " ").utf8))
        let digits = Array("0123456789abcdef")
        let name = digest.prefix(16).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        guard let tag = EntityTag("\"\(String(name))\"") else {
            preconditionFailure("Hexadecimal digits between quotes are an entity tag")
        }
        return tag
    }
}
