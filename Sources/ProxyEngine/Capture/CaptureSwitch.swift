import Synchronization

/// The capture of the connections that begin, which changes while proxies run.
public final class CaptureSwitch: Sendable {
    private let value = Mutex<Capture?>(nil)

    /// A switch without a capture.
    public init() {}

    /// The capture of the connections that begin from now on; `nil` for none. Others go on as they began.
    public var capture: Capture? {
        get { value.withLock { $0 } }
        set { value.withLock { $0 = newValue } }
    }
}
