#!/usr/bin/env python3
"""A gRPC service that answers each call with 16 KiB, and a client of it, without generated code.

    grpc_blocks.py serve PORT
    grpc_blocks.py call ADDRESS once|again COUNT|SECONDSs

`call` makes so many calls, or calls for so many seconds, each with a deadline of 1 s. With `once` the first failed call ends
it with exit code 1; with `again` a call that failed for the network's sake is repeated, 10 times at most.
"""
import concurrent.futures, sys, time

import grpc

METHOD, SIZE, DEADLINE, ATTEMPTS = "/squall.Blocks/Get", 16_384, 1.0, 10
TRANSIENT = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


def serve(port):
    handler = grpc.unary_unary_rpc_method_handler(lambda request, _: request * SIZE)
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("squall.Blocks", {"Get": handler}),))
    if not server.add_insecure_port(f"127.0.0.1:{port}"):
        raise SystemExit(f"can't listen on the port {port}")
    server.start()
    server.wait_for_termination()


def call(address, repeats, amount):
    options = [("grpc.enable_retries", 0), ("grpc.initial_reconnect_backoff_ms", 100),
               ("grpc.min_reconnect_backoff_ms", 1_000), ("grpc.max_reconnect_backoff_ms", 500)]
    end = time.monotonic() + float(amount[:-1]) if amount.endswith("s") else None
    count, repeated = 0, 0
    with grpc.insecure_channel(address, options=options) as channel:
        get = channel.unary_unary(METHOD)
        while time.monotonic() < end if end else count < int(amount):
            for attempt in range(1, ATTEMPTS + 1):
                try:
                    answer = get(b"b", timeout=DEADLINE, wait_for_ready=repeats)
                    break
                except grpc.RpcError as error:
                    print(f"call {count + 1}, attempt {attempt}: {error.code().name}: {error.details()}", flush=True)
                    if not repeats or error.code() not in TRANSIENT or attempt == ATTEMPTS:
                        return 1
                    repeated += 1
            if answer != b"b" * SIZE:
                print(f"call {count + 1}: a wrong answer")
                return 1
            count += 1
    print(f"{count} calls, {repeated} repeated")
    return 0


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(int(sys.argv[2]))
    else:
        sys.exit(call(sys.argv[2], sys.argv[3] == "again", sys.argv[4]))
