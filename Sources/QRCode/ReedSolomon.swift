/// The error correction of QR codes: Reed-Solomon over the 256 elements of GF(2⁸) with the polynomial 0x11D.
enum ReedSolomon {
    /// The product of two elements.
    static func product(_ left: UInt8, _ right: UInt8) -> UInt8 {
        var (product, factor, rest) = (0, Int(left), Int(right))
        while rest > 0 {
            if rest & 1 == 1 { product ^= factor }
            factor <<= 1
            if factor > 255 { factor ^= 0x11D }
            rest >>= 1
        }
        return UInt8(product)
    }

    /// The generator of `count` bytes: (x − 2⁰)(x − 2¹)…, without its leading 1, the highest power first.
    static func generator(_ count: Int) -> [UInt8] {
        var generator = [UInt8](repeating: 0, count: count - 1) + [1]
        var root: UInt8 = 1
        for _ in 0..<count {
            for index in 0..<count {
                generator[index] = product(generator[index], root) ^ (index + 1 < count ? generator[index + 1] : 0)
            }
            root = product(root, 2)
        }
        return generator
    }

    /// The `count` bytes of error correction of `data`: the rest of its division by the generator.
    static func correction(of data: [UInt8], count: Int) -> [UInt8] {
        let generator = generator(count)
        var rest = [UInt8](repeating: 0, count: count)
        for byte in data {
            let factor = byte ^ rest.removeFirst()
            rest.append(0)
            for index in 0..<count { rest[index] ^= product(generator[index], factor) }
        }
        return rest
    }
}
