/// A reference to an object that its owner keeps alive. Using it doesn't change the reference count.
public struct UncountedReference<Object: AnyObject> {
    @usableFromInline let reference: Unmanaged<Object>

    /// Refers to `object`, which must live as long as this is used.
    @inlinable
    public init(_ object: Object) { reference = .passUnretained(object) }

    /// Passes the object to `body`.
    @inlinable
    public func use<Result>(_ body: (Object) throws -> Result) rethrows -> Result {
        try reference._withUnsafeGuaranteedRef { try body($0) }
    }
}
