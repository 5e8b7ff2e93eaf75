import FaultProfile

extension V1API {
    func readStory(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        var start = Story.Position()
        let (captions, transfers) = story?.news(after: &start) ?? ([], [])
        return .json(.object([("captions", .array(captions)), ("transfers", .array(transfers))]))
    }
}
