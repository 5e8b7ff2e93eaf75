// Every product has this module, so the error stands beside those of calls that other systems lack.
#if !os(Linux)
    #error(
        "Squall needs Linux and can't be built for this system yet: build it on Linux, or in a container with Linux."
    )
#endif
