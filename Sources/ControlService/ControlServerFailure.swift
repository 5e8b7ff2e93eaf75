import ControlAPI
import TerminalDisplay

extension ControlServerFailure {
    /// The failure of a command whose server was to listen on `host` and `port`.
    package func commandFailure(_ host: String, _ port: Int) -> CommandFailure {
        .failed(
            isAddressInUse
                ? "can't listen on \(host):\(port): the port is taken; stop what has it, or give --port"
                : "can't listen on \(host):\(port): \(description)"
        )
    }
}
