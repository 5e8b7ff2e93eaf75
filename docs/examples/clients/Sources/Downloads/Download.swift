import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Why a download failed.
public enum DownloadError: Error {
    /// The response had this status.
    case status(Int)
    /// The file on the server is another one than at the beginning.
    case changed
}

/// Downloads a file with URLSession, in parts of 64 KiB by HTTP ranges. A part that fails is asked for again.
///
/// - Parameter attempts: The failures in a row after which it gives up.
public func download(_ url: URL, attempts: Int = 3, session: URLSession = .shared) async throws -> Data {
    let partSize = 65_536
    var (file, tag, failures) = (Data(), String?.none, 0)
    while true {
        var request = URLRequest(url: url)
        request.setValue("bytes=\(file.count)-\(file.count + partSize - 1)", forHTTPHeaderField: "Range")
        do {
            let (part, response) = try await session.data(for: request)
            guard let response = response as? HTTPURLResponse, response.statusCode == 206 else {
                throw DownloadError.status((response as? HTTPURLResponse)?.statusCode ?? 0)
            }
            // Parts of two versions don't make a file.
            let current = response.value(forHTTPHeaderField: "ETag")
            guard let current, tag == nil || tag == current else { throw DownloadError.changed }
            tag = current
            file += part
            failures = 0
            let total = response.value(forHTTPHeaderField: "Content-Range")?.split(separator: "/").last
            if total == "\(file.count)" { return file }
        } catch let error as URLError {
            failures += 1
            if failures == attempts { throw error }
        }
    }
}
