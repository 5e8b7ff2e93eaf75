import HTTPTypes

extension HTTPField.Name {
    /// `Upload-Complete`.
    public static let uploadComplete = registeredUploadField("Upload-Complete")
    /// `Upload-Incomplete`, of interop version 3.
    public static let uploadIncomplete = registeredUploadField("Upload-Incomplete")
    /// `Upload-Offset`.
    public static let uploadOffset = registeredUploadField("Upload-Offset")
    /// `Upload-Length`.
    public static let uploadLength = registeredUploadField("Upload-Length")
    /// `Upload-Limit`.
    public static let uploadLimit = registeredUploadField("Upload-Limit")
    /// `Upload-Draft-Interop-Version`.
    public static let uploadDraftInteropVersion = registeredUploadField("Upload-Draft-Interop-Version")

    private static func registeredUploadField(_ name: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(name) else { preconditionFailure("“\(name)” is no field name") }
        return name
    }
}
