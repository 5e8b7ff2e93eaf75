/// A number of bytes: a size, or an offset into a stream. Never negative where a profile is read.
public struct ByteCount: Comparable, Hashable, Sendable {
    /// The number of bytes.
    public var bytes: Int64

    /// Makes a byte count of `bytes`.
    @inlinable
    public init(_ bytes: Int64) {
        self.bytes = bytes
    }

    /// No byte.
    public static let zero = ByteCount(0)

    /// Whether `left` is the smaller.
    @inlinable
    public static func < (left: ByteCount, right: ByteCount) -> Bool { left.bytes < right.bytes }

    /// `count` × 1,024 bytes.
    public static func kibibytes(_ count: Int64) -> ByteCount { ByteCount(count << 10) }
    /// `count` × 1,048,576 bytes.
    public static func mebibytes(_ count: Int64) -> ByteCount { ByteCount(count << 20) }
}
