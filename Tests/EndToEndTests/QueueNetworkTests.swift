import Foundation
import Testing

/// `squall queue` on a network that goes away, in a network namespace of the test.
@Suite(.timeLimit(.minutes(5))) struct QueueNetworkTests {
    /// A job whose host has no route waits. Prints how often threads of the daemon woke in 10 s, and after how many
    /// milliseconds with a route the job had started.
    private static let script = """
        set -e
        squall=$1 folder=$2
        export XDG_STATE_HOME="$folder"
        ip link set lo up
        ip link add near type veth peer name far
        ip link set far up
        ip addr add 10.9.0.1/24 dev near
        "$squall" origin "$folder/files" --host 0.0.0.0 --port 0 > "$folder/origin" &
        "$squall" queue serve > "$folder/serve" &
        daemon=$!
        trap 'kill $(jobs -p) 2> /dev/null || true' EXIT
        until grep -q ready: "$folder/origin" && grep -q ready: "$folder/serve"; do sleep 0.02; done
        port=$(sed -n 's/^ready: .*:\\([0-9]*\\) serves.*/\\1/p' "$folder/origin")
        "$squall" queue submit "http://10.9.0.1:$port/file.bin" --output "$folder/copy.bin" > /dev/null
        until "$squall" queue status | grep -q '(network)'; do :; done
        wakes() { grep -H '^voluntary' /proc/$daemon/task/*/status | tr -s ':\\t' '  ' | sort; }
        # Threads of the pools end after some seconds without work.
        sleep 12
        wakes > "$folder/before"
        sleep 10
        wakes > "$folder/after"
        join "$folder/before" "$folder/after" | awk '{ sum += $5 - $3 } END { print sum }'
        begun=$(date +%s%N)
        ip link set near up
        until grep -q 'job 1: started' "$folder/squall/queues/default/daemon.log"; do :; done
        echo $(( ($(date +%s%N) - begun) / 1000000 ))
        "$squall" queue attach
        cmp "$folder/files/file.bin" "$folder/copy.bin"
        """

    @Test func `a job starts within 1 s of the route to its host, and nothing polls meanwhile`() async throws {
        let namespace = ["--user", "--map-root-user", "--net"]
        try #require(
            try await run("unshare", namespace + ["ip", "link", "add", "near", "type", "veth", "peer", "name", "far"])
                .status
                == 0,
            "this test needs a network namespace of its own with veth: run it as root, or allow user namespaces"
        )
        try await withFolder { folder in
            let files = folder.appendingPathComponent("files")
            try FileManager.default.createDirectory(at: files, withIntermediateDirectories: false)
            try bytes(100_000).write(to: files.appendingPathComponent("file.bin"))
            let shell =
                namespace + ["timeout", "120", "bash", "-c", Self.script, "bash", Programs.squall.path, folder.path]
            let outcome = try await run("unshare", shell)
            #expect(outcome.status == 0, "\(outcome)")
            let numbers = outcome.lines.compactMap { Int($0) }
            try #require(numbers.count == 2, "\(outcome)")
            #expect(numbers[0] == 0)
            #expect(numbers[1] < 1_000)
        }
    }
}
