import HTTPTypes
import OperatingSystem
import ProxyEngine
import Units

extension V1API {
    private var captures: CaptureControl { proxies.context.captures }

    func readCapture(_ request: RoutedRequest) async throws(ControlError) -> APIResponse { .json(captures.json) }

    func startCapture(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        let object = try request.object("limit", "snap", "connections", "proxies")
        var settings = Capture.Settings(path: "")
        if let limit = try V1API.size("limit", object) {
            guard limit >= .mebibytes(1) else { throw .invalid("limit is 1 MiB or more") }
            settings.limit = limit
        }
        if let snap = try V1API.size("snap", object) { settings.snap = snap }
        if let numbers = try object.text("connections") {
            settings.connections = try V1API.unit("connections", numbers, Capture.Settings.connections)
        }
        let names = try object.list("proxies", limit: ProxyManager.proxyLimit).map { node throws(ControlError) in
            guard case .text(let name) = node.value else { throw .invalid("“proxies” are names, not \(node.shown)") }
            return name
        }
        if !names.isEmpty { settings.proxies = Set(names) }
        try captures.start(settings)
        journal.notices.noteChange()
        return .json(captures.json, status: 201)
    }

    func stopCapture(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        try captures.stop()
        journal.notices.noteChange()
        return .json(captures.json)
    }

    func downloadCapture(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        let path = try captures.path()
        do throws(SystemError) {
            let file = try FileParts(path: path)
            var response = APIResponse(200, type: V1API.captureType)
            response.fields[.contentDisposition] = "attachment; filename=\"squall.pcapng\""
            response.body = .stream(AsyncStream(unfolding: { file.next() }))
            return response
        } catch {
            throw .conflict("the capture can't be read: \(error)")
        }
    }

    /// The media type of captures.
    static let captureType = "application/vnd.tcpdump.pcap"

    private static func size(_ key: String, _ object: V1Object) throws(ControlError) -> ByteCount? {
        guard let text = try object.text(key) else { return nil }
        return try unit(key, text) { text throws(UnitError) in try ByteCount(parsing: text) }
    }

    private static func unit<Value>(
        _ key: String,
        _ text: String,
        _ read: (String) throws(UnitError) -> Value
    ) throws(ControlError) -> Value {
        do throws(UnitError) {
            return try read(text)
        } catch {
            throw .invalid("\(key): \(error.problem): \(error.remedy)")
        }
    }
}
