// swift-tools-version: 6.2
import PackageDescription

/// Whether any warning stops the build, as it does for each change (.ci/run). A compiler or a library that is newer than
/// this file may warn of what was fine, which shall stop nobody who only wants to use it.
let stopsAtWarnings = Context.environment["SQUALL_STRICT"] == "1"

/// Whether the documentation is to be made (`make docs`), which takes a plugin that nothing else needs.
let makesDocumentation = Context.environment["SQUALL_DOCS"] == "1"

/// The settings of every target.
let strict: [SwiftSetting] = stopsAtWarnings ? [.treatAllWarnings(as: .error)] : []

/// The same, and a proof that no unsafe construct is used: unsafe code has one address, `EventLoop`.
let strictAndSafe: [SwiftSetting] = strict + [.strictMemorySafety()]

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
        .systemLibrary(
            name: "CLibevent",
            pkgConfig: "libevent_core",
            providers: [.apt(["libevent-dev"])]
        ),
        // SHA-256, by the same libcrypto as libevent's own.
        .systemLibrary(name: "CLibcrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .target(name: "Digests", dependencies: ["CLibcrypto"], swiftSettings: strictAndSafe),
        .target(name: "CPage", exclude: ["page.html"]),
        .target(name: "CNetlink"),
        .target(name: "CProcess"),
        .target(name: "Units", swiftSettings: strictAndSafe),
        .target(name: "QRCode", swiftSettings: strictAndSafe),
        .target(name: "FaultProfile", dependencies: ["Units"], swiftSettings: strictAndSafe),
        .target(
            name: "FaultPlan",
            dependencies: [
                "FaultProfile", "Units",
                .product(name: "DequeModule", package: "swift-collections"),
            ],
            swiftSettings: strictAndSafe
        ),
        .target(
            name: "Forecast",
            dependencies: ["FaultPlan", "FaultProfile", "Units"],
            swiftSettings: strictAndSafe
        ),
        .target(
            name: "Replay",
            dependencies: ["Digests", "FaultPlan", "FaultProfile", "Units"],
            swiftSettings: strictAndSafe
        ),
        .target(name: "EventLoop", dependencies: ["CLibevent", "CProcess", "Units"], swiftSettings: strict),
        .target(
            name: "StreamReading",
            dependencies: [
                "FaultPlan", "FaultProfile", "Units",
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            swiftSettings: strictAndSafe
        ),
        .target(
            name: "ProxyEngine",
            dependencies: ["EventLoop", "FaultPlan", "FaultProfile", "StreamReading", "Units"],
            swiftSettings: strictAndSafe
        ),
        // Profiles is a symbolic link, because resources lie in the folder of their target.
        .target(
            name: "ShippedProfiles",
            dependencies: ["FaultProfile", "Units"],
            exclude: [
                "Profiles/presets.schema.json", "Profiles/profile.schema.json", "Profiles/scenario.schema.json",
            ],
            resources: [.embedInCode("Profiles")],
            swiftSettings: strictAndSafe
        ),
        .target(
            name: "SquallProxy",
            dependencies: [
                "EventLoop", "FaultPlan", "FaultProfile", "ProxyEngine", "Replay", "ShippedProfiles", "Units",
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: strictAndSafe
        ),
        .target(name: "SquallTesting", dependencies: ["SquallProxy"], swiftSettings: strictAndSafe),
        .target(
            name: "ControlAPI",
            dependencies: [
                "CPage", "Digests", "EventLoop", "FaultPlan", "FaultProfile", "HTTPSemantics", "ProfileDocuments",
                "ProxyEngine", "Units",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: strictAndSafe
        ),
        .target(
            name: "ControlServer",
            dependencies: [
                "ControlAPI", "HTTPTransport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "HummingbirdCore", package: "hummingbird", condition: .when(traits: ["Control"])),
                .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Control"])),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(
                    name: "ServiceLifecycle",
                    package: "swift-service-lifecycle",
                    condition: .when(traits: ["Control"])
                ),
            ],
            swiftSettings: strictAndSafe
        ),
        .target(
            name: "HTTPSemantics",
            dependencies: [
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "RawStructuredFieldValues", package: "swift-http-structured-headers"),
            ],
            swiftSettings: strictAndSafe
        ),
        .target(
            name: "TransferProtocol",
            dependencies: [
                "HTTPSemantics", "Units",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "RawStructuredFieldValues", package: "swift-http-structured-headers"),
            ],
            swiftSettings: strictAndSafe
        ),
        .target(
            name: "HTTPTransport",
            dependencies: [
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: strictAndSafe
        ),
        // TLS and HTTP/2 for HTTPTransport, apart, so that what needs neither doesn't build them.
        .target(
            name: "TLSTransport",
            dependencies: [
                "HTTPTransport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2", condition: .when(traits: ["TLS"])),
                .product(name: "NIOHTTPTypesHTTP2", package: "swift-nio-extras", condition: .when(traits: ["TLS"])),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["TLS"])),
                .product(name: "NIOTLS", package: "swift-nio", condition: .when(traits: ["TLS"])),
            ],
            swiftSettings: strictAndSafe
        ),
        .target(
            name: "LocalAuthority",
            dependencies: [
                "HTTPTransport",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
            ],
            swiftSettings: strictAndSafe
        ),
        .target(
            name: "TransferClient",
            dependencies: [
                "CNetlink", "Digests", "DurableFiles", "HTTPSemantics", "HTTPTransport", "TransferProtocol", "Units",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: strictAndSafe
        ),
        .target(
            name: "SquallTransfer",
            dependencies: [
                "HTTPTransport", "TLSTransport", "TransferClient", "TransferProtocol",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: strictAndSafe
        ),
        .target(
            name: "DurableFiles",
            dependencies: [
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: strictAndSafe
        ),
        .target(
            name: "ResumableUploads",
            dependencies: [
                "Digests", "DurableFiles", "HTTPSemantics", "TransferProtocol",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: strictAndSafe
        ),
        .target(
            name: "HummingbirdResumableUploads",
            dependencies: [
                "ResumableUploads",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird", condition: .when(traits: ["Hummingbird"])),
                .product(name: "HummingbirdCore", package: "hummingbird", condition: .when(traits: ["Hummingbird"])),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: strictAndSafe
        ),
        .target(
            name: "OriginServer",
            dependencies: [
                "Digests", "DurableFiles", "HTTPSemantics", "HTTPTransport", "ResumableUploads", "TransferProtocol",
                "Units",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: strictAndSafe
        ),
        .target(
            name: "ChaosStage",
            dependencies: ["FaultPlan", "FaultProfile", "Units"],
            swiftSettings: strictAndSafe
        ),
        // The command but for TLS and the control server, which the executables give to it.
        .target(
            name: "SquallCommand",
            dependencies: [
                "ChaosStage", "ControlAPI", "Digests", "DurableFiles", "EventLoop", "FaultPlan", "FaultProfile",
                "Forecast", "HTTPSemantics", "HTTPTransport", "OriginServer", "ProxyEngine", "QRCode", "Replay",
                "ResumableUploads",
                "StreamReading", "TransferClient", "TransferProtocol", "Units",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: strictAndSafe
        ),
        .executableTarget(
            name: "squall",
            dependencies: [
                .target(name: "ControlServer", condition: .when(traits: ["Control"])),
                "HTTPTransport",
                .target(name: "LocalAuthority", condition: .when(traits: ["TLS"])),
                "SquallCommand",
                .target(name: "TLSTransport", condition: .when(traits: ["TLS"])),
            ],
            swiftSettings: strictAndSafe
        ),
        .executableTarget(name: "squall-demo", dependencies: ["SquallCommand"], swiftSettings: strictAndSafe),
        // Not products: `make docs` writes the schema of profiles and the tables of pages with them, and the description of the
        // control API has the definitions of faults.
        .target(name: "ProfileDocuments", dependencies: ["FaultProfile", "Units"], swiftSettings: strictAndSafe),
        .executableTarget(
            name: "profile-documents",
            dependencies: ["ProfileDocuments"],
            swiftSettings: strictAndSafe
        ),
        // Not a product: `make loss-table` runs it.
        .executableTarget(
            name: "loss-comparison",
            dependencies: ["FaultPlan", "FaultProfile", "SimulatedLink", "Units"],
            path: "Benchmarks/LossComparison",
            swiftSettings: strictAndSafe
        ),
        // Not a product: `make loss-lab` runs it.
        .systemLibrary(name: "CLossLink", path: "Benchmarks/CLossLink"),
        .executableTarget(
            name: "loss-link",
            dependencies: ["CLossLink"],
            path: "Benchmarks/LossLink",
            swiftSettings: strict
        ),
        // Not a product: `make simulate` runs it.
        .executableTarget(
            name: "simulate",
            dependencies: [
                "SimulatedWorld",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Tests/Simulate",
            swiftSettings: strict
        ),
        .target(
            name: "SimulatedWorld",
            dependencies: ["EventLoop", "FaultPlan", "FaultProfile", "ProxyEngine", "Units"],
            path: "Tests/SimulatedWorld",
            swiftSettings: strict
        ),
        .target(
            name: "SimulatedLink",
            dependencies: ["FaultPlan", "Units"],
            path: "Tests/SimulatedLink",
            swiftSettings: strictAndSafe
        ),
        .testTarget(name: "SimulationTests", dependencies: ["FaultProfile", "SimulatedWorld"], swiftSettings: strict),
        // Not a product: `make bench` runs it.
        .executableTarget(
            name: "head-reading",
            dependencies: ["FaultPlan", "FaultProfile", "StreamReading", "Units"],
            path: "Benchmarks/HeadReading",
            swiftSettings: strictAndSafe
        ),
        .testTarget(name: "DigestsTests", dependencies: ["Digests"], swiftSettings: strict),
        .testTarget(name: "UnitsTests", dependencies: ["Units"], swiftSettings: strict),
        .testTarget(name: "QRCodeTests", dependencies: ["QRCode"], swiftSettings: strict),
        .testTarget(
            name: "FaultProfileTests",
            dependencies: ["FaultProfile", "ProfileDocuments", "Units"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "FaultPlanTests",
            dependencies: ["FaultPlan", "FaultProfile", "SimulatedLink", "Units"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ForecastTests",
            dependencies: ["FaultPlan", "FaultProfile", "Forecast", "SimulatedLink", "Units"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ChaosStageTests",
            dependencies: ["ChaosStage", "FaultPlan", "FaultProfile", "Units"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ReplayTests",
            dependencies: ["FaultPlan", "FaultProfile", "Replay", "SimulatedLink", "Units"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "StreamReadingTests",
            dependencies: ["FaultPlan", "FaultProfile", "StreamReading", "TestProtocols", "Units"],
            swiftSettings: strict
        ),
        .target(name: "TestProtocols", path: "Tests/TestProtocols", swiftSettings: strict),
        .target(
            name: "TestSockets",
            dependencies: ["CLibevent", "EventLoop", "Units"],
            path: "Tests/TestSockets",
            swiftSettings: strict
        ),
        .target(
            name: "TestUploadServers",
            dependencies: [
                "HTTPSemantics", "ResumableUploads", "TransferProtocol",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
                .product(name: "NIOHTTPTypesHTTP2", package: "swift-nio-extras"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOResumableUpload", package: "swift-nio-extras"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            path: "Tests/TestUploadServers",
            swiftSettings: strict
        ),
        .testTarget(
            name: "EventLoopTests",
            dependencies: ["EventLoop", "TestSockets", "Units"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ProxyEngineTests",
            dependencies: [
                "EventLoop", "FaultPlan", "FaultProfile", "ProxyEngine", "StreamReading", "TestProtocols",
                "TestSockets", "Units",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "SquallProxyTests",
            dependencies: ["FaultProfile", "ShippedProfiles", "SquallProxy", "TestSockets", "Units"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "SquallTestingTests",
            dependencies: ["EventLoop", "OriginServer", "SquallTesting", "SquallTransfer", "TestSockets"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ControlAPITests",
            dependencies: [
                "ControlAPI", "EventLoop", "FaultPlan", "FaultProfile", "ProxyEngine", "TestSockets", "Units",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "HTTPSemanticsTests",
            dependencies: [
                "HTTPSemantics",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "TransferProtocolTests",
            dependencies: [
                "HTTPSemantics", "TransferProtocol", "Units",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "HTTPTransportTests",
            dependencies: [
                "HTTPTransport", "LocalAuthority", "TestSockets", "TLSTransport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "TransferClientTests",
            dependencies: [
                "Digests", "DurableFiles", "HTTPSemantics", "HTTPTransport", "LocalAuthority", "SimulatedDisk",
                "TestUploadServers", "TLSTransport", "TransferClient", "TransferProtocol", "Units",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHPACK", package: "swift-nio-http2"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "SquallTransferTests",
            dependencies: [
                "EventLoop", "FaultPlan", "FaultProfile", "HTTPTransport", "LocalAuthority", "OriginServer",
                "ProxyEngine", "SquallTransfer", "TestSockets", "TLSTransport", "Units",
            ],
            swiftSettings: strict
        ),
        .target(
            name: "SimulatedDisk",
            dependencies: [
                "DurableFiles", "Units",
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            path: "Tests/SimulatedDisk",
            swiftSettings: strict
        ),
        .testTarget(
            name: "DurableFilesTests",
            dependencies: [
                "DurableFiles", "SimulatedDisk", "Units",
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ResumableUploadsTests",
            dependencies: [
                "Digests", "DurableFiles", "HTTPSemantics", "ResumableUploads", "SimulatedDisk", "TransferProtocol",
                "Units",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
                .product(name: "NIOHTTPTypesHTTP2", package: "swift-nio-extras"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "OriginServerTests",
            dependencies: [
                "Digests", "DurableFiles", "HTTPSemantics", "HTTPTransport", "LocalAuthority", "OriginServer",
                "ResumableUploads", "TLSTransport", "TransferProtocol", "Units",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOHPACK", package: "swift-nio-http2"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "Digests", "EventLoop", "FaultPlan", "FaultProfile", "Forecast", "ProxyEngine", "squall",
                "SquallCommand", "SquallProxy",
                "TestProtocols", "TestSockets", "TestUploadServers", "TransferClient", "TransferProtocol", "Units",
            ],
            swiftSettings: strict
        ),
    ],
    swiftLanguageModes: [.v6]
)
