/* SPDX-License-Identifier: Apache-2.0 */
/* sigv4.h - signs requests as Amazon's services and those that copy them want it: AWS Signature
 * Version 4, with the rules of S3 (a path is encoded once and not normalized). SHA-256 and HMAC
 * are here as well. */
#ifndef NET_SIGV4_H
#define NET_SIGV4_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { SHA256_LEN = 32, SHA256_HEX = 65 /* with its NUL */ };

struct sha256 {
    uint32_t h[8];
    uint64_t bytes;
    uint8_t block[64];
};

void sha256_begin(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *p, size_t n);
void sha256_end(struct sha256 *s, uint8_t out[SHA256_LEN]);
void sha256_hex(const void *p, size_t n, char out[SHA256_HEX]);
void hmac_sha256(const void *key, size_t key_len, const void *p, size_t n, uint8_t out[SHA256_LEN]);

/* What a header or a parameter of the query is. Values are not encoded. */
struct sigv4_pair {
    const char *name, *value;
};

enum { SIGV4_PAIRS_MOST = 24 };

struct sigv4_request {
    const char *method;
    const char *path;               /* not encoded; begins with '/' */
    const struct sigv4_pair *query; /* at most SIGV4_PAIRS_MOST, in any order */
    size_t n_query;
    const struct sigv4_pair *headers; /* all are signed; names in lower case, in any order */
    size_t n_headers;
    const char *payload_hash; /* of the body, in hex, or UNSIGNED-PAYLOAD */
    int64_t time_s;           /* the same as in x-amz-date */
};

struct sigv4_signer {
    const char *id, *secret, *region, *service;
};

/* Each byte but letters, digits and -._~ as %XX; '/' stays where `slash` is true. */
void sigv4_encode(struct buf *out, const char *text, bool slash);
/* "a=1&b=": encoded and sorted as it is signed, so as it has to be sent. */
void sigv4_query(struct buf *out, const struct sigv4_pair *query, size_t n);
/* "20130524T000000Z" */
void sigv4_date(char out[17], int64_t time_s);
/* `canonical`: the hash of the canonical request, for tests; may be NULL. */
void sigv4_sign(const struct sigv4_request *q, const struct sigv4_signer *signer,
                char signature[SHA256_HEX], char canonical[SHA256_HEX]);
/* The value of the header Authorization. */
void sigv4_authorization(struct buf *out, const struct sigv4_request *q,
                         const struct sigv4_signer *signer);

#endif
