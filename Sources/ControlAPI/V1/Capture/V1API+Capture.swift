import HTTPTypes
import OperatingSystem
import ProxyEngine
import Units

extension V1API {
    private var captures: CaptureControl { proxies.context.captures }

    func readCapture(_ request: RoutedRequest) async throws(ControlError) -> APIResponse { .json(captures.json) }

    func startCapture(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        let object = try request.object("limit", "snap")
        var settings = Capture.Settings(path: "")
        if let limit = try V1API.size("limit", object) {
            guard limit >= .mebibytes(1) else { throw .invalid("limit is 1 MiB or more") }
            settings.limit = limit
        }
        if let snap = try V1API.size("snap", object) { settings.snap = snap }
        try captures.start(settings)
        return .json(captures.json, status: 201)
    }

    func stopCapture(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        try captures.stop()
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
        do throws(UnitError) {
            return try ByteCount(parsing: text)
        } catch {
            throw .invalid("\(key): \(error.problem): \(error.remedy)")
        }
    }
}
