import FaultProfile

extension V1API {
    func listProfiles(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        let entries = await profiles.all().map { listed, origin -> JSONText in
            .object([
                ("name", .text(listed.name)), ("summary", .text(listed.summary)), ("source", .text(origin.rawValue)),
                ("version", .text(listed.version)), ("problems", .array(listed.problems.map(\.json))),
            ])
        }
        return .json(.object([("profiles", .array(entries))]))
    }

    func readProfile(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        .json(ProfileWriter.json(of: try profiles.profile(request["name"])))
    }

    func storeProfile(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        let name = request["name"]
        guard case .shipped = ProfileReference(name, in: "") else {
            throw .invalid("the name of a profile has no slash, and doesn't end in .json")
        }
        let profile = try profile(at: try request.document(), excluding: name)
        guard profile.name == name else {
            throw .invalid("the profile has the name “\(profile.name)”, and is stored as “\(name)”: give it one name")
        }
        try profiles.store(profile, as: name)
        return .json(ProfileWriter.json(of: profile))
    }

    func deleteProfile(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        try profiles.remove(request["name"])
        return APIResponse(204)
    }

    func checkProfile(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        var problems: [Problem] = []
        do throws(ControlError) {
            _ = try profile(at: try request.document())
        } catch {
            problems = error.problems
            guard !problems.isEmpty else { throw error }
        }
        return .json(.object([("problems", .array(problems.map(\.json)))]))
    }

    func profile(at node: JSONNode, excluding name: String? = nil) throws(ControlError) -> Profile {
        try ControlError.reading { () throws(ProfileProblems) in
            try ProfileReader.profile(at: node, in: RoutedRequest.bodyName) { profiles.resolve($0, excluding: name) }
        }
    }

    /// The profile that a node of a request's body is, or names, and the name in that case.
    func profileOrName(at node: JSONNode) throws(ControlError) -> (profile: Profile, reference: String?) {
        guard case .text(let name) = node.value else { return (try profile(at: node), nil) }
        return (try profiles.profile(name), name)
    }
}
