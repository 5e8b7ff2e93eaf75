import HTTPSemantics
import HTTPTypes

extension HTTPField.Name {
    /// `Upload-Complete`.
    public static let uploadComplete = registered("Upload-Complete")
    /// `Upload-Incomplete`, of interop version 3.
    public static let uploadIncomplete = registered("Upload-Incomplete")
    /// `Upload-Offset`.
    public static let uploadOffset = registered("Upload-Offset")
    /// `Upload-Length`.
    public static let uploadLength = registered("Upload-Length")
    /// `Upload-Limit`.
    public static let uploadLimit = registered("Upload-Limit")
    /// `Upload-Draft-Interop-Version`.
    public static let uploadDraftInteropVersion = registered("Upload-Draft-Interop-Version")
}
