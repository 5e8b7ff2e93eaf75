// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "photos",
    dependencies: [
        // In a package of your own: .package(url: "https://…/squall", from: "…", traits: [.defaults, "Hummingbird"])
        // Without `.defaults` TLS is left out: the photos are served without it.
        .package(name: "squall", path: "../../..", traits: ["Hummingbird"]),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
    ],
    targets: [
        .target(
            name: "Photos",
            dependencies: [
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdResumableUploads", package: "squall"),
                .product(name: "ResumableUploads", package: "squall"),
            ]
        ),
        .testTarget(
            name: "PhotosTests",
            dependencies: ["Photos", .product(name: "SquallTransfer", package: "squall")]
        ),
    ],
    swiftLanguageModes: [.v6]
)
