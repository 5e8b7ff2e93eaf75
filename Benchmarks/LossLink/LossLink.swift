import Glibc

/// The programs of the loss lab (`Benchmarks/loss_lab.py`): a link between two TUN devices, a server and its clients.
///
/// `loss_lab.py` starts them with descriptors and tables that it has made; nobody is expected to type their arguments.
@main
enum LossLink {
    static let usage = """
        usage: loss-link relay CLIENT-FD SERVER-FD SEED [LOG-FILE LOG-PORT] < CELLS
               loss-link serve ADDRESS < PORTS
               loss-link fetch ADDRESS < JOBS

        relay   carries IPv4 between two TUN devices. Each TCP flow has a link of its own in each direction.
                A line of CELLS: PORT BITS-PER-SECOND ROUND-TRIP-MICROSECONDS QUEUE-PACKETS LOSS BURST SYN-LOSS
                OUTAGE-AFTER-MILLISECONDS OUTAGE-MILLISECONDS (losses are shares, 0 to 1; an outage of 0 is none). An empty line ends them. Ends when standard input ends; prints a line for each flow then.
        serve   answers each connection. A line of PORTS: PORT CONGESTION-CONTROL. An empty line ends them.
        fetch   runs jobs and prints each result as JSON. A line of JOBS:
                ID START-MILLISECONDS PORT KIND SECONDS
                KIND is bulk, connect, or the number of bytes: 8 to 10000000.

        `make loss-lab` runs all of them.

        """

    static func main() {
        signal(SIGPIPE, SIG_IGN)
        let arguments = Array(CommandLine.arguments.dropFirst())
        switch (arguments.first, arguments.count) {
        case ("relay", 4), ("relay", 6): Relay(Array(arguments.dropFirst())).run()
        case ("serve", 2): Server(address: arguments[1]).run()
        case ("fetch", 2): Fetcher(address: arguments[1]).run()
        default: fail(usage)
        }
    }
}
