// swift-tools-version: 6.2
import PackageDescription

/// `make example` gives a repository with a version, and leaves out TLS and the control server; without it the checkout
/// around this folder is used. In a package of your own: .package(url: "https://…/squall", from: "…")
let squall: Package.Dependency =
    if let repository = Context.environment["SQUALL_REPOSITORY"] {
        .package(url: repository, from: "1.0.0", traits: [])
    } else {
        .package(name: "squall", path: "../../..")
    }

let package = Package(
    name: "clients",
    dependencies: [
        squall, .package(path: "../queue"), .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
    ],
    targets: [
        .executableTarget(name: "transfer", dependencies: [.product(name: "SquallTransfer", package: "squall")]),
        .target(
            name: "Tour",
            dependencies: [
                .product(name: "SquallTransfer", package: "squall"), .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .target(name: "TestServer", path: "Tests/TestServer"),
        .testTarget(
            name: "TourTests",
            dependencies: ["Tour", "TestServer", .product(name: "Logging", package: "swift-log")]
        ),
        .target(name: "Downloads"),
        .testTarget(
            name: "DownloadsTests",
            dependencies: [
                "Downloads", "TestServer", .product(name: "queue", package: "queue"),
                .product(name: "SquallTesting", package: "squall"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)
