// swift-tools-version: 6.2
import PackageDescription

/// Whether any warning stops the build, as it does for each change (.ci/run). A compiler or a library that is newer than
/// this file may warn of what was fine, which shall stop nobody who only wants to use it.
let stopsAtWarnings = Context.environment["SQUALL_STRICT"] == "1"

/// Whether the documentation is to be made (`make docs`), which takes a plugin that nothing else needs.
let makesDocumentation = Context.environment["SQUALL_DOCS"] == "1"

/// The products that targets use, by package.
let products = [
    "hummingbird": ["Hummingbird", "HummingbirdCore"],
    "swift-argument-parser": ["ArgumentParser"],
    "swift-asn1": ["SwiftASN1"],
    "swift-certificates": ["X509"],
    "swift-collections": ["DequeModule"],
    "swift-crypto": ["Crypto"],
    "swift-http-structured-headers": ["RawStructuredFieldValues"],
    "swift-http-types": ["HTTPTypes"],
    "swift-log": ["Logging"],
    "swift-nio": ["NIOCore", "NIOEmbedded", "NIOHTTP1", "NIOPosix", "NIOTLS"],
    "swift-nio-extras": ["NIOHTTPTypes", "NIOHTTPTypesHTTP1", "NIOHTTPTypesHTTP2", "NIOResumableUpload"],
    "swift-nio-http2": ["NIOHPACK", "NIOHTTP2"],
    "swift-nio-ssl": ["NIOSSL"],
    "swift-service-lifecycle": ["ServiceLifecycle"],
    "swift-system": ["SystemPackage"],
]

let package = Package(
    name: "squall",
    products: [
        .executable(name: "squall", targets: ["squall"]),
        .executable(name: "squall-demo", targets: ["squall-demo"]),
        .library(name: "HummingbirdResumableUploads", targets: ["HummingbirdResumableUploads"]),
        .library(name: "ResumableUploads", targets: ["ResumableUploads"]),
        .library(name: "SquallProxy", targets: ["SquallProxy"]),
        .library(name: "SquallTesting", targets: ["SquallTesting"]),
        .library(name: "SquallTransfer", targets: ["SquallTransfer"]),
    ],
    traits: [
        .trait(name: "Control", description: "The control server, `squall serve`."),
        .trait(name: "Hummingbird", description: "Resumable uploads for servers of Hummingbird."),
        .trait(name: "TLS", description: "Speak TLS, which takes a third of the first build."),
        .default(enabledTraits: ["Control", "TLS"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-structured-headers", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ] + (makesDocumentation ? [.package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0")] : []),
    targets: [
        .systemLibrary(name: "CLibevent", pkgConfig: "libevent_core", providers: [.apt(["libevent-dev"])]),
        // SHA-256, by the same libcrypto as libevent's own.
        .systemLibrary(name: "CLibcrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .target(name: "CPage", exclude: ["page.html"]),
        .target(name: "CNetlink"),
        .target(name: "CProcess"),
        .module("OperatingSystem", ["CProcess", "Units"], hasUnsafeCode: true),
        .module("EventLoop", ["CLibevent", "OperatingSystem", "Units"], hasUnsafeCode: true),
        // Profiles is a symbolic link, because resources lie in the folder of their target.
        .target(
            name: "ShippedProfiles",
            dependencies: ["FaultProfile", "Units"],
            exclude: ["Profiles/presets.schema.json", "Profiles/profile.schema.json", "Profiles/scenario.schema.json"],
            resources: [.embedInCode("Profiles")],
            swiftSettings: .safe
        ),
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
        .module(
            "HummingbirdResumableUploads",
            ["HTTPTypes", "NIOCore", "ResumableUploads"],
            with: ["Hummingbird": ["Hummingbird", "HummingbirdCore"]]
        ),
        .module(
            "squall",
            ["HTTPTransport", "SquallCommand"],
            with: ["Control": ["ControlServer"], "TLS": ["LocalAuthority", "TLSTransport"]],
            isProgram: true
        ),
        .module("squall-demo", ["SquallCommand"], isProgram: true),
        .module("profile-documents", ["ProfileDocuments"], isProgram: true),
        // Not products: `make loss-table`, `make loss-lab`, `make simulate` and `make bench` run them.
        .module(
            "loss-comparison",
            ["FaultPlan", "FaultProfile", "SimulatedLink", "Units"],
            path: "Benchmarks/LossComparison",
            isProgram: true
        ),
        .systemLibrary(name: "CLossLink", path: "Benchmarks/CLossLink"),
        .module("loss-link", ["CLossLink"], path: "Benchmarks/LossLink", hasUnsafeCode: true, isProgram: true),
        .module(
            "simulate",
            ["ArgumentParser", "SimulatedWorld"],
            path: "Tests/Simulate",
            hasUnsafeCode: true,
            isProgram: true
        ),
        .module("SimulatedLink", ["FaultPlan", "Units"], path: "Tests/SimulatedLink"),
        .module(
            "head-reading",
            ["FaultPlan", "FaultProfile", "StreamReading", "Units"],
            path: "Benchmarks/HeadReading",
            isProgram: true
        ),
    ]
        + Target.modules([
            "Digests": ["CLibcrypto"],
            "Units": [],
            "QRCode": [],
            "FaultProfile": ["Units"],
            "FaultPlan": ["DequeModule", "FaultProfile", "Units"],
            "Forecast": ["FaultPlan", "FaultProfile", "Units"],
            "Journal": ["Digests", "FaultPlan", "FaultProfile", "Units"],
            "StreamReading": ["FaultPlan", "FaultProfile", "Units"],
            "ProxyEngine": [
                "EventLoop", "FaultPlan", "FaultProfile", "Journal", "OperatingSystem", "StreamReading", "Units",
            ],
            "SquallProxy": [
                "EventLoop", "FaultPlan", "FaultProfile", "OperatingSystem", "ProxyEngine", "Journal",
                "ShippedProfiles", "SystemPackage", "Units",
            ],
            "SquallTesting": ["SquallProxy"],
            "ControlAPI": [
                "CPage", "Digests", "EventLoop", "FaultPlan", "FaultProfile", "HTTPSemantics", "HTTPTypes",
                "OperatingSystem", "ProfileDocuments", "ProxyEngine", "StreamReading", "Units",
            ],
            "HTTPSemantics": ["HTTPTypes", "RawStructuredFieldValues"],
            "TransferProtocol": ["HTTPSemantics", "HTTPTypes", "RawStructuredFieldValues", "Units"],
            "HTTPTransport": ["HTTPTypes", "NIOCore", "NIOHTTP1", "NIOHTTPTypesHTTP1", "NIOPosix"],
            "LocalAuthority": ["Crypto", "HTTPTransport", "NIOCore", "SwiftASN1", "X509"],
            "TransferClient": [
                "CNetlink", "Digests", "DurableFiles", "HTTPSemantics", "HTTPTransport", "HTTPTypes", "NIOCore",
                "NIOHTTP1", "NIOHTTPTypes", "NIOHTTPTypesHTTP1", "NIOPosix", "SystemPackage", "TransferProtocol",
                "Units",
            ],
            "SquallTransfer": [
                "HTTPTransport", "HTTPTypes", "SystemPackage", "TLSTransport", "TransferClient", "TransferProtocol",
            ],
            "DurableFiles": ["NIOCore", "NIOPosix", "SystemPackage", "Units"],
            "ResumableUploads": [
                "Digests", "DurableFiles", "HTTPSemantics", "HTTPTypes", "NIOCore", "NIOHTTP1", "NIOHTTPTypes",
                "NIOHTTPTypesHTTP1", "NIOPosix", "SystemPackage", "TransferProtocol", "Units",
            ],
            "OriginServer": [
                "Digests", "DurableFiles", "HTTPSemantics", "HTTPTransport", "HTTPTypes", "NIOCore", "NIOHTTP1",
                "NIOHTTPTypes", "NIOHTTPTypesHTTP1", "NIOPosix", "ResumableUploads", "SystemPackage",
                "TransferProtocol", "Units",
            ],
            "ChaosStage": ["FaultPlan", "FaultProfile", "Units"],
            // The command but for TLS and the control server, which the executables give to it.
            "SquallCommand": [
                "ArgumentParser", "ChaosStage", "ControlAPI", "Digests", "DurableFiles", "EventLoop", "FaultPlan",
                "FaultProfile", "Forecast", "HTTPSemantics", "HTTPTransport", "HTTPTypes", "NIOPosix",
                "OperatingSystem", "OriginServer", "ProxyEngine", "QRCode", "Journal", "ResumableUploads",
                "StreamReading", "SystemPackage", "TransferClient", "TransferProtocol", "Units",
            ],
            // For `make docs` and the description of the control API.
            "ProfileDocuments": ["FaultProfile", "Units"],
        ])
        + Target.fixtures([
            "SimulatedWorld": ["EventLoop", "FaultPlan", "FaultProfile", "ProxyEngine", "Units"],
            "TestProtocols": [],
            "TestSockets": ["CLibevent", "EventLoop", "Units"],
            "TestUploadServers": [
                "HTTPSemantics", "HTTPTypes", "NIOCore", "NIOHTTP1", "NIOHTTP2", "NIOHTTPTypes", "NIOHTTPTypesHTTP1",
                "NIOHTTPTypesHTTP2", "NIOPosix", "NIOResumableUpload", "NIOSSL", "ResumableUploads", "TransferProtocol",
            ],
            "SimulatedDisk": ["DurableFiles", "SystemPackage", "Units"],
        ])
        + Target.suites([
            "SimulationTests": ["FaultProfile", "SimulatedWorld"],
            "DigestsTests": ["Digests"],
            "UnitsTests": ["Units"],
            "QRCodeTests": ["QRCode"],
            "FaultProfileTests": ["FaultProfile", "ProfileDocuments", "Units"],
            "FaultPlanTests": ["FaultPlan", "FaultProfile", "SimulatedLink", "Units"],
            "ForecastTests": ["FaultPlan", "FaultProfile", "Forecast", "SimulatedLink", "Units"],
            "ChaosStageTests": ["ChaosStage", "FaultPlan", "FaultProfile", "Units"],
            "JournalTests": ["FaultPlan", "FaultProfile", "Journal", "SimulatedLink", "Units"],
            "StreamReadingTests": ["FaultPlan", "FaultProfile", "StreamReading", "TestProtocols", "Units"],
            "OperatingSystemTests": ["OperatingSystem", "TestSockets", "Units"],
            "EventLoopTests": ["EventLoop", "OperatingSystem", "TestSockets", "Units"],
            "ProxyEngineTests": [
                "EventLoop", "FaultPlan", "FaultProfile", "OperatingSystem", "ProxyEngine", "StreamReading",
                "TestProtocols", "TestSockets", "Units",
            ],
            "SquallProxyTests": ["FaultProfile", "ShippedProfiles", "SquallProxy", "TestSockets", "Units"],
            "SquallTestingTests": [
                "OperatingSystem", "OriginServer", "SquallTesting", "SquallTransfer", "TestSockets",
            ],
            "ControlAPITests": [
                "ControlAPI", "EventLoop", "FaultPlan", "FaultProfile", "HTTPTypes", "ProxyEngine", "TestSockets",
                "Units",
            ],
            "HTTPSemanticsTests": ["HTTPSemantics", "HTTPTypes"],
            "TransferProtocolTests": ["HTTPSemantics", "HTTPTypes", "TransferProtocol", "Units"],
            "HTTPTransportTests": [
                "HTTPTransport", "LocalAuthority", "NIOCore", "NIOEmbedded", "NIOHTTP2", "NIOSSL", "TestSockets",
                "TLSTransport",
            ],
            "TransferClientTests": [
                "Digests", "DurableFiles", "HTTPSemantics", "HTTPTransport", "HTTPTypes", "LocalAuthority", "NIOCore",
                "NIOEmbedded", "NIOHPACK", "NIOHTTP1", "NIOHTTP2", "NIOHTTPTypes", "NIOPosix", "NIOSSL",
                "SimulatedDisk",
                "SystemPackage", "TestUploadServers", "TLSTransport", "TransferClient", "TransferProtocol", "Units",
            ],
            "SquallTransferTests": [
                "EventLoop", "FaultPlan", "FaultProfile", "HTTPTransport", "LocalAuthority", "OriginServer",
                "ProxyEngine", "SquallTransfer", "TestSockets", "TLSTransport", "Units",
            ],
            "DurableFilesTests": ["DurableFiles", "SimulatedDisk", "SystemPackage", "Units"],
            "ResumableUploadsTests": [
                "Digests", "DurableFiles", "HTTPSemantics", "HTTPTypes", "NIOCore", "NIOEmbedded", "NIOHTTP1",
                "NIOHTTP2", "NIOHTTPTypes", "NIOHTTPTypesHTTP1", "NIOHTTPTypesHTTP2", "NIOPosix", "ResumableUploads",
                "SimulatedDisk", "SystemPackage", "TransferProtocol", "Units",
            ],
            "OriginServerTests": [
                "Digests", "DurableFiles", "HTTPSemantics", "HTTPTransport", "HTTPTypes", "LocalAuthority", "NIOCore",
                "NIOEmbedded", "NIOHPACK", "NIOHTTP1", "NIOHTTPTypes", "NIOPosix", "NIOSSL", "OriginServer",
                "ResumableUploads", "TLSTransport", "TransferProtocol", "Units",
            ],
            "EndToEndTests": [
                "Digests", "EventLoop", "FaultPlan", "FaultProfile", "Forecast", "ProxyEngine", "squall",
                "SquallCommand", "SquallProxy", "TestProtocols", "TestSockets", "TestUploadServers", "TransferClient",
                "TransferProtocol", "Units",
            ],
        ]),
    swiftLanguageModes: [.v6]
)

extension [SwiftSetting] {
    /// The settings of every target.
    fileprivate static var strict: Self { stopsAtWarnings ? [.treatAllWarnings(as: .error)] : [] }
    /// The same, and a proof that no unsafe construct is used: unsafe code has its place in `OperatingSystem` and `EventLoop`.
    fileprivate static var safe: Self { strict + [.strictMemorySafety()] }
}

extension Target {
    /// A module of `Sources`, or of `path`, which uses targets and `products`, some only with a trait.
    fileprivate static func module(
        _ name: String,
        _ uses: [String] = [],
        with traits: KeyValuePairs<String, [String]> = [:],
        path: String? = nil,
        hasUnsafeCode: Bool = false,
        isProgram: Bool = false
    ) -> Target {
        let uses = uses.map { use($0) } + traits.flatMap { trait, uses in uses.map { use($0, with: trait) } }
        let settings: [SwiftSetting] = hasUnsafeCode ? .strict : .safe
        return isProgram
            ? executableTarget(name: name, dependencies: uses, path: path, swiftSettings: settings)
            : target(name: name, dependencies: uses, path: path, swiftSettings: settings)
    }

    /// Modules of `Sources`, with what each uses.
    fileprivate static func modules(_ uses: KeyValuePairs<String, [String]>) -> [Target] {
        uses.map { module($0, $1) }
    }

    /// What tests share, in `Tests`.
    fileprivate static func fixtures(_ uses: KeyValuePairs<String, [String]>) -> [Target] {
        uses.map { target(name: $0, dependencies: $1.map { use($0) }, path: "Tests/\($0)", swiftSettings: .strict) }
    }

    /// Tests.
    fileprivate static func suites(_ uses: KeyValuePairs<String, [String]>) -> [Target] {
        uses.map { testTarget(name: $0, dependencies: $1.map { use($0) }, swiftSettings: .strict) }
    }

    private static func use(_ name: String, with trait: String? = nil) -> Dependency {
        let condition = trait.flatMap { TargetDependencyCondition.when(traits: [$0]) }
        guard let package = products.first(where: { $0.value.contains(name) })?.key else {
            return .target(name: name, condition: condition)
        }
        return .product(name: name, package: package, condition: condition)
    }
}
