import ControlAPI
import SystemPackage
import TerminalDisplay
import Units

extension ControlServerFailure {
    /// The failure of a command whose server was to listen on `host` and `port`.
    package func commandFailure(_ host: String, _ port: Int) -> CommandFailure {
        if isNameUnknown { return .wrongInput("the host \(host.quoted) isn't known: check --host") }
        let reason =
            switch errno.map({ Errno(rawValue: $0) }) {
            case Errno.addressInUse?: "the port is taken; stop what has it, or give --port"
            case Errno.addressNotAvailable?: "this machine has no such address; 0.0.0.0 listens on all of its own"
            case Errno.permissionDenied?: "that isn't permitted; give a --port from 1024 upwards"
            default: description
            }
        return .failed("can't listen on \(host):\(port): \(reason)")
    }
}
