/* SPDX-License-Identifier: Apache-2.0 */
/* test_sigv4.c - published and computed signatures, and the hashes below them. */
#include "base/mem.h"
#include "net/sigv4.h"
#include "test.h"

#define NOTHING "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static void check_hash(const void *p, size_t n, const char *want)
{
    char got[SHA256_HEX];
    sha256_hex(p, n, got);
    CHECK_STR(got, want);
}

TEST(sha256_gives_what_the_standard_says)
{
    char *million = xmalloc(1000000);
    memset(million, 'a', 1000000);
    check_hash("", 0, NOTHING);
    check_hash("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check_hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
               "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    check_hash(million, 1000000,
               "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(million);
}

TEST(sha256_of_parts_is_that_of_the_whole_wherever_it_is_cut)
{
    uint8_t bytes[200], whole[SHA256_LEN], parts[SHA256_LEN];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7);
    for (size_t n = 0; n <= sizeof bytes; n++)
        for (size_t cut = 0; cut <= n; cut += 13) {
            struct sha256 s;
            sha256_begin(&s);
            sha256_add(&s, bytes, n);
            sha256_end(&s, whole);
            sha256_begin(&s);
            sha256_add(&s, bytes, cut);
            sha256_add(&s, bytes + cut, n - cut);
            sha256_end(&s, parts);
            CHECK(memcmp(whole, parts, sizeof whole) == 0);
        }
}

static void check_hmac(const char *key, size_t key_len, const char *text, const char *want)
{
    uint8_t got[SHA256_LEN];
    char hex[SHA256_HEX];
    hmac_sha256(key, key_len, text, strlen(text), got);
    for (size_t i = 0; i < sizeof got; i++)
        snprintf(hex + 2 * i, 3, "%02x", got[i]);
    CHECK_STR(hex, want);
}

TEST(hmac_gives_what_rfc_4231_says)
{
    char key[131];
    memset(key, 0x0b, 20);
    check_hmac(key, 20, "Hi There",
               "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    check_hmac("Jefe", 4, "what do ya want for nothing?",
               "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, 131);
    check_hmac(key, 131, "Test Using Larger Than Block-Size Key - Hash Key First",
               "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

static const struct sigv4_signer example = {
    "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "us-east-1", "s3"};

#define MAY_24 1369353600 /* 20130524T000000Z */

struct vector {
    const char *method, *path;
    struct sigv4_pair query[4];
    struct sigv4_pair more[2];
    const char *body;
    const char *canonical, *signature;
};

static const struct vector vectors[] = {
    {"GET",
     "/test.txt",
     {{0}},
     {{"range", "bytes=0-9"}},
     "",
     "7344ae5b7ee6c3e7e6b0fe0640412a37625d1fbfff95c48bbb2dc43964946972",
     "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
    {"PUT",
     "/test$file.text",
     {{0}},
     {{"x-amz-storage-class", "REDUCED_REDUNDANCY"}, {"date", "Fri, 24 May 2013 00:00:00 GMT"}},
     "Welcome to Amazon S3.",
     "9e0e90d9c76de8fa5b200d8c849cd5b8dc7a3be3951ddb7f6a76b4158342019d",
     "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"},
    {"GET",
     "/",
     {{"lifecycle", ""}},
     {{0}},
     "",
     "9766c798316ff2757b517bc739a67f6213b4ab36dd5da2f94eaebf79c77395ca",
     "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
    {"GET",
     "/",
     {{"prefix", "J"}, {"max-keys", "2"}},
     {{0}},
     "",
     "df57d21db20da04d7fa30298dd4488ba3a2b47ca3a489c74750e0f1e7df1b9b7",
     "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
    {"POST",
     "/a/b",
     {{"uploads", ""}},
     {{0}},
     "",
     "7e3fd55521c11a10cf75023e0ae965e954a28d5f045dae954a437ea00fbdd7e1",
     "7a54368fb875b2024ff9036d6a9204d2bd49efb313868aaf25e0283a8cb2fea2"},
    {"PUT",
     "/a/b",
     {{"uploadId", "abc~_-."}, {"partNumber", "1"}},
     {{0}},
     "",
     "fc3c257e078d8a756e76f3a23b4726c49958722e4661391673df85cf5a7eb5ff",
     "4de7bc46a0baaccfe6cf34e75e8475806facc7c7fe3f20dc2c85aa7cdf16135d"},
    {"GET",
     "/",
     {{"list-type", "2"},
      {"delimiter", "/"},
      {"prefix", "runs/a b+c=d/\xc3\xa9"},
      {"continuation-token", "1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM="}},
     {{0}},
     "",
     "bbfeab11a6f325fd92196716bb0e35440c1a9bdab121cd9f6a5e1fc115675482",
     "e3ebf83a563283a0dc086918d1368e0bc4673e7ff4258aab1edfa385fcd0b975"},
};

TEST(requests_are_signed_as_amazon_publishes_it)
{
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        const struct vector *v = &vectors[i];
        char hash[SHA256_HEX], signature[SHA256_HEX], canonical[SHA256_HEX];
        struct sigv4_pair headers[5] = {{"x-amz-date", "20130524T000000Z"},
                                        {"host", "examplebucket.s3.amazonaws.com"},
                                        {"x-amz-content-sha256", hash}};
        struct sigv4_request q = {.method = v->method, .path = v->path, .time_s = MAY_24};
        sha256_hex(v->body, strlen(v->body), hash);
        q.headers = headers;
        q.n_headers = 3;
        for (size_t k = 0; k < COUNT_OF(v->more) && v->more[k].name; k++)
            headers[q.n_headers++] = v->more[k];
        q.query = v->query;
        while (q.n_query < COUNT_OF(v->query) && v->query[q.n_query].name)
            q.n_query++;
        q.payload_hash = hash;
        sigv4_sign(&q, &example, signature, canonical);
        CHECK_STR(canonical, v->canonical);
        CHECK_STR(signature, v->signature);
    }
}

TEST(an_address_can_be_signed_in_its_query)
{
    const struct sigv4_pair query[] = {
        {"X-Amz-Algorithm", "AWS4-HMAC-SHA256"},
        {"X-Amz-Credential", "AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request"},
        {"X-Amz-Date", "20130524T000000Z"},
        {"X-Amz-Expires", "86400"},
        {"X-Amz-SignedHeaders", "host"},
    };
    const struct sigv4_pair headers[] = {{"host", "examplebucket.s3.amazonaws.com"}};
    const struct sigv4_request q = {.method = "GET",
                                    .path = "/test.txt",
                                    .query = query,
                                    .n_query = COUNT_OF(query),
                                    .headers = headers,
                                    .n_headers = 1,
                                    .payload_hash = "UNSIGNED-PAYLOAD",
                                    .time_s = MAY_24};
    char signature[SHA256_HEX], canonical[SHA256_HEX];
    sigv4_sign(&q, &example, signature, canonical);
    CHECK_STR(canonical, "3bfa292879f6447bbcda7001decf97f4a54dc650c8942174ae0a9121cf58ad04");
    CHECK_STR(signature, "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404");
}

TEST(the_header_names_key_scope_and_signed_headers)
{
    const struct sigv4_pair headers[] = {{"x-amz-date", "20130524T000000Z"}, {"host", "h:81"}};
    const struct sigv4_signer colon = {"test:tester", "testing", "us-east-1", "s3"};
    const struct sigv4_request q = {.method = "GET",
                                    .path = "/",
                                    .headers = headers,
                                    .n_headers = 2,
                                    .payload_hash = NOTHING,
                                    .time_s = MAY_24};
    struct buf b = {0};
    sigv4_authorization(&b, &q, &colon);
    buf_u8(&b, 0);
    const char start[] =
        "AWS4-HMAC-SHA256 Credential=test:tester/20130524/us-east-1/s3/aws4_request,"
        "SignedHeaders=host;x-amz-date,Signature=";
    CHECK(strncmp((char *)b.p, start, strlen(start)) == 0);
    CHECK_INT(b.len - 1 - strlen(start), 64);
    CHECK(!strstr((char *)b.p, "testing"));
    buf_free(&b);
}

TEST(white_space_in_a_header_is_one_space)
{
    char a[SHA256_HEX], b[SHA256_HEX];
    const struct sigv4_pair loose = {"x-amz-meta-a", "  b \t c  "}, tight = {"x-amz-meta-a", "b c"};
    struct sigv4_request q = {.method = "GET", .path = "/", .payload_hash = NOTHING};
    q.n_headers = 1;
    q.headers = &loose;
    sigv4_sign(&q, &example, a, NULL);
    q.headers = &tight;
    sigv4_sign(&q, &example, b, NULL);
    CHECK_STR(a, b);
}
