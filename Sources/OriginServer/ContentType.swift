/// Maps file names to media types.
enum ContentType {
    /// The media type for a file name, by its case-insensitive extension; `application/octet-stream` if unknown.
    static func of(fileName: String) -> String {
        let name = fileName.split(separator: ".", omittingEmptySubsequences: false)
        guard name.count > 1, let fileExtension = name.last else { return unknown }
        return table[fileExtension.lowercased()] ?? unknown
    }

    private static let unknown = "application/octet-stream"

    private static let table = [
        "css": "text/css; charset=utf-8",
        "csv": "text/csv; charset=utf-8",
        "gif": "image/gif",
        "gz": "application/gzip",
        "htm": "text/html; charset=utf-8",
        "html": "text/html; charset=utf-8",
        "ico": "image/vnd.microsoft.icon",
        "jpeg": "image/jpeg",
        "jpg": "image/jpeg",
        "js": "text/javascript; charset=utf-8",
        "json": "application/json",
        "log": "text/plain; charset=utf-8",
        "md": "text/markdown; charset=utf-8",
        "mjs": "text/javascript; charset=utf-8",
        "mov": "video/quicktime",
        "mp3": "audio/mpeg",
        "mp4": "video/mp4",
        "pdf": "application/pdf",
        "png": "image/png",
        "svg": "image/svg+xml",
        "tar": "application/x-tar",
        "txt": "text/plain; charset=utf-8",
        "wasm": "application/wasm",
        "wav": "audio/wav",
        "webm": "video/webm",
        "webp": "image/webp",
        "woff2": "font/woff2",
        "xml": "application/xml",
        "zip": "application/zip",
    ]
}
