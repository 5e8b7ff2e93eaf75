// SHA-256 of the system's libcrypto.
#pragma once

// OpenSSL 3 prefers its EVP interface, which allocates a context for each digest and keeps it behind a pointer. These three
// functions work on a value, and every library of this family has them.
#define OPENSSL_SUPPRESS_DEPRECATED

#include <openssl/sha.h>
