import Foundation
import Glibc
import OperatingSystem
import TestStreams
import Testing

@Suite(.timeLimit(.minutes(5))) struct ChildProcessTests {
    private static let environment = ["PATH": "/usr/bin:/bin"]

    private static func shell(_ script: String) throws -> ChildProcess {
        try ChildProcess(["sh", "-c", script], environment: environment)
    }

    private static func end(of script: String) async throws -> ChildProcess.End { await (try shell(script)).end() }

    @Test func `a program ends with its code, or by a signal`() async throws {
        let exit = try await ChildProcessTests.end(of: "exit 3")
        #expect(exit == .exit(3))
        let alarm = try await ChildProcessTests.end(of: "kill -ALRM $$")
        #expect(alarm == .signal(SIGALRM))
        let child = try ChildProcessTests.shell("sleep 1000; exit 0")
        child.signalGroup(SIGTERM)
        #expect(await child.end() == .signal(SIGTERM))
        child.signalGroup(SIGTERM)
        #expect(await child.end() == .signal(SIGTERM), "to whom it asks again as well")
    }

    @Test func `a program begins without a blocked signal, whatever is blocked and ignored here`() async throws {
        await #expect(processExitsWith: .success) {
            ProcessLimits.ignoreBrokenPipes()
            var all = sigset_t()
            sigfillset(&all)
            pthread_sigmask(SIG_BLOCK, &all, nil)
            let script = """
                while read -r name value rest; do
                    case $name in
                        SigBlk:) [ "$value" = 0000000000000000 ] || exit 1;;
                        SigIgn:) [ $((0x$value & 0x1000)) -eq 0 ] || exit 2;;
                    esac
                done < /proc/self/status
                """
            let end = try await ChildProcessTests.end(of: script)
            #expect(end == .exit(0))
        }
    }

    @Test func `a program may open as many files as this one could when it began`() async throws {
        await #expect(processExitsWith: .success) {
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
            var limit = rlimit(rlim_cur: 64, rlim_max: 512)
            setrlimit(resource, &limit)
            for _ in 0..<2 {
                ProcessLimits.raiseOpenFiles()
                let end = try await ChildProcessTests.end(of: "exit $(ulimit -n)")
                #expect(end == .exit(64))
                getrlimit(resource, &limit)
                #expect(limit.rlim_cur == 512, "this one keeps what it has")
            }
        }
    }

    @Test func `what a program leaves in its group ends with it, and isn't waited for`() async throws {
        await #expect(processExitsWith: .success) {
            var ends: [Int32] = [-1, -1]
            #expect(pipe(&ends) == 0)
            // Whoever the program starts has the writing end too.
            let child = try ChildProcess(
                ["sh", "-c", "sleep 1000 & exit 0"],
                environment: ChildProcessTests.environment,
                sharesDescriptors: true
            )
            close(ends[1])
            #expect(await child.end() == .exit(0))
            var byte: UInt8 = 0
            #expect(read(ends[0], &byte, 1) == 0, "the end comes when nobody has the writing end any more")
        }
    }

    @Test func `with files a program reads and appends to them, and takes care of its group itself`() async throws {
        let folder = try Folder()
        let paths = ["input", "output", "errors"].map(folder.file)
        try folder.write("in\n", to: "input")
        try folder.write("before\n", to: "output")
        let files = ChildProcess.Files(input: paths[0], output: paths[1], errors: paths[2])
        let script = "cat; echo wrong >&2; sleep 1000 & echo $!; trap 'exit 5' TERM; echo ready; wait"
        let child = try ChildProcess(["sh", "-c", script], environment: Self.environment, files: files)
        func output() throws -> [Substring] {
            try String(contentsOfFile: paths[1], encoding: .utf8).split(separator: "\n")
        }
        #expect(try await eventually { try output().last == "ready" })
        child.signal(SIGTERM)
        #expect(await child.end() == .exit(5))
        let lines = try output()
        #expect(lines.prefix(2) == ["before", "in"])
        #expect(try String(contentsOfFile: paths[2], encoding: .utf8) == "wrong\n")
        let left = try #require(pid_t(lines[2]))
        #expect(kill(left, 0) == 0, "the program's own child lives")
        #expect(kill(left, SIGKILL) == 0)
        let none = ChildProcess.Files(input: "/no/such", output: paths[1], errors: paths[2])
        #expect(throws: SystemError.self) { try ChildProcess(["true"], environment: Self.environment, files: none) }
    }

    @Test func `a program has no descriptor that a library left open on exec, unless it shares them`() async throws {
        let folder = try Folder()
        // As sockets of NIO are.
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        let script = "exec > \"$LIST\"; exec ls /proc/self/fd"
        let list = folder.file("list")
        let environment = Self.environment.merging(["LIST": list]) { $1 }
        let files = ChildProcess.Files(input: "/dev/null", output: "/dev/null", errors: "/dev/null")
        let starts: [() throws -> ChildProcess] = [
            { try ChildProcess(["sh", "-c", script], environment: environment) },
            { try ChildProcess(["sh", "-c", script], environment: environment, files: files) },
        ]
        for start in starts {
            let child = try start()
            #expect(await child.end() == .exit(0))
            // The last one is that of the folder that ls reads.
            #expect(try String(contentsOfFile: list, encoding: .utf8) == "0\n1\n2\n3\n")
        }
        let sharing = try ChildProcess(["sh", "-c", script], environment: environment, sharesDescriptors: true)
        #expect(await sharing.end() == .exit(0))
        let shared = try String(contentsOfFile: list, encoding: .utf8).split(separator: "\n")
        #expect(ends.allSatisfy { shared.contains("\($0)") })
    }

    @Test func `a program has its environment and nothing to read`() async throws {
        let script = "[ \"$NAME\" = value ] && [ -z \"$(cat)\" ] && [ -z \"$HOME\" ]"
        let child = try ChildProcess(["sh", "-c", script], environment: ["PATH": "/usr/bin:/bin", "NAME": "value"])
        #expect(await child.end() == .exit(0))
    }

    @Test func `a program that isn't there, or isn't one, is told`() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("squall-child-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        // Written by another process: a program that starts meanwhile would have it open for writing for a moment.
        let written = try await ChildProcessTests.end(of: "echo exit 5 > '\(file.path)'")
        #expect(written == .exit(0))
        for (name, code) in [("no-such-program-anywhere", ENOENT), (file.path, EACCES)] {
            #expect(throws: SystemError(call: "posix_spawn", code: code)) {
                try ChildProcess([name], environment: ChildProcessTests.environment)
            }
        }
        #expect(chmod(file.path, 0o755) == 0)
        let script = try ChildProcess([file.path], environment: ChildProcessTests.environment)
        #expect(await script.end() == .exit(5), "a script without a first line that names its program")
    }

    @Test func `a script without a first line is found in PATH as well`() async throws {
        await #expect(processExitsWith: .success) {
            let folder = try Folder()
            let name = "no-such-program-anywhere"
            let script = "mkdir -p a/\(name) b && echo 'exit $1' > b/\(name) && chmod +x b/\(name)"
            let made = try await ChildProcessTests.end(of: "cd '\(folder.path)' && \(script)")
            #expect(made == .exit(0))
            // A folder of that name isn't the program.
            setenv("PATH", "/nowhere:\(folder.path)/a:\(folder.path)/b", 1)
            let child = try ChildProcess([name, "7"], environment: [:])
            #expect(await child.end() == .exit(7))
        }
    }
}
