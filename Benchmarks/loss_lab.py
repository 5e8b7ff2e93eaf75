#!/usr/bin/env python3
"""The `loss` fault beside the kernel's TCP: the same client and server, behind a link that loses packets and behind Squall.

    make loss-lab                                                          both sides and the table, about 12 minutes
    python3 Benchmarks/loss_lab.py kernel --save kernel.jsonl.gz           only the kernel's side; needs root
    python3 Benchmarks/loss_lab.py proxy --save proxy.jsonl.gz             only Squall's
    python3 Benchmarks/loss_lab.py table kernel.jsonl.gz proxy.jsonl.gz    compares two files
    python3 Benchmarks/loss_lab.py outages                                 links that fail, beside `tcp-backoff`; needs root

Kernel's side: two network namespaces with a TUN device each, and `loss-link relay` between them. Every TCP flow has a
link of its own in each direction: 100 Mbit/s, a drop-tail queue of 200 packets, half of the round trip. From the server
to the client packets with payload are lost, each by itself or in Gilbert's bursts. The server's sockets have the
congestion control of the cell. The namespaces have no names: they end with the processes in them, however those end.

Squall's side: the same client and server over loopback, and between them a proxy for each cell with `loss` downstream
and a `latency` of half of the round trip in both directions.

`outages` are 12 cells of their own: a link of 100 Mbit/s with a short queue that fails in both directions for 1 to 10 s.

A cell is a sender, a loss, a round trip and a length of bursts. Half of the cells, drawn by --seed, are there to fit the
model ("fitting"), the others to judge it ("judging").

The format of a file: one JSON object a line, in any order; gzip if the name ends with .gz. Keys that aren't listed are
ignored, and so are lines of another kind.

    {"sender": "cubic", "loss": 1.0, "roundTrip": 50, "burst": 1, "kind": "bulk", "seconds": 30,
     "deliveries": [[51.2, 14480], [52.4, 1448], ...]}
    {"sender": "cubic", "loss": 1.0, "roundTrip": 50, "burst": 1, "kind": "100000", "time": 0.310000}

    sender      reno, cubic or bbr            kind        bulk: bytes without an end; a number: that many bytes;
    loss        percent                                   connect: a connect and 8 bytes
    roundTrip   milliseconds                  seconds     how long the bulk flow was read, from its request on
    burst       packets, the mean             deliveries  [milliseconds since the request, bytes that arrived in order],
    time        seconds from the request to               ascending; what arrives within 1 ms may be one of them
                the last byte                 late        optional: lateness of the link, p99 in milliseconds
    connect     optional: seconds to connect  accept      optional: seconds from the request to the server's accept
"""
import argparse, os, signal, sys, tempfile

from losslab.cells import Amounts, Plan, all_cells, key, name
from losslab.namespaces import Unfit, need_root
from losslab.outages import compare
from losslab.report import check_link, table
from losslab.sides import measure_kernel, measure_proxy


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", default="all", choices=["all", "kernel", "proxy", "table", "outages"])
    parser.add_argument("files", nargs="*", help="of `table`: one or two")
    parser.add_argument("--seed", type=int, default=1, help="of losses, and of the parts of cells (default: 1)")
    parser.add_argument("--minutes", type=float, default=12, help="how long all is to take, about (default: 12)")
    parser.add_argument("--save", help="the file of `kernel` or `proxy`, or the folder of `all`")
    parser.add_argument("--flows", type=int, help="bulk flows a cell, instead of as many as fit; 0 measures transfers only")
    parser.add_argument("--bbr-flows", type=int, help="the same with bbr")
    parser.add_argument("--transfers", type=int, help="transfers of 100 KB a cell; half as many of 10 KB and 1 MB")
    parser.add_argument("--seconds", type=float, default=30, help="of a bulk flow (default: 30)")
    parser.add_argument("--budget", type=float, help="Mbit/s at a time (default: 250, through the proxy 1500)")
    parser.add_argument("--only", help="cells whose name has this text, as in 'cubic    1 %%   50 ms 1'")
    parser.add_argument("--log", help="`kernel`: a file for every packet of the first cell of --only")
    parser.add_argument("--json", help="`table`: a file for the metrics")
    parser.add_argument("--verbose", action="store_true", help="`outages`: what the kernel's timers sent, flow by flow")
    parser.add_argument("--pictures", help="a folder for pictures of both sides")
    arguments = parser.parse_args()
    if arguments.files and arguments.what != "table" or len(arguments.files) > 2:
        parser.error("only `table` takes files, one or two")
    for ends in (signal.SIGTERM, signal.SIGINT):
        signal.signal(ends, lambda number, _: sys.exit(128 + number))
    try:
        sys.exit(0 if run(arguments, parser) else 1)
    except Unfit as problem:
        print(f"loss_lab.py: {problem}", file=sys.stderr)
        sys.exit(2)


def run(arguments, parser):
    if arguments.what == "table":
        if not arguments.files:
            parser.error("`table` takes one or two files")
        return table(arguments.files, arguments.seed, arguments.json, arguments.pictures)
    if arguments.what == "outages":
        return compare(arguments.flows or 5, arguments.seed, arguments.verbose)
    cells = all_cells(arguments.seed)
    if arguments.only:
        cells = [cell for cell in cells if arguments.only in name(key(cell)) and cell["part"] != "connect"]
        if not cells:
            raise Unfit(f"no cell's name has {arguments.only!r}: they are as in {name(key(all_cells(1)[0]))!r}")
    sides = ["kernel", "proxy"] if arguments.what == "all" else [arguments.what]
    if "kernel" in sides:
        need_root()
    if not arguments.save:
        if arguments.what != "all":
            parser.error(f"`{arguments.what}` needs --save FILE")
        arguments.save = tempfile.mkdtemp(prefix="loss-lab-results-")
    paths, fine = [], True
    for side in sides:
        path = os.path.join(arguments.save, f"{side}.jsonl.gz") if arguments.what == "all" else arguments.save
        budget = (arguments.budget or (250 if side == "kernel" else 1500)) * 1e6
        share = {"kernel": 0.7, "proxy": 0.3}[side] if arguments.what == "all" else 1
        if arguments.flows is not None:
            bbr = arguments.flows // 2 if arguments.bbr_flows is None else arguments.bbr_flows
            amounts = Amounts(arguments.flows, bbr, arguments.transfers or 60, arguments.seconds)
        else:
            amounts = Amounts.within(cells, arguments.minutes * share, budget, arguments.seconds)
        plan = Plan(cells, amounts, budget)
        print(f"{side}: {len(cells)} cells, {amounts}: about {plan.seconds / 60:.1f} minutes, {path}", flush=True)
        if side == "kernel":
            log = [arguments.log, str(cells[0]["port"])] if arguments.log else ()
            measure_kernel(cells, plan, path, arguments.seed, log)
            if not arguments.only:
                fine = check_link(path)
        else:
            measure_proxy(cells, plan, path, arguments.seed)
        paths.append(path)
    return table(paths, arguments.seed, arguments.json, arguments.pictures) and fine


if __name__ == "__main__":
    main()
