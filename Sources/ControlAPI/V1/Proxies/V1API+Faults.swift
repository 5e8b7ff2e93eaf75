import FaultProfile
import OperatingSystem
import Units

extension V1API {
    /// Longest lifetime of a fault that expires automatically: 24 h.
    static let longestFault = Duration.seconds(86_400)

    func putFault(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        try await changingProxy(request) { proxy throws(ControlError) in try await proxy.put(try fault(request)) }
    }

    func deleteFault(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        try await changingProxy(request) { proxy throws(ControlError) in
            try await proxy.removeFault(request["fault"])
        }
    }

    func putFaultOnAll(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        let fault = try fault(request)
        return try await changingAll { proxy throws(ControlError) in try await proxy.put(fault) }
    }

    func deleteFaultOnAll(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        let name = request["fault"]
        let known = proxies.all.filter { $0.state.hasHadFault(name) }
        guard !known.isEmpty else { throw .faultNotFound(name) }
        return try await changingAll { proxy throws(ControlError) in
            if proxy.state.hasHadFault(name) { try await proxy.removeFault(name) }
        }
    }

    /// The fault of a request's body, under the name in its path.
    private func fault(_ request: RoutedRequest) throws(ControlError) -> ManagedProxy.ExtraFault {
        let name = request["fault"]
        guard name.unicodeScalars.count <= ProfileLimits.faultNameLength else {
            throw .invalid("the name has more than \(ProfileLimits.faultNameLength) characters")
        }
        try ControlError.checkPathName(name)
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
        let node = try request.document()
        if case .text(let other)? = node["name"]?.value, other != name {
            throw .invalid("the fault has the name \(other.quoted), and its path has \(name.quoted): give it one name")
        }
        let fault = try ControlError.reading { () throws(ProfileProblems) in
            try ProfileReader.fault(at: node, in: RoutedRequest.bodyName, named: name) { profiles.resolve($0) }
        }
        return .init(fault: fault, until: until)
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

    /// Removes an added fault. One that has gone already, by itself or by a request, is no error.
    ///
    /// - Throws: `faultNotFound` if the proxy has had none of the name.
    func removeFault(_ name: String) async throws(ControlError) {
        try await changeFaults { state throws(ControlError) in
            guard state.hasHadFault(name) else { throw .faultNotFound(name) }
            state.removeExtras { $0.fault.name == name }
        }
    }
}

extension ManagedProxy.State {
    /// The names of added faults that are gone and still known: as many as a profile may have faults.
    static let formerLimit = ProfileLimits.faults

    /// Whether the proxy has an added fault of the name, or has had one.
    func hasHadFault(_ name: String) -> Bool {
        extras.contains { $0.fault.name == name } || formerFaults.contains(name)
    }

    /// Removes added faults, and keeps their names.
    mutating func removeExtras(where isOver: (ManagedProxy.ExtraFault) -> Bool) {
        let names = extras.filter(isOver).map(\.fault.name)
        extras.removeAll(where: isOver)
        formerFaults.removeAll(where: names.contains)
        formerFaults = (formerFaults + names).suffix(Self.formerLimit)
    }
}
