import SquallTransfer

// queue submit URL FILE: adds a download, and exits. queue attach: goes on with all, and says when each has ended.
let arguments = CommandLine.arguments.dropFirst()
let queue = try await TransferQueue(identifier: "example")
switch (arguments.first, arguments.dropFirst().first, arguments.dropFirst(2).first) {
case ("submit", let url?, let file?):
    print("job \(try await queue.submit(.download(url, to: file)))")
case ("attach", nil, nil):
    for try await element in queue.events() {
        // A job that waits for a network, or for a retry, is none that has ended.
        guard case .event(let event) = element else {
            if try await queue.statuses().allSatisfy({ $0.phase.isFinal }) { break }
            continue
        }
        print("job \(event.job) \(event.phase) \(event.result?.bytes ?? 0) bytes \(event.message ?? "")")
        if try await queue.statuses().allSatisfy({ $0.phase.isFinal }) { break }
    }
default: print("usage: queue submit URL FILE | attach")
}
await queue.close()
