import ProxyEngine

extension ProxyManager {
    /// Enables every proxy, and changes the faults of each by `clear`. A proxy that can't listen keeps no other from it.
    ///
    /// - Throws: the first failure to listen, after all that could be done.
    func reset(_ clear: @escaping @Sendable (inout ManagedProxy.State) -> Void) async throws(ControlError) {
        var failure: ControlError?
        // In order, so that of two proxies with one address always the same gets it.
        for proxy in all {
            do throws(ControlError) {
                try await proxy.update(isEnabled: true)
            } catch {
                // One that is removed meanwhile is left out.
                if error.code == ControlError.proxyNotFound.code { continue }
                failure = failure ?? error
            }
        }
        try await changeAll { proxy throws(ControlError) in
            try await proxy.changeFaults { state throws(ControlError) in clear(&state) }
        }
        if let failure { throw failure }
    }
}

extension V1API {
    func reset(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        try await proxies.reset { state in
            (state.toxics, state.base, state.baseReference) = ([], nil, nil)
            state.removeExtras { _ in true }
        }
        return .json(await jsonOfAll())
    }
}
