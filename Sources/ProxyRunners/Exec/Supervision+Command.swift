import EventLoop
import FaultProfile
import Glibc
import Journal
import OperatingSystem
import ProxyEngine
import Supervisor
import TerminalDisplay

extension Supervision {
    /// A supervision for one command.
    static func opened() throws(CommandFailure) -> Supervision {
        do throws(SystemError) {
            return try Supervision()
        } catch {
            throw CommandFailure(code: .cannotSupervise, message: "can't open sockets on loopback: \(error)")
        }
    }
}

extension ProxyConfiguration {
    /// The proxy of programs whose connections are supervised.
    package init(supervising name: String, profile: Profile, seed: UInt64) {
        self.init(
            name: name,
            listen: Endpoint(host: "127.0.0.1", port: 0),
            destination: .requested(ForwardPolicy(allowsLocalTargets: true)),
            profile: profile,
            seed: seed
        )
        // As long as the kernel's own, with the usual net.ipv4.tcp_syn_retries.
        connectTimeout = .seconds(127)
        isPrivate = true
    }
}

extension SupervisionRules {
    /// Redirects connections to `targets`, but for those to `pagePort` of this machine, and warns of what isn't redirected.
    /// `chosen` is called on the proxy's loop for each that is redirected.
    init(
        _ targets: TargetSelection,
        allowsUnproxied: Bool,
        pagePort: UInt16? = nil,
        chosen: @escaping @Sendable () -> Void = {},
        record: (@Sendable (ConnectRecord) -> Void)?
    ) {
        self.init(
            allowsUnproxied: allowsUnproxied,
            isWanted: { target in
                let isPage = target.port == pagePort && SupervisionRules.pageHosts.contains(target.host)
                return targets.contains(target) && !isPage
            },
            chosen: chosen,
            record: record,
            note: { Console.warn(SupervisionRules.line(about: $0, isAllowed: allowsUnproxied)) }
        )
    }

    /// The addresses of the page: those of localhost.
    private static let pageHosts: Set<String> = ["127.0.0.1", "::1"]

    private static func line(about notice: SupervisorNotice, isAllowed: Bool) -> String {
        switch notice {
        case .http3:
            "the command uses UDP to port 443 (HTTP/3), which passes untouched"
        case .unproxied(let obstacle):
            "a connection couldn't be redirected (\(SupervisionRules.reason(of: obstacle))) and was "
                + (isAllowed ? "made without faults" : "refused: --unproxied allow makes it without faults")
        case .full:
            "more than \(Supervision.connectLimit) connections or sockets for them are being opened: some fail"
        }
    }
}

extension SupervisionRules {
    private static func reason(of obstacle: SupervisorNotice.Obstacle) -> String {
        switch obstacle {
        case .program(EPERM):
            "Squall may not have the sockets of its program, which forbids it, as prctl(2) with PR_SET_DUMPABLE does, or "
                + "has another user"
        case .program(EOPNOTSUPP):
            "its socket was connected before, listened, or has gone from one process to another: this container allows "
                + "none of it without the capability SYS_PTRACE"
        case .program(let code): "\(SystemError(call: "pidfd_getfd", code: code))"
        case .network: "its socket is bound to an interface, or of another network namespace"
        case .address: "no port is free, or its port serves another connection"
        }
    }
}

extension CommandFailure {
    /// A command that can't be run behind a supervisor.
    init(_ problem: SupervisionProblem, _ command: String) {
        switch problem {
        case .unsupported(let error):
            self.init(
                code: .cannotSupervise,
                message:
                    "this system doesn't let Squall supervise programs: \(error): it needs Linux 5.6 or newer with "
                    + "seccomp; use squall run and point the program at it"
            )
        case .forbidden(let error):
            let isRefused = [EPERM, EACCES].contains(error.code)
            let remedy =
                ": in a container add --cap-add SYS_PTRACE; elsewhere set kernel.yama.ptrace_scope to 0 or 1"
            self.init(
                code: .cannotSupervise,
                message: "Squall \(isRefused ? "may not have" : "can't get") the sockets of other programs: \(error)"
                    + (isRefused ? remedy : "")
            )
        case .alreadySupervised:
            self.init(
                code: .cannotSupervise,
                message:
                    "this process is under another supervisor of system calls, such as squall exec, and the kernel "
                    + "allows one: run one of them only"
            )
        case .notStarted(let error):
            let isMissing = error.code == ENOENT
            self.init(
                code: isMissing ? .noSuchCommand : .cannotRunCommand,
                message: "can't run “\(command)”: \(error)"
            )
        }
    }
}
