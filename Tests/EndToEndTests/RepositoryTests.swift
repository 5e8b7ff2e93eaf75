import Foundation
import Testing

/// What grep prints of the files for an extended regular expression.
private func found(_ pattern: String, _ options: String, in files: [String]) async throws -> [String] {
    let words = [options, "-E", "-e", pattern, "--"] + files
    let outcome = try await withChild(
        Programs.find("grep"),
        words,
        environment: ["LC_ALL": "C.UTF-8"],
        folder: Repository.root
    ) { await $0.finish() }
    #expect(outcome.status < 2, "\(outcome.errors)")
    return outcome.lines
}

/// Checks of the repository's files.
@Suite struct RepositoryTests {
    /// The pure modules, which docs/architecture.md names in one sentence.
    private static let pureModules: [String] = {
        let page = (try? Repository.text("docs/architecture.md")) ?? ""
        let sentence = page.firstMatch(of: /\n- ([^:]*)are pure:/)?.output.1 ?? ""
        return sentence.matches(of: /`([A-Za-z\/]+)`/).map { String($0.output.1) }
    }()
    private static let sources = Repository.files(in: "Sources", ending: ".swift")

    /// The non-comment lines in `files` that match `pattern`, as "path:line:text".
    private func places(of pattern: String, in files: [String]) async throws -> [String] {
        try await found(pattern, "-nH", in: files).filter { place in
            let line = place.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)[2]
            return !line.drop { $0 == " " }.hasPrefix("//")
        }
    }

    @Test func `the walk over the repository finds what it is to look at`() {
        #expect(RepositoryTests.sources.count > 100)
        #expect(Repository.files.contains("README.md"))
        #expect(Repository.files.contains(".ci/run"))
        #expect(Repository.profiles.count >= 8)
        #expect(RepositoryTests.pureModules.count >= 10)
        for module in RepositoryTests.pureModules {
            #expect(!Repository.files(in: "Sources/\(module)", ending: ".swift").isEmpty)
        }
    }

    @Test func `what the image's build runs is in its context`() throws {
        let context = try Repository.text(".dockerignore").split(separator: "\n").filter { $0.hasPrefix("!") }
            .map { $0.dropFirst() }
        let scripts = Repository.files.filter { $0.hasSuffix(".sh") }
        var texts = [try Repository.text("docker/Dockerfile")]
        // What a script runs comes too.
        for script in scripts where texts[0].contains("RUN \(script)") { texts.append(try Repository.text(script)) }
        let needed = scripts.filter { script in texts.contains { $0.contains(script) } }
        #expect(needed.contains("scripts/static.sh") && needed.contains("docker/root.sh"))
        for script in needed { #expect(context.contains { $0 == script }, "\(script)") }
    }

    @Test(arguments: [
        "\\b(ContinuousClock|SuspendingClock|MonotonicClock|SystemClock|DispatchTime|Date)\\b[.(]",
        "\\bclock_gettime\\b|\\bTask\\.sleep\\b",
        "\\bSystemRandomNumberGenerator\\b|\\.random(Element)?\\(|\\.shuffle[d]?\\(",
        "\\bFileManager\\b|\\bFileHandle\\b|\\bFileDescriptor\\b|\\bfopen\\(|\\bopen\\(",
        "\\bsocket\\(|\\bimport (Foundation\\b|Dispatch|NIO|EventLoop|OperatingSystem)",
        "\\b(Mutex|Task|actor|await)\\b",
    ])
    func `a pure module has no clock, no dice, no file, no socket and no task`(pattern: String) async throws {
        let files = RepositoryTests.pureModules.flatMap { Repository.files(in: "Sources/\($0)", ending: ".swift") }
        #expect(try await places(of: pattern, in: files).isEmpty)
    }

    @Test func `unsafe code has one address, but for the calls of libcrypto`() async throws {
        let callers = ["Digests/SHA256", "DevelopmentCA/CertificateText", "TLSSessions/AlertSealer"]
        let files = RepositoryTests.sources.filter {
            !$0.hasPrefix("Sources/EventLoop/") && !$0.hasPrefix("Sources/OperatingSystem/")
                && !$0.hasPrefix("Sources/Supervisor/") && !callers.map { "Sources/\($0).swift" }.contains($0)
        }
        let words =
            "Unsafe[A-Z]|withUnsafe|\\bUnmanaged\\b|@unchecked|@exclusivity|nonisolated\\(unsafe\\)|unowned\\(unsafe\\)|"
        #expect(try await places(of: words + "\\bunsafeBitCast\\b|@unsafe\\b|\\bunsafe ", in: files).isEmpty)
    }

    @Test func `every bug of make planted can still be planted`() async throws {
        let script = Repository.root.appendingPathComponent("scripts/planted.py").path
        let outcome = try await withChild(Programs.find("python3"), [script, "--check"]) { await $0.finish() }
        #expect(outcome.status == 0, "\(outcome)")
    }

    @Test func `no text of a library names an option of the command`() async throws {
        let libraries = [
            "DurableFiles", "HTTPTransport", "ResumableUploads", "SquallTransfer", "TLSTransport", "TransferClient",
            "TransferProtocol",
        ]
        let files = libraries.flatMap { Repository.files(in: "Sources/\($0)", ending: ".swift") }
        #expect(try await places(of: "[\"( “]--[a-z]", in: files).isEmpty)
        #expect(try await !places(of: "[\"( “]--[a-z]", in: ["Sources/TransferReports/TransferAdvice.swift"]).isEmpty)
    }

    @Test func `the command does without the part of Foundation that brings 40 MB of ICU`() async throws {
        let others = ["profile-documents", "SquallProxy", "SquallTesting"].map { "Sources/\($0)/" }
        let built = RepositoryTests.sources.filter { file in !others.contains { file.hasPrefix($0) } }
        #expect(try await places(of: "^\\s*(@\\w+ )?(\\w+ )?import Foundation$", in: built).isEmpty)
    }

    @Test func `no test sleeps`() async throws {
        let tests = Repository.files(in: "Tests", ending: ".swift").filter { !$0.hasSuffix("/Eventually.swift") }
        let words = ["Task\\.sl" + "eep", "\\busl" + "eep\\(", "Thread\\.sl" + "eep", "(^|[ =])sl" + "eep\\("]
        #expect(try await places(of: words.joined(separator: "|"), in: tests).isEmpty)
    }

    @Test func `no test has a fixed port`() async throws {
        let tests = Repository.files(in: "Tests/EndToEndTests", ending: ".swift")
        let pattern = "127\\.0\\.0\\.1:[1-9][0-9]{3}|port: [1-9][0-9]{3}"
        #expect(try await places(of: pattern, in: tests).isEmpty)
    }
}

/// Checks of the documentation.
@Suite struct PageTests {
    static let pages = Repository.files.filter { $0.hasSuffix(".md") }

    @Test(arguments: PageTests.pages)
    func `every link of a page leads somewhere`(page: String) throws {
        let folder = page.split(separator: "/").dropLast().joined(separator: "/")
        for match in try Repository.text(page).matches(of: /\]\(([^)\s]+)\)/) {
            let target = String(match.output.1)
            guard !target.hasPrefix("https://"), !target.hasPrefix("http://") else { continue }
            let parts = target.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let path = parts[0].isEmpty ? page : folder.isEmpty ? parts[0] : "\(folder)/\(parts[0])"
            #expect(Repository.has(path), "\(page): \(target)")
            guard parts.count > 1, path.hasSuffix(".md"), Repository.has(path) else { continue }
            #expect(try anchors(of: path).contains(parts[1]), "\(page): \(target)")
        }
    }

    /// The anchors of a page's headings, in the format of code hosts.
    private func anchors(of page: String) throws -> Set<String> {
        let headings = try Repository.text(page).split(separator: "\n").filter { $0.hasPrefix("#") }
        return Set(
            headings.map { heading in
                heading.drop { $0 == "#" || $0 == " " }.lowercased()
                    .filter { $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" || $0 == "_" }
                    .replacing(" ", with: "-")
            }
        )
    }

    @Test func `every page that a source names is there`() async throws {
        let files = Repository.files.filter { $0.hasPrefix("Sources/") || $0.hasPrefix("Benchmarks/") }
        let places = try await found("docs/[A-Za-z0-9/_-]+\\.md", "-oHI", in: files)
        #expect(places.count > 10)
        for place in places { #expect(Repository.has(String(place.split(separator: ":")[1])), "\(place)") }
    }

    @Test func `the README names every subcommand and every exit code`() throws {
        let readme = try Repository.text("README.md")
        for name in HelpTests.options.keys { #expect(readme.contains("| `squall \(name)"), "\(name)") }
        for code in [0, 1, 2, 75] { #expect(readme.contains("| \(code) |"), "\(code)") }
    }

    @Test(arguments: ["README.md", "docs/faults.md", "docs/architecture.md"])
    func `every profile that a page shows is one`(page: String) async throws {
        let blocks = try Repository.text(page).split(separator: "```json\n").dropFirst()
            .map { String($0.split(separator: "```", maxSplits: 1)[0]) }
        if page == "README.md" { #expect(!blocks.isEmpty) }
        for block in blocks {
            try await withFolder { folder in
                try Data(block.utf8).write(to: folder.appendingPathComponent("shown.json"))
                let outcome = try await squall("check", "shown.json", folder: folder)
                #expect(outcome.status == 0, "\(outcome.errors)")
            }
        }
    }

    /// Fault kinds without a stage of their name: a blackhole outage is the stage of an outage, and connect faults
    /// aren't stages.
    private static let decisions = [
        "outage": "Stages/OutageStage", "connect": "Connection/DialFaults", "tls": "Connection/HandshakeFaults",
        "connection-limit": "Plan+Admission",
        "corrupt": "Stages/CorruptAlterer", "insert": "Stages/InsertAlterer", "truncate": "Stages/TruncateAlterer",
    ]

    @Test(arguments: Repository.files(in: "Sources/FaultProfile/Faults", ending: ".swift").filter { !$0.contains("+") })
    func `every kind of fault has its stage, its page, its tests and a profile`(file: String) throws {
        let name = String(try #require(file.split(separator: "/").last).dropLast(6))
        // The word of `SlowReader` is slow-reader.
        let kind = name.replacing(/([a-z])([A-Z])/) { "\($0.output.1)-\($0.output.2)" }.lowercased()
        let decision = PageTests.decisions[kind] ?? "Stages/\(name)Stage"
        #expect(Repository.has("Sources/FaultPlan/\(decision).swift"))
        #expect(Repository.has("Tests/FaultPlanTests/\(name)Tests.swift"))
        #expect(try Repository.text("docs/faults/\(kind).md").contains("/FaultPlan/\(decision).swift)"))
        let profiles = try Repository.profiles.map { try Repository.text("Profiles/\($0).json") }
        #expect(profiles.contains { $0.contains("\"kind\": \"\(kind)\"") })
    }
}
