import FaultProfile
import ProxyEngine

extension V1API {
    func setClock(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        let proxy = try proxies.proxy(request["name"])
        let object = try request.object("action", "phase")
        let (word, phase) = (try object.text("action"), try object.text("phase"))
        let action: ClockAction
        switch (word, phase) {
        case ("pause", nil): action = .pause
        case ("resume", nil): action = .resume
        case ("restart", nil): action = .restart
        case ("step", let phase?): action = .step(phase: phase)
        default: throw .invalid("action is pause, resume, restart, or step with the phase")
        }
        try await proxy.setClock(action)
        return .json(await json(of: proxy))
    }
}
