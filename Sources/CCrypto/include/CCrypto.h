// Certificates, and records of TLS, by the system's libcrypto. The texts that are returned are the caller's to free(3).
#pragma once

#include <stddef.h>
#include <stdint.h>

// Makes a private key of P-256 in PEM format (RFC 7468). NULL on failure.
char *squall_make_key(void);

// Makes a certificate of X.509 (RFC 5280) in PEM format. NULL on failure: a name is too long, or a key or a certificate can't be
// read.
//
// organization, common_name: those of its subject; the first may be NULL.
// not_before, not_after: its validity, in seconds since 1970.
// path_length: how many authorities an authority may have below it; -1 for a certificate of none.
// usage: its extended key usage, as in x509v3_config(5); NULL for any.
// names: those that it is for, or that an authority signs for, each with a newline behind it; NULL for all.
// key: its own key, in PEM format.
// issuer, issuer_key: the issuer's certificate and key, in PEM format; NULL and its own key for one that is signed by itself.
char *squall_make_certificate(
    const char *organization,
    const char *common_name,
    int64_t not_before,
    int64_t not_after,
    int path_length,
    const char *usage,
    const char *names,
    const char *key,
    const char *issuer,
    const char *issuer_key
);

// An authority that a root has signed.
struct squall_authority {
    // Both certificates and the key of the second, in PEM format.
    char *root, *certificate, *key;
    // The names that it signs for, each with a newline behind it.
    char *names;
    // Its validity, in seconds since 1970.
    int64_t not_before, not_after;
};

// Reads an authority: its root, its own certificate and its key, in this order. Returns 1, or 0 and nothing to free if they
// aren't there, or don't belong together.
int squall_read_authority(const char *text, struct squall_authority *authority);

// Whether a text is a numeric address of IPv4 or IPv6.
int squall_is_address(const char *text);

// The ciphers of TLS 1.3 by the numbers of their suites (RFC 8446, appendix B.4).
enum squall_suite { squall_aes_128 = 0x1301, squall_aes_256, squall_chacha_20 };
enum { squall_tag_size = 16, squall_nonce_size = 12, squall_largest_hash = 48 };

// Encrypts and authenticates, with `head` beside it (RFC 5116): `sealed` has room for `content` and a tag. Returns 1, or 0 on
// failure.
int squall_seal(
    int suite,
    const uint8_t *key,
    const uint8_t *nonce,
    const uint8_t *head,
    size_t head_size,
    const uint8_t *content,
    size_t content_size,
    uint8_t *sealed
);

// HMAC (RFC 2104) with the hash of a suite. Returns the size of the code, at most `squall_largest_hash`; 0 on failure.
size_t squall_authenticate(int suite, const uint8_t *key, size_t key_size, const uint8_t *text, size_t size, uint8_t *code);
