// swift-tools-version: 6.2
import PackageDescription

/// Whether any warning stops the build, as in .ci/run. A newer compiler may warn of what was fine, which stops no user.
let stopsAtWarnings = Context.environment["SQUALL_STRICT"] == "1"

/// Whether the documentation is to be made (`make docs`), which takes a plugin that nothing else needs.
let makesDocumentation = Context.environment["SQUALL_DOCS"] == "1"

/// The tests that are built, separated by commas (`make crashes`); all of them without it.
let builtSuites = Context.environment["SQUALL_SUITES"]?.split(separator: ",").map(String.init)

/// The packages by their place on GitHub, with their oldest versions and the products that targets use.
let packages: [(repository: String, from: Version, products: [String])] = [
    ("apple/swift-argument-parser", "1.8.2", ["ArgumentParser"]),
    ("apple/swift-collections", "1.6.0", ["DequeModule"]),
    ("apple/swift-http-structured-headers", "1.7.0", ["RawStructuredFieldValues"]),
    ("apple/swift-http-types", "1.8.0", ["HTTPTypes"]),
    ("apple/swift-log", "1.16.2", ["Logging"]),
    ("apple/swift-nio", "2.101.2", ["NIOCore", "NIOEmbedded", "NIOHTTP1", "NIOPosix", "NIOTLS"]),
    (
        "apple/swift-nio-extras", "1.35.2",
        ["NIOHTTPTypes", "NIOHTTPTypesHTTP1", "NIOHTTPTypesHTTP2", "NIOResumableUpload"]
    ),
    ("apple/swift-nio-http2", "1.46.0", ["NIOHPACK", "NIOHTTP2"]),
    ("apple/swift-nio-ssl", "2.37.6", ["NIOSSL"]),
    ("apple/swift-system", "1.8.1", ["SystemPackage"]),
    ("hummingbird-project/hummingbird", "2.28.1", ["Hummingbird", "HummingbirdCore"]),
    ("swift-server/swift-service-lifecycle", "2.13.0", ["ServiceLifecycle"]),
]

// What clients and servers of HTTP use, commands that run proxies, and modules that transfer files.
let web = ["HTTPTypes", "NIOCore", "NIOHTTP1", "NIOHTTPTypes", "NIOHTTPTypesHTTP1", "NIOPosix"]
let proxies = [
    "EventLoop", "FaultPlan", "FaultProfile", "OperatingSystem", "ProfileFiles", "ProxyEngine", "ProxyRuntime",
    "SystemPackage", "TerminalDisplay", "Units",
]
let durable = web + ["Digests", "DurableFiles", "HTTPSemantics", "SystemPackage", "TransferProtocol", "Units"]
let transfers = ["HTTPSemantics", "HTTPTransport", "OperatingSystem", "TransferClient", "TransferProtocol", "Units"]

/// The modules of `Sources` that use the same in every build, with what each uses.
let modules: KeyValuePairs<String, [String]> = [
    "Digests": ["CLibcrypto"],
    "OperatingSystem": ["CProcess", "Units"],
    "EventLoop": ["CLibevent", "OperatingSystem", "Units"],
    "Supervisor": ["CSeccomp", "EventLoop", "FaultProfile", "Journal", "OperatingSystem", "ProxyEngine", "Units"],
    "Units": [],
    "QRCode": [],
    "FaultProfile": ["Units"],
    "FaultPlan": ["DequeModule", "FaultProfile", "Units"],
    "Forecast": ["FaultPlan", "FaultProfile", "Units"],
    "Journal": ["Digests", "FaultPlan", "FaultProfile", "Units"],
    "StreamReading": ["FaultPlan", "FaultProfile", "Units"],
    "ProxyEngine": ["EventLoop", "FaultPlan", "FaultProfile", "Journal", "OperatingSystem", "StreamReading", "Units"],
    "SquallProxy": [
        "EventLoop", "FaultPlan", "FaultProfile", "OperatingSystem", "ProxyEngine", "Journal", "ShippedProfiles",
        "SystemPackage", "Units",
    ],
    "SquallTesting": ["OperatingSystem", "SquallProxy"],
    "ControlAPI": [
        "CPage", "Digests", "EventLoop", "FaultPlan", "FaultProfile", "HTTPSemantics", "HTTPTypes", "OperatingSystem",
        "ProfileDocuments", "ProxyEngine", "StreamReading", "Units",
    ],
    "HTTPSemantics": ["HTTPTypes", "RawStructuredFieldValues"],
    "TransferProtocol": ["HTTPSemantics", "HTTPTypes", "RawStructuredFieldValues", "Units"],
    "HTTPTransport": ["HTTPTypes", "NIOCore", "NIOHTTP1", "NIOHTTPTypesHTTP1", "NIOPosix"],
    "DevelopmentCA": ["CCrypto", "FaultProfile", "HTTPTransport"],
    "TransferClient": durable + ["CNetlink", "HTTPTransport", "OperatingSystem"],
    "SquallTransfer": transfers + ["HTTPTypes", "Logging", "SystemPackage", "TLSTransport", "TransferQueue"],
    "TransferQueue": transfers + ["Digests", "DurableFiles", "HTTPTypes", "NIOCore", "NIOPosix", "SystemPackage"],
    "DurableFiles": ["NIOCore", "NIOPosix", "SystemPackage", "Units"],
    "ResumableUploads": durable,
    "OriginServer": durable + ["HTTPTransport", "ResumableUploads"],
    "ChaosStage": ["FaultPlan", "FaultProfile", "Units"],
    "TerminalDisplay": ["FaultProfile", "OperatingSystem", "SystemPackage", "Units"],
    "ProfileFiles": ["Digests", "FaultProfile", "OperatingSystem", "SystemPackage", "TerminalDisplay", "Units"],
    "ProxyRuntime": [
        "EventLoop", "FaultPlan", "Journal", "OperatingSystem", "ProxyEngine", "SystemPackage", "TerminalDisplay",
        "Units",
    ],
    "TransferReports": transfers + ["FaultPlan", "FaultProfile", "Forecast", "TerminalDisplay"],
    "CommandParsing": [
        "ArgumentParser", "EventLoop", "FaultProfile", "OperatingSystem", "ProfileFiles", "TerminalDisplay", "Units",
    ],
    "Demonstration": proxies + [
        "ArgumentParser", "CommandParsing", "Digests", "Forecast", "OriginServer", "TransferClient", "TransferProtocol",
        "TransferReports",
    ],
    "ProxyRunners": proxies + [
        "ChaosStage", "CommandParsing", "Digests", "Forecast", "Journal", "QRCode", "Supervisor",
    ],
    "ControlService": proxies + [
        "CommandParsing", "ControlAPI", "Demonstration", "DurableFiles", "HTTPSemantics", "HTTPTransport", "NIOCore",
        "NIOHTTP1", "NIOPosix",
    ],
    "ControlCommands": proxies + ["ArgumentParser", "CommandParsing", "ControlService", "HTTPTransport"],
    "QueueService": transfers + [
        "ArgumentParser", "CommandParsing", "Digests", "EventLoop", "FaultProfile", "NIOCore", "NIOPosix",
        "OriginServer", "ProfileFiles", "ProxyEngine", "ProxyRuntime", "SquallTransfer", "SystemPackage",
        "TerminalDisplay", "TransferQueue",
    ],
    // The command but for TLS and the control server, which the executables give to it.
    "SquallCommand": proxies + [
        "ArgumentParser", "ChaosStage", "CommandParsing", "ControlAPI", "ControlCommands", "ControlService",
        "Demonstration", "Digests", "Forecast", "HTTPSemantics", "HTTPTransport", "HTTPTypes", "Journal",
        "OriginServer", "ProxyRunners", "QueueService", "ResumableUploads", "SquallTransfer", "StreamReading",
        "TransferClient", "TransferProtocol", "TransferReports",
    ],
    "ProfileDocuments": ["FaultProfile", "Units"],
]

/// Tests, with what each uses besides the module of the same name and what that uses.
let suites: KeyValuePairs<String, [String]> = [
    "ChaosStageTests": ["TestStreams"],
    "SimulationTests": ["EventLoop", "FaultProfile", "ProxyEngine", "SimulatedWorld", "Units"],
    "FaultProfileTests": ["ProfileDocuments"],
    "StreamReadingTests": ["TestProtocols"],
    "OperatingSystemTests": ["TestSockets", "TestStreams"],
    "EventLoopTests": ["TestSockets", "TestStreams"],
    "ProxyEngineTests": ["TestProtocols", "TestSockets", "TestStreams"],
    "SquallProxyTests": ["TestSockets", "TestStreams"],
    "SquallTestingTests": ["OriginServer", "SquallTransfer", "TestSockets", "TestStreams"],
    "ControlAPITests": ["TestSockets", "TestStreams"],
    "ControlServiceTests": ["TestSockets"],
    "HTTPTransportTests": [
        "DevelopmentCA", "HTTPTypes", "NIOEmbedded", "NIOHTTP2", "NIOHTTPTypes", "NIOSSL", "TestSockets",
        "TLSTransport",
    ],
    "TransferClientTests": [
        "DevelopmentCA", "NIOEmbedded", "NIOHPACK", "NIOHTTP2", "NIOSSL", "SimulatedDisk", "TestSockets", "TestStreams",
        "TestUploadServers", "TLSTransport",
    ],
    "SquallTransferTests": [
        "EventLoop", "FaultPlan", "FaultProfile", "DevelopmentCA", "OriginServer", "ProxyEngine", "TestSockets",
        "TestStreams", "TestUploadServers",
    ],
    "DurableFilesTests": ["SimulatedDisk"],
    "TransferQueueTests": ["NIOHTTP1", "SimulatedDisk", "TestStreams", "TestUploadServers"],
    "ResumableUploadsTests": [
        "NIOEmbedded", "NIOHTTP2", "NIOHTTPTypesHTTP2", "SimulatedDisk", "TestStreams", "TestUploadServers",
    ],
    "OriginServerTests": [
        "DevelopmentCA", "NIOEmbedded", "NIOHPACK", "NIOSSL", "TestStreams", "TestUploadServers", "TLSTransport",
    ],
    "TLSSessionsTests": proxies + [
        "DevelopmentCA", "HTTPTransport", "StreamReading", "TLSSessions", "TLSTransport", "TestSockets", "TestStreams",
    ],
    "TerminalDisplayTests": ["TestStreams"],
    "ProxyRuntimeTests": ["FaultProfile"],
    "ProxyRunnersTests": ["ArgumentParser"],
    "EndToEndTests": [
        "Digests", "EventLoop", "FaultPlan", "FaultProfile", "OperatingSystem", "squall", "SquallProxy",
        "TestProtocols", "TestSockets", "TestStreams", "TestUploadServers", "TransferClient", "TransferQueue", "Units",
    ],
]

let package = Package(
    name: "squall",
    products: ["squall", "squall-demo"].map { .executable(name: $0, targets: [$0]) }
        + ["HummingbirdResumableUploads", "ResumableUploads", "SquallProxy", "SquallTesting", "SquallTransfer"]
        .map { .library(name: $0, targets: [$0]) },
    traits: [
        .trait(name: "Control", description: "The control server, `squall serve`."),
        .trait(name: "Hummingbird", description: "Resumable uploads for servers of Hummingbird."),
        .trait(name: "TLS", description: "Speak TLS, which takes a quarter of the first build."),
        .default(enabledTraits: ["Control", "TLS"]),
    ],
    dependencies: packages.map { repository, version, _ in
        let url = "https://github.com/\(repository)"
        // Its default traits have what nothing here uses.
        return repository.hasSuffix("/hummingbird")
            ? .package(url: url, from: version, traits: []) : .package(url: url, from: version)
    } + (makesDocumentation ? [.package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0")] : []),
    targets: [
        .systemLibrary(name: "CLibevent", pkgConfig: "libevent_core", providers: [.apt(["libevent-dev"])]),
        // Digests and certificates, by the same libcrypto as libevent's own.
        .systemLibrary(name: "CLibcrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .target(name: "CPage", exclude: ["page.html"]),
        // Profiles is a symbolic link.
        .target(name: "CProfiles", exclude: ["Profiles"]),
        .module("ShippedProfiles", ["CProfiles", "FaultProfile", "Units"]),
        .module(
            "ControlServer",
            ["ControlAPI", "HTTPTransport", "HTTPTypes", "NIOCore", "NIOHTTP1", "NIOHTTPTypes", "NIOPosix"],
            with: ["Control": ["HummingbirdCore", "Logging", "ServiceLifecycle"]]
        ),
        // TLS and HTTP/2 for HTTPTransport, apart, so that what needs neither doesn't build them.
        .module(
            "TLSTransport",
            ["HTTPTransport", "NIOCore"],
            with: ["TLS": ["NIOHTTP2", "NIOHTTPTypesHTTP2", "NIOSSL", "NIOTLS"]]
        ),
        // TLS for ProxyEngine, apart for the same reason.
        .module(
            "TLSSessions",
            ["EventLoop", "HTTPTransport", "ProxyEngine", "TLSTransport"],
            with: ["TLS": ["CCrypto", "NIOCore", "NIOEmbedded", "NIOSSL", "NIOTLS"]]
        ),
        .module(
            "HummingbirdResumableUploads",
            ["HTTPTypes", "NIOCore", "ResumableUploads"],
            with: ["Hummingbird": ["Hummingbird", "HummingbirdCore"]]
        ),
        .module(
            "squall",
            ["HTTPTransport", "ProxyEngine", "SquallCommand"],
            with: ["Control": ["ControlServer"], "TLS": ["DevelopmentCA", "TLSSessions", "TLSTransport"]],
            isProgram: true
        ),
        .module("squall-demo", ["ArgumentParser", "CommandParsing", "Demonstration", "Units"], isProgram: true),
        .module("profile-documents", ["ProfileDocuments"], isProgram: true),
        // Not products: `make loss-table`, `make loss-lab`, `make simulate` and `make bench` run them.
        .systemLibrary(name: "CLossLink", path: "Benchmarks/CLossLink"),
        .module("loss-link", ["CLossLink"], path: "Benchmarks/LossLink", isProgram: true),
        .module("simulate", ["ArgumentParser", "SimulatedWorld"], path: "Tests/Simulate", isProgram: true),
        .module("SimulatedLink", ["FaultPlan", "Units"], path: "Tests/SimulatedLink"),
    ]
        + [
            ("loss-comparison", "LossComparison", ["FaultPlan", "FaultProfile", "SimulatedLink", "Units"]),
            ("head-reading", "HeadReading", ["FaultPlan", "FaultProfile", "StreamReading", "Units"]),
        ].map { Target.module($0, $2, path: "Benchmarks/\($1)", isProgram: true) }
        + [Target.target(name: "CCrypto", dependencies: ["CLibcrypto"])]
        + ["CNetlink", "CProcess", "CSeccomp"].map { Target.target(name: $0) }
        + modules.map { Target.module($0, $1) }
        + Target.fixtures([
            "SimulatedWorld": ["EventLoop", "FaultPlan", "FaultProfile", "ProxyEngine", "Units"],
            "TestProtocols": [],
            "TestStreams": ["OperatingSystem", "Units"],
            "TestSockets": ["CLibevent", "EventLoop", "OperatingSystem", "TestStreams", "Units"],
            "TestUploadServers": web + [
                "HTTPSemantics", "NIOHTTP2", "NIOHTTPTypesHTTP2", "NIOResumableUpload", "NIOSSL", "ResumableUploads",
                "TestStreams", "TransferProtocol",
            ],
            "SimulatedDisk": ["DurableFiles", "SystemPackage", "Units"],
        ])
        + ([
            "Digests", "Supervisor", "Units", "QRCode", "HTTPSemantics", "TransferProtocol",
            "Demonstration", "TransferReports", "ProfileFiles", "ControlCommands", "SquallCommand",
        ].map { Target.suite("\($0)Tests", []) }
        + ["FaultPlan", "Forecast", "Journal"].map { Target.suite("\($0)Tests", ["SimulatedLink"]) }
        + suites.map { Target.suite($0, $1) })
        .filter { builtSuites?.contains($0.name) ?? true },
    swiftLanguageModes: [.v6]
)

extension [SwiftSetting] {
    /// The settings of every target.
    fileprivate static var strict: Self { stopsAtWarnings ? [.treatAllWarnings(as: .error)] : [] }
    /// The same, and a proof that no unsafe construct is used: unsafe code has its place in `OperatingSystem`, `EventLoop`
    /// and `Supervisor`.
    fileprivate static var safe: Self { strict + [.strictMemorySafety()] }
    /// Optimizes a module in the build of the tests, with its assertions, if `make` asks for it. A package that others depend
    /// on may not do so.
    fileprivate static var optimized: Self {
        guard Context.environment["SQUALL_OPTIMIZED"] == "1" else { return [] }
        return [.unsafeFlags(["-O", "-assert-config", "Debug"], .when(configuration: .debug))]
    }
}

extension Target {
    /// A module of `Sources`, or of `path`, which uses targets and `products`, some only with a trait.
    fileprivate static func module(
        _ name: String,
        _ uses: [String] = [],
        with traits: KeyValuePairs<String, [String]> = [:],
        path: String? = nil,
        isProgram: Bool = false
    ) -> Target {
        let isUnsafe = ["EventLoop", "OperatingSystem", "Supervisor", "loss-link", "simulate"].contains(name)
        let uses = uses.map { use($0) } + traits.flatMap { trait, uses in uses.map { use($0, with: trait) } }
        // They compute for half of the time that the tests take.
        let computes = ["FaultPlan", "Forecast", "SimulatedLink", "Units"].contains(name)
        let settings = (isUnsafe ? .strict : .safe) + (computes ? .optimized : [])
        return isProgram
            ? executableTarget(name: name, dependencies: uses, path: path, swiftSettings: settings)
            : target(name: name, dependencies: uses, path: path, swiftSettings: settings)
    }

    /// What tests share, in `Tests`.
    fileprivate static func fixtures(_ uses: KeyValuePairs<String, [String]>) -> [Target] {
        uses.map { target(name: $0, dependencies: $1.map { use($0) }, path: "Tests/\($0)", swiftSettings: .strict) }
    }

    /// Tests of the module of the same name, if there is one.
    fileprivate static func suite(_ name: String, _ uses: [String]) -> Target {
        let own = modules.first { "\($0.key)Tests" == name }.map { [$0.key] + $0.value } ?? []
        return testTarget(name: name, dependencies: (own + uses).map { use($0) }, swiftSettings: .strict)
    }

    private static func use(_ name: String, with trait: String? = nil) -> Dependency {
        let condition = trait.flatMap { TargetDependencyCondition.when(traits: [$0]) }
        guard let package = packages.first(where: { $0.products.contains(name) })?.repository.split(separator: "/")[1]
        else {
            return .target(name: name, condition: condition)
        }
        return .product(name: name, package: String(package), condition: condition)
    }
}
