import FaultPlan
import Units

/// An HTTP message whose content begins inside its resource: the rest of a download (RFC 9110, section 15.3.7) or of an
/// upload (`Upload-Offset` or `Content-Range`).
public struct Resumption: Hashable, Sendable {
    /// When its head came, on the proxy's monotonic clock.
    public var moment: Moment
    /// The connection's number, from 1.
    public var connection: UInt64
    /// The direction of the content: `upstream` for uploads.
    public var direction: Direction
    /// The offset in the resource at which the content begins, above 0.
    public var offset: Int64
}
