/// The identity of an uploaded file: equal identities mean equal bytes, unless times were forged.
public struct UploadSource: Hashable, Sendable {
    /// The length in bytes.
    public var length: Int64
    /// The device number.
    public var device: UInt64
    /// The inode number.
    public var inode: UInt64
    /// The mtime, in nanoseconds since 1970.
    public var modified: Int64
    /// The ctime, in nanoseconds since 1970; no call can set it.
    public var changed: Int64

    /// Makes an identity.
    public init(length: Int64, device: UInt64, inode: UInt64, modified: Int64, changed: Int64) {
        self.length = length
        self.device = device
        self.inode = inode
        self.modified = modified
        self.changed = changed
    }
}
