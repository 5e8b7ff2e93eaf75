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
    dependencies: [squall],
    targets: [
        .executableTarget(name: "transfer", dependencies: [.product(name: "SquallTransfer", package: "squall")]),
        .target(name: "Downloads"),
        .testTarget(
            name: "DownloadsTests",
            dependencies: ["Downloads", .product(name: "SquallTesting", package: "squall")]
        ),
    ],
    swiftLanguageModes: [.v6]
)
