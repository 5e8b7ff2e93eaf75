import HTTPTypes

extension HTTPField.Name {
    /// `Repr-Digest` (RFC 9530, section 3).
    public static let reprDigest = registered("Repr-Digest")
    /// `Want-Repr-Digest` (RFC 9530, section 4).
    public static let wantReprDigest = registered("Want-Repr-Digest")

    /// A field name that is known to be one.
    package static func registered(_ name: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(name) else { preconditionFailure("“\(name)” is no field name") }
        return name
    }
}
