// swift-tools-version: 6.2
import PackageDescription

/// As in ../clients, whose tests run this program.
let squall: Package.Dependency =
    if let repository = Context.environment["SQUALL_REPOSITORY"] {
        .package(url: repository, from: "1.0.0", traits: [])
    } else {
        .package(name: "squall", path: "../../..")
    }

let package = Package(
    name: "queue",
    products: [.executable(name: "queue", targets: ["queue"])],
    dependencies: [squall],
    targets: [
        .executableTarget(name: "queue", dependencies: [.product(name: "SquallTransfer", package: "squall")])
    ],
    swiftLanguageModes: [.v6]
)
