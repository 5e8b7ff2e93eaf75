import EventLoop
import FaultProfile
import Units

extension V1API {
    /// The longest time after which a fault goes by itself: 24 h.
    static let longestFault = Duration.seconds(86_400)

    func putFault(_ request: V1Request) async throws(ControlError) -> APIResponse {
        let proxy = try proxies.proxy(request["name"])
        try await proxy.put(try fault(request))
        return .json(await json(of: proxy))
    }

    func deleteFault(_ request: V1Request) async throws(ControlError) -> APIResponse {
        let proxy = try proxies.proxy(request["name"])
        let name = request["fault"]
        guard try await proxy.removeFault(name) else { throw .faultNotFound(name) }
        return .json(await json(of: proxy))
    }

    func putFaultOnAll(_ request: V1Request) async throws(ControlError) -> APIResponse {
        let fault = try fault(request)
        try await proxies.changeAll { proxy throws(ControlError) in try await proxy.put(fault) }
        return .json(await jsonOfAll())
    }

    func deleteFaultOnAll(_ request: V1Request) async throws(ControlError) -> APIResponse {
        let name = request["fault"]
        guard proxies.all.contains(where: { $0.hasFault(name) }) else { throw .faultNotFound(name) }
        try await proxies.changeAll { proxy throws(ControlError) in _ = try await proxy.removeFault(name) }
        return .json(await jsonOfAll())
    }

    /// The fault of a request's body, under the name in its path.
    private func fault(_ request: V1Request) throws(ControlError) -> ManagedProxy.ExtraFault {
        let name = request["fault"]
        guard name.unicodeScalars.count <= ProfileLimits.faultNameLength else {
            throw .invalid("the name has more than \(ProfileLimits.faultNameLength) characters")
        }
        // As in a profile: a snapshot is read by the same rules.
        guard !name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw .invalid("the name \(name.quoted) has a control character")
        }
        var until: Moment?
        if let text = request.request.parameter("for") {
            guard let time = try? Duration(parsing: text), time > .zero, time <= V1API.longestFault else {
                throw .invalid("for is a duration above 0 and at most 24 h, such as 3s")
            }
            until = MonotonicClock.now + time
        }
        let (node, profiles) = (try request.document(), profiles)
        do throws(ProfileProblems) {
            let fault = try ProfileReader.fault(at: node, in: V1Request.bodyName, named: name) { profiles.resolve($0) }
            return .init(fault: fault, until: until)
        } catch {
            throw .problems(error)
        }
    }
}

extension ManagedProxy {
    /// Adds a fault, or replaces the one of its name.
    func put(_ extra: ExtraFault) async throws(ControlError) {
        try await changeFaults { state throws(ControlError) in
            if let index = state.extras.firstIndex(where: { $0.fault.name == extra.fault.name }) {
                state.extras[index] = extra
            } else {
                state.extras.append(extra)
            }
        }
    }

    /// Whether it has an added fault of the name.
    func hasFault(_ name: String) -> Bool { state.extras.contains { $0.fault.name == name } }

    /// Removes an added fault; `false` if there is none of the name.
    func removeFault(_ name: String) async throws(ControlError) -> Bool {
        guard hasFault(name) else { return false }
        try await changeFaults { state throws(ControlError) in state.extras.removeAll { $0.fault.name == name } }
        return true
    }
}
