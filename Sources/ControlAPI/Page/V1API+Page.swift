import CPage
import Digests
import FoundationEssentials
import HTTPTypes

extension V1API {
    func page(_ request: RoutedRequest) async throws(ControlError) -> APIResponse { Page.response }
}

/// The page, which needs nothing but this API.
enum Page {
    /// The page with its security policy: only its own script and style run, and it connects to this server alone.
    static let response: APIResponse = {
        let text = String(decoding: (0..<squall_page_size()).map(squall_page_byte), as: UTF8.self)
        var response = APIResponse(200, type: "text/html; charset=utf-8", text: text)
        response.fields[.contentSecurityPolicy] = [
            "default-src 'none'", "script-src \(hashes(of: "script", in: text))",
            "style-src \(hashes(of: "style", in: text))", "connect-src 'self'", "img-src data:",
            "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
        ].joined(separator: "; ")
        response.fields[.xContentTypeOptions] = "nosniff"
        response.fields[.referrerPolicy] = "no-referrer"
        response.fields[.cacheControl] = "no-cache"
        return response
    }()

    /// The hashes of the inline elements of a name, as a policy lists them (CSP Level 3, section 2.3.1).
    static func hashes(of element: String, in text: String) -> String {
        text.split(separator: "<\(element)>").dropFirst().map { rest in
            let content = rest.prefix(upTo: rest.firstRange(of: "</\(element)>")?.lowerBound ?? rest.endIndex)
            return "'sha256-\(Data(SHA256.hash(content.utf8)).base64EncodedString())'"
        }.joined(separator: " ")
    }
}

extension HTTPField.Name {
    static let referrerPolicy = HTTPField.Name("Referrer-Policy") ?? .referer
}
