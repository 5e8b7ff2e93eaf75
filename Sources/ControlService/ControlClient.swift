import CommandParsing
import FaultProfile
import FoundationEssentials
import HTTPSemantics
import HTTPTransport
import TerminalDisplay
import Units

/// Sends requests to a control server.
package struct ControlClient {
    /// Why a request has no successful response, in one clause; further lines are the problems of a profile.
    package struct Failure: Error {
        package let text: String
        /// The status of the response, if there was one.
        package var status: Int?
        /// The `code` of an error of Squall.
        package var code: String?

        /// A failure with this text.
        package init(text: String, status: Int? = nil, code: String? = nil) {
            (self.text, self.status, self.code) = (text, status, code)
        }
    }

    /// A successful response.
    package struct Response {
        package let body: [UInt8]

        /// A response with this body.
        package init(body: [UInt8]) { self.body = body }

        /// The JSON of the body; `null` for an empty one.
        package func json() throws(Failure) -> JSONNode {
            do throws(Problem) {
                return try JSONReader.firstValue(of: body.isEmpty ? Array("null".utf8) : body, name: "response")
            } catch {
                throw Failure(text: "the response is no JSON: \(error.what)")
            }
        }
    }

    /// The time for a response: 30 s, as in Toxiproxy's client.
    package static let timeout = Duration.seconds(30)
    /// The maximum size of a response: 64 MiB.
    private static let bodyLimit = 64 << 20

    private let url: ControlURL
    private let token: String?
    private let tls: (any ClientTLS)?

    /// A client of the server at `url`, which may ask for `token`.
    ///
    /// - Parameter tls: The client side of TLS for an `https` URL.
    package init(url: ControlURL, token: String?, tls: (any ClientTLS)? = nil) {
        (self.url, self.token, self.tls) = (url, token, tls)
    }

    /// Sends a request and collects its response, which is JSON, or 204 without content.
    ///
    /// - Parameter path: The segments, not yet percent-encoded.
    package func send(
        _ method: String,
        _ path: [String],
        query: [(name: String, value: String)] = [],
        body: [UInt8] = [],
        within timeout: Duration = ControlClient.timeout
    ) async throws(Failure) -> Response {
        var received: [UInt8] = []
        let status = try await perform(request(method, path, query, body), within: timeout) { _, part in
            received += part
            if received.count > ControlClient.bodyLimit { throw Failure(text: "the response is longer than 64 MiB") }
        }
        guard (200..<300).contains(status) else { throw ControlClient.failure(status, received) }
        let response = Response(body: received)
        guard status == 204 || !received.isEmpty && (try? response.json()) != nil else {
            throw Failure(text: "\(url.authority) is no squall serve: its response isn't JSON")
        }
        return response
    }

    /// Sends a request and hands the content of a successful response to `receive` as it arrives.
    package func stream(
        _ path: [String],
        query: [(name: String, value: String)],
        fields: [(name: String, value: String)],
        _ receive: ([UInt8]) throws(Failure) -> Void
    ) async throws(Failure) {
        var request = request("GET", path, query, [])
        request.fields += fields
        var refusal: [UInt8] = []
        let status = try await perform(request, within: nil) { status, part in
            if status == 200 { return try receive(part) }
            refusal += part.prefix(ControlClient.bodyLimit - refusal.count)
        }
        if status != 200 { throw ControlClient.failure(status, refusal) }
    }

    private func request(
        _ method: String,
        _ path: [String],
        _ query: [(name: String, value: String)],
        _ body: [UInt8]
    ) -> HTTP1Client.Request {
        var target = url.path + path.map { "/" + ControlClient.encoded($0) }.joined()
        if !query.isEmpty {
            target += "?" + query.map { "\($0.name)=\(ControlClient.encoded($0.value))" }.joined(separator: "&")
        }
        var fields = [("User-Agent", "squall/\(Version.current)"), ("Content-Type", "application/json")]
        if let token { fields.append(("Authorization", "Bearer \(token)")) }
        return HTTP1Client.Request(
            method,
            target,
            fields: fields.map { (name: $0.0, value: $0.1) },
            body: body
        )
    }

    private func perform(
        _ request: HTTP1Client.Request,
        within timeout: Duration?,
        _ receive: (Int, [UInt8]) throws -> Void
    ) async throws(Failure) -> Int {
        do {
            return try await HTTP1Client(host: url.host, port: url.port, tls: tls)
                .send(request, within: timeout, receive)
        } catch let error as Failure {
            throw error
        } catch let error as HTTP1Client.Failure {
            let reason =
                switch error {
                case .unreachable(let reason):
                    "can't connect to \(url.authority): \(reason); start squall serve, or name its URL with --host"
                case .timedOut: "no response from \(url.authority) in time"
                case .cutOff: "\(url.authority) has closed the connection within the response"
                case .broken(let reason): "invalid response from \(url.authority): \(reason)"
                }
            throw Failure(text: "fail to request: \(reason)")
        } catch {
            throw Failure(text: "fail to request: \(error)")
        }
    }

    /// The failure of a response: Toxiproxy's `error`, the `detail` and `problems` of RFC 9457, or the text itself.
    static func failure(_ status: Int, _ body: [UInt8]) -> Failure {
        let text = String(decoding: body, as: UTF8.self)
        let node = text.hasPrefix("{") ? try? Response(body: body).json() : nil
        // The detail repeats the first of several problems.
        let detail = node?["problems"]?.elements.isEmpty == false ? nil : node?["detail"]?.cell
        let reason =
            node?["error"]?.cell ?? detail ?? node?["title"]?.cell
            ?? text.trimmed.shortened(to: 200)
        let problems = (node?["problems"]?.elements ?? []).map { problem in
            let place = "\(problem["line"]?.cell ?? "1"):\(problem["column"]?.cell ?? "1")"
            let remedy = problem["remedy"].map { " (\($0.cell))" } ?? ""
            return "\n\(place): \(problem["message"]?.cell ?? "")\(remedy)"
        }
        let words = reason.isEmpty ? "HTTP \(status)" : "HTTP \(status): \(reason)"
        return Failure(text: words + problems.joined(), status: status, code: node?["code"]?.cell)
    }

    /// A segment or a value of a query, percent-encoded; a colon stays, since names such as `redis:6379` are usual.
    private static func encoded(_ text: String) -> String { PercentCoding.encoded(text, keeping: "-._~:") }
}
