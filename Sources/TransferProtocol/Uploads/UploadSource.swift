/// The identity of a file that is uploaded: two equal identities are the same bytes, unless somebody forges times.
public struct UploadSource: Hashable, Sendable {
    /// The length in bytes.
    public var length: Int64
    /// The number of the device.
    public var device: UInt64
    /// The number of the inode.
    public var inode: UInt64
    /// The time of the last change of the content, in nanoseconds since 1970.
    public var modified: Int64
    /// The time of the last change of the inode, in nanoseconds since 1970; no call sets it.
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
