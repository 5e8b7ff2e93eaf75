// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "transfer",
    dependencies: [
        // In a package of your own: .package(url: "https://…/squall", from: "…")
        .package(name: "squall", path: "../../..")
    ],
    targets: [
        .executableTarget(name: "transfer", dependencies: [.product(name: "SquallTransfer", package: "squall")])
    ],
    swiftLanguageModes: [.v6]
)
