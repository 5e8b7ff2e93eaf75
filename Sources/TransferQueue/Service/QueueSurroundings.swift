internal import FoundationEssentials
internal import OperatingSystem
internal import TransferClient

/// The clock, network and power supply of a queue, replaceable in tests.
package struct QueueSurroundings: Sendable {
    /// The time.
    package var now: @Sendable () -> QueueTime
    /// How far the local clock is ahead of UTC.
    package var offset: @Sendable (QueueTime) -> Duration
    /// Whether a route leads to a host.
    package var isReachable: @Sendable (_ host: String) -> Bool
    /// The cost of the network to a host.
    package var cost: @Sendable (_ host: String) -> QueueNetworkCost
    /// Yields whenever the network may have changed.
    package var networkChanges: @Sendable () -> AsyncStream<Void>
    /// Whether the machine is on mains power, or has no battery.
    package var isOnMains: @Sendable () -> Bool

    /// Those of this machine.
    package static func system(expensive: Set<String>, constrained: Set<String>) -> QueueSurroundings {
        let routes = RouteMonitor()
        return QueueSurroundings(
            now: { QueueTime(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000)) },
            offset: { LocalTime.offset(atSecondsSince1970: $0.milliseconds / 1_000) },
            isReachable: { routes.isConnected(to: $0) },
            cost: { host in
                var cost: QueueNetworkCost = routes.usesMobileBroadband(to: host) ? .expensive : []
                guard let interface = routes.interface(to: host) else { return cost }
                if expensive.contains(interface) { cost.insert(.expensive) }
                if constrained.contains(interface) { cost.insert(.constrained) }
                return cost
            },
            networkChanges: { routes.changes() },
            isOnMains: { PowerSupply().isOnMains }
        )
    }
}

/// The power supplies of the machine, as the kernel lists them.
struct PowerSupply {
    var folder = "/sys/class/power_supply"

    /// Whether mains power is there, or there is no battery.
    var isOnMains: Bool {
        var hasBattery = false
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
            func value(_ file: String) -> String? {
                let text = try? String(contentsOfFile: "\(folder)/\(name)/\(file)", encoding: .utf8)
                return text.map { String($0.prefix { $0 != "\n" }) }
            }
            switch value("type") {
            case "Mains", "USB": if value("online") == "1" { return true }
            case "Battery": if value("scope") != "Device" { hasBattery = true }
            default: break
            }
        }
        return !hasBattery
    }
}
