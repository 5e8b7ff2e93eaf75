import EventLoop
import FaultProfile
import ProxyEngine
import Units

extension V1API {
    func metrics(_ request: RoutedRequest) async throws(ControlError) -> APIResponse {
        let rows = await proxies.onAll { (proxy: $0, state: $0.state, statistics: await $0.statistics()) }
        var text = PrometheusText()
        func counters(
            _ name: String,
            _ kind: String,
            _ help: String,
            _ values: (Statistics) -> [(labels: [(String, String)], value: String)]
        ) {
            text.begin(name, kind, help)
            for row in rows {
                for (labels, value) in values(row.statistics) {
                    text.add(name, [("proxy", row.proxy.name)] + labels, value)
                }
            }
        }
        /// The labels are those of Toxiproxy.
        func bytes(_ name: String, _ help: String, _ values: (Statistics) -> (upstream: Int64, downstream: Int64)) {
            text.begin(name, "counter", help)
            for row in rows {
                let (upstream, downstream) = values(row.statistics)
                for (direction, value) in [("downstream", downstream), ("upstream", upstream)] {
                    let labels = [
                        ("direction", direction), ("listener", row.state.address), ("proxy", row.proxy.name),
                        ("upstream", row.state.upstream),
                    ]
                    text.add(name, labels, String(value))
                }
            }
        }
        bytes("toxiproxy_proxy_received_bytes_total", "Bytes received, before the faults.") {
            ($0.upstreamReceived, $0.downstreamReceived)
        }
        bytes("toxiproxy_proxy_sent_bytes_total", "Bytes passed on.") { ($0.upstreamBytes, $0.downstreamBytes) }
        counters("squall_connections_open", "gauge", "Open connections.") { [([], String($0.open))] }
        counters("squall_connections_accepted_total", "counter", "Accepted connections.") {
            [([], String($0.accepted))]
        }
        counters("squall_connections_failed_total", "counter", "Connections whose upstream couldn't be reached.") {
            [([], String($0.failed))]
        }
        counters("squall_fault_events_total", "counter", "Events of faults.") { statistics in
            statistics.faultEvents.map { (kind: $0.key.rawValue, count: $0.value) }.sorted { $0.kind < $1.kind }
                .map { ([("kind", $0.kind)], String($0.count)) }
        }
        counters("squall_held_bytes", "gauge", "Bytes received and not yet passed on.") { [([], String($0.heldBytes))] }
        await addLoopLag(to: &text)
        return APIResponse(200, type: PrometheusText.type, text: text.text)
    }

    private func addLoopLag(to text: inout PrometheusText) async {
        let name = "squall_loop_lag_seconds"
        text.begin(name, "histogram", "Lateness of the timers of a loop.")
        for (index, lateness) in await proxies.context.loops.timerLateness().enumerated() {
            let loop = [("loop", String(index))]
            let bounds = TimerLateness.bounds.map { $0.inSeconds } + ["+Inf"]
            var count: UInt64 = 0
            for (bound, more) in zip(bounds, lateness.counts) {
                count += more
                text.add("\(name)_bucket", loop + [("le", bound)], String(count))
            }
            text.add("\(name)_sum", loop, lateness.total.inSeconds)
            text.add("\(name)_count", loop, String(count))
        }
    }
}

extension Duration {
    fileprivate var inSeconds: String { "\(Double(nanoseconds) / 1e9)" }
}
