// swift-tools-version: 6.2
import PackageDescription

/// `make example-testing` gives a repository with a version; without it the checkout around this folder is used.
/// In a package of your own: .package(url: "https://…/squall", from: "…", traits: [])
let squall: Package.Dependency =
    if let repository = Context.environment["SQUALL_REPOSITORY"] {
        .package(url: repository, from: "1.0.0", traits: [])
    } else {
        .package(name: "squall", path: "../../..", traits: [])
    }

let package = Package(
    name: "downloads",
    dependencies: [squall],
    targets: [
        .target(name: "Downloads"),
        .testTarget(
            name: "DownloadsTests",
            dependencies: ["Downloads", .product(name: "SquallTesting", package: "squall")]
        ),
    ],
    swiftLanguageModes: [.v6]
)
