#include "CCrypto.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

static const EVP_CIPHER *cipher_of(int suite) {
    switch (suite) {
    case squall_aes_128: return EVP_aes_128_gcm();
    case squall_aes_256: return EVP_aes_256_gcm();
    case squall_chacha_20: return EVP_chacha20_poly1305();
    default: return NULL;
    }
}

int squall_seal(
    int suite,
    const uint8_t *key,
    const uint8_t *nonce,
    const uint8_t *head,
    size_t head_size,
    const uint8_t *content,
    size_t content_size,
    uint8_t *sealed
) {
    const EVP_CIPHER *cipher = cipher_of(suite);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int count = 0, is_sealed = cipher && context && EVP_EncryptInit_ex(context, cipher, NULL, key, nonce) == 1
        && EVP_EncryptUpdate(context, NULL, &count, head, (int)head_size) == 1
        && EVP_EncryptUpdate(context, sealed, &count, content, (int)content_size) == 1
        && EVP_EncryptFinal_ex(context, sealed + count, &count) == 1
        && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, squall_tag_size, sealed + content_size) == 1;
    EVP_CIPHER_CTX_free(context);
    return is_sealed;
}

size_t squall_authenticate(int suite, const uint8_t *key, size_t key_size, const uint8_t *text, size_t size, uint8_t *code) {
    const EVP_MD *hash = suite == squall_aes_256 ? EVP_sha384() : EVP_sha256();
    unsigned count = 0;
    return HMAC(hash, key, (int)key_size, text, size, code, &count) ? count : 0;
}
