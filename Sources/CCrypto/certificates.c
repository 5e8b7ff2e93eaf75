#define _GNU_SOURCE
#include "CCrypto.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

// The key of a text without a passphrase; without this, the library would ask the terminal for one.
static int no_passphrase(char *room, int size, int writes, void *context) {
    (void)room, (void)size, (void)writes, (void)context;
    return -1;
}

static BIO *reader(const char *text) { return BIO_new_mem_buf(text, -1); }

static EVP_PKEY *read_key(const char *text) {
    BIO *source = reader(text);
    EVP_PKEY *key = source ? PEM_read_bio_PrivateKey(source, NULL, no_passphrase, NULL) : NULL;
    BIO_free(source);
    return key;
}

static X509 *read_certificate(const char *text) {
    BIO *source = reader(text);
    X509 *certificate = source ? PEM_read_bio_X509(source, NULL, no_passphrase, NULL) : NULL;
    BIO_free(source);
    return certificate;
}

// The text of what was written, if all of it was.
static char *text_of(BIO *sink, int is_written) {
    char *bytes = NULL;
    long count = is_written ? BIO_get_mem_data(sink, &bytes) : 0;
    char *text = count > 0 ? strndup(bytes, (size_t)count) : NULL;
    BIO_free(sink);
    return text;
}

static char *text_of_key(EVP_PKEY *key) {
    BIO *sink = BIO_new(BIO_s_mem());
    return text_of(sink, sink && key && PEM_write_bio_PKCS8PrivateKey(sink, key, NULL, NULL, 0, NULL, NULL) == 1);
}

static char *text_of_certificate(X509 *certificate) {
    BIO *sink = BIO_new(BIO_s_mem());
    return text_of(sink, sink && PEM_write_bio_X509(sink, certificate) == 1);
}

char *squall_make_key(void) {
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, NULL);
    int is_made = context && EVP_PKEY_keygen_init(context) == 1
        && EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1) == 1 && EVP_PKEY_keygen(context, &key) == 1;
    char *text = is_made ? text_of_key(key) : NULL;
    EVP_PKEY_free(key);
    EVP_PKEY_CTX_free(context);
    ERR_clear_error();
    return text;
}

// The bytes of a numeric address: 4, 16, or 0 for a name.
static int address_of(const char *text, unsigned char bytes[16]) {
    if (inet_pton(AF_INET, text, bytes) == 1) return 4;
    return inet_pton(AF_INET6, text, bytes) == 1 ? 16 : 0;
}

int squall_is_address(const char *text) {
    unsigned char bytes[16];
    return address_of(text, bytes) > 0;
}

// A host or an address; with `is_range` one that names the address alone among all of them.
static GENERAL_NAME *general_name(const char *text, int is_range) {
    unsigned char bytes[32];
    int size = address_of(text, bytes);
    GENERAL_NAME *name = *text ? GENERAL_NAME_new() : NULL;
    ASN1_STRING *value = ASN1_STRING_type_new(size > 0 ? V_ASN1_OCTET_STRING : V_ASN1_IA5STRING);
    memset(bytes + size, 255, (size_t)size);
    const void *content = size > 0 ? (const void *)bytes : text;
    int count = size > 0 && is_range ? 2 * size : size > 0 ? size : -1;
    if (!name || !value || ASN1_STRING_set(value, content, count) != 1) {
        GENERAL_NAME_free(name);
        ASN1_STRING_free(value);
        return NULL;
    }
    GENERAL_NAME_set0_value(name, size > 0 ? GEN_IPADD : GEN_DNS, value);
    return name;
}

static int add_subtree(NAME_CONSTRAINTS *constraints, GENERAL_NAME *name) {
    GENERAL_SUBTREE *subtree = name ? GENERAL_SUBTREE_new() : NULL;
    if (!subtree) {
        GENERAL_NAME_free(name);
        return 0;
    }
    GENERAL_NAME_free(subtree->base);
    subtree->base = name;
    if (sk_GENERAL_SUBTREE_push(constraints->permittedSubtrees, subtree) > 0) return 1;
    GENERAL_SUBTREE_free(subtree);
    return 0;
}

static int add_name(GENERAL_NAMES *names, GENERAL_NAME *name) {
    if (name && sk_GENERAL_NAME_push(names, name) > 0) return 1;
    GENERAL_NAME_free(name);
    return 0;
}

// Adds names: those that an authority signs for (RFC 5280, section 4.2.1.10), or that a certificate is for (4.2.1.6).
static int add_names(X509 *certificate, const char *text, int is_authority) {
    GENERAL_NAMES *names = GENERAL_NAMES_new();
    NAME_CONSTRAINTS *constraints = NAME_CONSTRAINTS_new();
    if (constraints) constraints->permittedSubtrees = sk_GENERAL_SUBTREE_new_null();
    char *lines = strdup(text), *rest = lines, *line;
    int is_added = names && constraints && constraints->permittedSubtrees && lines;
    while (is_added && (line = strsep(&rest, "\n")) && rest) {
        GENERAL_NAME *name = general_name(line, is_authority);
        is_added = is_authority ? add_subtree(constraints, name) : add_name(names, name);
    }
    if (is_added) {
        is_added = is_authority ? X509_add1_ext_i2d(certificate, NID_name_constraints, constraints, 1, 0) == 1
                                : X509_add1_ext_i2d(certificate, NID_subject_alt_name, names, 0, 0) == 1;
    }
    free(lines);
    NAME_CONSTRAINTS_free(constraints);
    GENERAL_NAMES_free(names);
    return is_added;
}

static int add(X509 *certificate, int kind, const char *value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, certificate, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, kind, value);
    int is_added = extension && X509_add_ext(certificate, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return is_added;
}

// Names the issuer's key by its hash (RFC 5280, sections 4.2.1.1 and 4.2.1.2).
static int add_issuer(X509 *certificate, X509 *issuer) {
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    AUTHORITY_KEYID *identifier = AUTHORITY_KEYID_new();
    if (identifier) identifier->keyid = ASN1_OCTET_STRING_new();
    int is_added = identifier && identifier->keyid && X509_pubkey_digest(issuer, EVP_sha1(), hash, &size) == 1
        && ASN1_OCTET_STRING_set(identifier->keyid, hash, (int)size) == 1
        && X509_add1_ext_i2d(certificate, NID_authority_key_identifier, identifier, 0, 0) == 1;
    AUTHORITY_KEYID_free(identifier);
    return is_added;
}

// A random number of 127 bits.
static int set_number(X509 *certificate) {
    unsigned char bytes[16];
    if (RAND_bytes(bytes, sizeof bytes) != 1) return 0;
    bytes[0] = (bytes[0] & 0x7f) | 0x40;
    BIGNUM *number = BN_bin2bn(bytes, sizeof bytes, NULL);
    int is_set = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate));
    BN_free(number);
    return is_set;
}

static int set_time(ASN1_TIME *time, int64_t seconds) { return time && ASN1_TIME_set(time, (time_t)seconds); }

static int add_entry(X509_NAME *name, const char *kind, const char *text) {
    return !text || X509_NAME_add_entry_by_txt(name, kind, MBSTRING_UTF8, (const unsigned char *)text, -1, -1, 0) == 1;
}

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
) {
    EVP_PKEY *own = read_key(key), *signer = read_key(issuer_key);
    X509 *certificate = X509_new(), *parent = issuer ? read_certificate(issuer) : certificate;
    X509_NAME *subject = X509_NAME_new();
    char authority[64];
    snprintf(authority, sizeof authority, "critical,CA:TRUE,pathlen:%d", path_length);
    int is_authority = path_length >= 0;
    int is_made = own && signer && certificate && parent && subject && X509_set_version(certificate, 2) == 1
        && set_number(certificate) && set_time(X509_getm_notBefore(certificate), not_before)
        && set_time(X509_getm_notAfter(certificate), not_after) && add_entry(subject, "O", organization)
        && add_entry(subject, "CN", common_name) && X509_set_subject_name(certificate, subject) == 1
        && X509_set_issuer_name(certificate, issuer ? X509_get_subject_name(parent) : subject) == 1
        && X509_set_pubkey(certificate, own) == 1
        && add(certificate, NID_basic_constraints, is_authority ? authority : "critical,CA:FALSE")
        && add(certificate, NID_key_usage, is_authority ? "critical,keyCertSign" : "critical,digitalSignature")
        && (!is_authority || add(certificate, NID_subject_key_identifier, "hash"))
        && (!usage || add(certificate, NID_ext_key_usage, usage)) && (!names || add_names(certificate, names, is_authority))
        && ((is_authority && !issuer) || add_issuer(certificate, parent)) && X509_sign(certificate, signer, EVP_sha256()) > 0;
    char *text = is_made ? text_of_certificate(certificate) : NULL;
    if (issuer) X509_free(parent);
    X509_free(certificate);
    X509_NAME_free(subject);
    EVP_PKEY_free(own);
    EVP_PKEY_free(signer);
    ERR_clear_error();
    return text;
}

static int seconds_of(const ASN1_TIME *time, int64_t *seconds) {
    struct tm parts;
    if (ASN1_TIME_to_tm(time, &parts) != 1) return 0;
    *seconds = timegm(&parts);
    return 1;
}

// The names that an authority signs for, each with a newline behind it; NULL if there are none, or others.
static char *permitted_names(X509 *certificate) {
    NAME_CONSTRAINTS *constraints = X509_get_ext_d2i(certificate, NID_name_constraints, NULL, NULL);
    BIO *sink = BIO_new(BIO_s_mem());
    int is_known = constraints && sink;
    int count = is_known ? sk_GENERAL_SUBTREE_num(constraints->permittedSubtrees) : 0;
    for (int index = 0; is_known && index < count; index++) {
        GENERAL_NAME *name = sk_GENERAL_SUBTREE_value(constraints->permittedSubtrees, index)->base;
        char address[INET6_ADDRSTRLEN];
        if (name->type == GEN_DNS) {
            const ASN1_STRING *host = name->d.dNSName;
            BIO_write(sink, ASN1_STRING_get0_data(host), ASN1_STRING_length(host));
        } else {
            int size = name->type == GEN_IPADD ? ASN1_STRING_length(name->d.iPAddress) : 0;
            int family = size == 8 ? AF_INET : size == 32 ? AF_INET6 : AF_UNSPEC;
            is_known = family && inet_ntop(family, ASN1_STRING_get0_data(name->d.iPAddress), address, sizeof address);
            if (is_known) BIO_puts(sink, address);
        }
        BIO_write(sink, "\n", 1);
    }
    NAME_CONSTRAINTS_free(constraints);
    return text_of(sink, is_known);
}

int squall_read_authority(const char *text, struct squall_authority *authority) {
    memset(authority, 0, sizeof *authority);
    BIO *source = reader(text);
    X509 *root = PEM_read_bio_X509(source, NULL, no_passphrase, NULL);
    X509 *own = root ? PEM_read_bio_X509(source, NULL, no_passphrase, NULL) : NULL;
    EVP_PKEY *key = own ? PEM_read_bio_PrivateKey(source, NULL, no_passphrase, NULL) : NULL;
    int is_read = key && EVP_PKEY_base_id(key) == EVP_PKEY_EC && X509_check_private_key(own, key) == 1
        && X509_verify(own, X509_get0_pubkey(root)) == 1 && seconds_of(X509_get0_notBefore(own), &authority->not_before)
        && seconds_of(X509_get0_notAfter(own), &authority->not_after) && (authority->names = permitted_names(own))
        && (authority->root = text_of_certificate(root)) && (authority->certificate = text_of_certificate(own))
        && (authority->key = text_of_key(key));
    if (!is_read) {
        free(authority->names);
        free(authority->root);
        free(authority->certificate);
        memset(authority, 0, sizeof *authority);
    }
    EVP_PKEY_free(key);
    X509_free(own);
    X509_free(root);
    BIO_free(source);
    ERR_clear_error();
    return is_read;
}
