/* SPDX-License-Identifier: Apache-2.0 */
/* sigv4.c - see sigv4.h. */
#include "net/sigv4.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/vec.h"

/* ==== SHA-256 (FIPS 180-4) ==== */

static const uint32_t sha256_k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static inline uint32_t sha256_turn(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void sha256_words(uint32_t w[64], const uint8_t *p)
{
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 |
               (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        const uint32_t a = w[i - 15], b = w[i - 2];
        const uint32_t s0 = sha256_turn(a, 7) ^ sha256_turn(a, 18) ^ a >> 3;
        const uint32_t s1 = sha256_turn(b, 17) ^ sha256_turn(b, 19) ^ b >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
}

static void sha256_block(uint32_t h[8], const uint8_t *p)
{
    uint32_t w[64], v[8];
    sha256_words(w, p);
    memcpy(v, h, sizeof v);
    for (int i = 0; i < 64; i++) {
        const uint32_t a = v[0], e = v[4];
        const uint32_t s1 = sha256_turn(e, 6) ^ sha256_turn(e, 11) ^ sha256_turn(e, 25);
        const uint32_t t1 = v[7] + s1 + ((e & v[5]) ^ (~e & v[6])) + sha256_k[i] + w[i];
        const uint32_t s0 = sha256_turn(a, 2) ^ sha256_turn(a, 13) ^ sha256_turn(a, 22);
        const uint32_t t2 = s0 + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++)
        h[i] += v[i];
}

void sha256_begin(struct sha256 *s)
{
    *s = (struct sha256){.h = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                               0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void sha256_add(struct sha256 *s, const void *p, size_t n)
{
    const uint8_t *b = p;
    while (n) {
        const size_t at = s->bytes % sizeof s->block;
        const size_t some = MIN_OF(n, sizeof s->block - at);
        if (some == sizeof s->block) {
            sha256_block(s->h, b);
        } else {
            memcpy(s->block + at, b, some);
            if (at + some == sizeof s->block)
                sha256_block(s->h, s->block);
        }
        s->bytes += some;
        b += some;
        n -= some;
    }
}

void sha256_end(struct sha256 *s, uint8_t out[SHA256_LEN])
{
    const uint64_t bits = s->bytes * 8;
    const size_t at = s->bytes % sizeof s->block;
    uint8_t pad[2 * sizeof s->block] = {0x80};
    const size_t n = (at < 56 ? 56 : 120) - at;
    for (int i = 0; i < 8; i++)
        pad[n + (size_t)i] = (uint8_t)(bits >> (56 - 8 * i));
    sha256_add(s, pad, n + 8);
    assert(s->bytes % sizeof s->block == 0);
    for (int i = 0; i < SHA256_LEN; i++)
        out[i] = (uint8_t)(s->h[i / 4] >> (24 - 8 * (i % 4)));
}

static void sha256_text(const uint8_t sum[SHA256_LEN], char out[SHA256_HEX])
{
    for (size_t i = 0; i < SHA256_LEN; i++)
        snprintf(out + 2 * i, 3, "%02x", sum[i]);
}

static void sha256_sum(const void *p, size_t n, uint8_t out[SHA256_LEN])
{
    struct sha256 s;
    sha256_begin(&s);
    sha256_add(&s, p, n);
    sha256_end(&s, out);
}

void sha256_hex(const void *p, size_t n, char out[SHA256_HEX])
{
    uint8_t sum[SHA256_LEN];
    sha256_sum(p, n, sum);
    sha256_text(sum, out);
}

/* ==== HMAC (RFC 2104) ==== */

void hmac_sha256(const void *key, size_t key_len, const void *p, size_t n, uint8_t out[SHA256_LEN])
{
    enum { BLOCK = 64 };
    uint8_t k[BLOCK] = {0}, inner[BLOCK], outer[BLOCK];
    struct sha256 s;
    if (key_len > BLOCK)
        sha256_sum(key, key_len, k);
    else
        memcpy(k, key, key_len);
    for (int i = 0; i < BLOCK; i++) {
        inner[i] = k[i] ^ 0x36;
        outer[i] = k[i] ^ 0x5c;
    }
    sha256_begin(&s);
    sha256_add(&s, inner, BLOCK);
    sha256_add(&s, p, n);
    sha256_end(&s, out);
    sha256_begin(&s);
    sha256_add(&s, outer, BLOCK);
    sha256_add(&s, out, SHA256_LEN);
    sha256_end(&s, out);
}

/* ==== the canonical request ==== */

static bool sigv4_is_plain(unsigned char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

void sigv4_encode(struct buf *out, const char *text, bool slash)
{
    for (const char *p = text; *p; p++) {
        const unsigned char c = (unsigned char)*p;
        if (sigv4_is_plain(c) || (slash && c == '/'))
            buf_u8(out, c);
        else
            buf_printf(out, "%%%02X", c);
    }
}

/* The address of each pair is sorted, so that the caller's array stays as it is. */
static int sigv4_by_name(const void *a, const void *b)
{
    const struct sigv4_pair *x = *(const struct sigv4_pair *const *)a;
    const struct sigv4_pair *y = *(const struct sigv4_pair *const *)b;
    return strcmp(x->name, y->name) ?: strcmp(x->value, y->value);
}

static void sigv4_sort(const struct sigv4_pair *v, size_t n,
                       const struct sigv4_pair *sorted[SIGV4_PAIRS_MOST])
{
    assert(n <= SIGV4_PAIRS_MOST);
    for (size_t i = 0; i < n; i++)
        sorted[i] = &v[i];
    SORT(sorted, n, sigv4_by_name);
}

/* The names that S3 has are plain, so their order is that of the encoded ones. */
void sigv4_query(struct buf *out, const struct sigv4_pair *query, size_t n)
{
    const struct sigv4_pair *sorted[SIGV4_PAIRS_MOST];
    sigv4_sort(query, n, sorted);
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_u8(out, '&');
        sigv4_encode(out, sorted[i]->name, false);
        buf_u8(out, '=');
        sigv4_encode(out, sorted[i]->value, false);
    }
}

/* Without white space at the ends, and with one space where there is some inside. */
static void sigv4_put_value(struct buf *out, const char *p)
{
    p += strspn(p, " \t");
    while (*p) {
        const size_t word = strcspn(p, " \t");
        buf_put(out, p, word);
        p += word + strspn(p + word, " \t");
        if (*p)
            buf_u8(out, ' ');
    }
}

static void sigv4_put_names(struct buf *out, const struct sigv4_pair **sorted, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "%s%s", i ? ";" : "", sorted[i]->name);
}

static void sigv4_canonical(const struct sigv4_request *q, struct buf *out)
{
    const struct sigv4_pair *sorted[SIGV4_PAIRS_MOST];
    sigv4_sort(q->headers, q->n_headers, sorted);
    buf_printf(out, "%s\n", q->method);
    sigv4_encode(out, q->path, true);
    buf_u8(out, '\n');
    sigv4_query(out, q->query, q->n_query);
    buf_u8(out, '\n');
    for (size_t i = 0; i < q->n_headers; i++) {
        buf_printf(out, "%s:", sorted[i]->name);
        sigv4_put_value(out, sorted[i]->value);
        buf_u8(out, '\n');
    }
    buf_u8(out, '\n');
    sigv4_put_names(out, sorted, q->n_headers);
    buf_printf(out, "\n%s", q->payload_hash);
}

/* ==== the signature ==== */

void sigv4_date(char out[17], int64_t time_s)
{
    struct tm tm;
    const time_t t = (time_t)time_s;
    if (!gmtime_r(&t, &tm) || strftime(out, 17, "%Y%m%dT%H%M%SZ", &tm) != 16)
        memcpy(out, "19700101T000000Z", 17);
}

/* Four HMACs, a few microseconds: not worth a cache. */
static void sigv4_key(const struct sigv4_signer *signer, const char date[17],
                      uint8_t key[SHA256_LEN])
{
    struct buf secret = {0};
    buf_printf(&secret, "AWS4%s", signer->secret);
    hmac_sha256(secret.p, secret.len, date, 8, key);
    explicit_bzero(secret.p, secret.cap);
    buf_free(&secret);
    hmac_sha256(key, SHA256_LEN, signer->region, strlen(signer->region), key);
    hmac_sha256(key, SHA256_LEN, signer->service, strlen(signer->service), key);
    hmac_sha256(key, SHA256_LEN, "aws4_request", 12, key);
}

void sigv4_sign(const struct sigv4_request *q, const struct sigv4_signer *signer,
                char signature[SHA256_HEX], char canonical[SHA256_HEX])
{
    struct buf text = {0};
    char hash[SHA256_HEX], date[17];
    uint8_t key[SHA256_LEN], sum[SHA256_LEN];
    sigv4_date(date, q->time_s);
    sigv4_canonical(q, &text);
    sha256_hex(text.p, text.len, hash);
    if (canonical)
        memcpy(canonical, hash, sizeof hash);
    text.len = 0;
    buf_printf(&text, "AWS4-HMAC-SHA256\n%s\n%.8s/%s/%s/aws4_request\n%s", date, date,
               signer->region, signer->service, hash);
    sigv4_key(signer, date, key);
    hmac_sha256(key, sizeof key, text.p, text.len, sum);
    explicit_bzero(key, sizeof key);
    sha256_text(sum, signature);
    buf_free(&text);
}

void sigv4_authorization(struct buf *out, const struct sigv4_request *q,
                         const struct sigv4_signer *signer)
{
    const struct sigv4_pair *sorted[SIGV4_PAIRS_MOST];
    char signature[SHA256_HEX], date[17];
    sigv4_sort(q->headers, q->n_headers, sorted);
    sigv4_date(date, q->time_s);
    sigv4_sign(q, signer, signature, NULL);
    buf_printf(out,
               "AWS4-HMAC-SHA256 Credential=%s/%.8s/%s/%s/aws4_request,SignedHeaders=", signer->id,
               date, signer->region, signer->service);
    sigv4_put_names(out, sorted, q->n_headers);
    buf_printf(out, ",Signature=%s", signature);
}
