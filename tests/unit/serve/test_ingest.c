/* SPDX-License-Identifier: Apache-2.0 */
/* test_ingest.c - what requests to a hub mean: paths, headers, ranges. */
#include <string.h>

#include "base/mem.h"
#include "serve/ingest.h"
#include "test.h"

#define ID "00112233445566778899aabbccddeeff"

static const char *find(const void *ctx, const char *name)
{
    for (const char *const *p = ctx; *p; p += 2)
        if (strcmp(p[0], name) == 0)
            return p[1];
    return NULL;
}

static int parse(struct ingest_ask *out, enum http_method m, const char *uri,
                 const char *const *headers)
{
    static struct arena a;
    struct request q;
    struct err e;
    const char *why = NULL;
    OK(request_parse(&q, uri, &a, &e));
    const int status = ingest_parse(out, m, &q, find, headers, &why);
    CHECK(status == 0 || why);
    return status;
}

static const char *const part[] = {"Content-Type",
                                   "application/partial-upload",
                                   "Upload-Offset",
                                   "91046",
                                   "Upload-Complete",
                                   "?1",
                                   "Footplate-File",
                                   ID,
                                   NULL};

TEST(a_part_has_its_place_its_file_and_whether_it_is_the_last)
{
    struct ingest_ask ask;
    CHECK_INT(parse(&ask, HTTP_PATCH, "/api/v1/ingest/r/node-n1/metrics.fp", part), 0);
    CHECK(ask.op == INGEST_APPEND && ask.kind == RUN_FILE_SEALED && !ask.zstd);
    CHECK_STR(ask.at.run, "r");
    CHECK_STR(ask.at.node, "n1");
    CHECK_STR(ask.at.file, "metrics.fp");
    CHECK(ask.part.offset == 91046 && ask.part.complete);
    CHECK(ask.part.id[0] == 0 && ask.part.id[1] == 0x11 && ask.part.id[15] == 0xff);
}

TEST(a_tail_has_a_segment)
{
    const char *const with[] = {"Content-Type",
                                "application/partial-upload",
                                "Upload-Offset",
                                "0",
                                "Footplate-File",
                                ID,
                                "Footplate-Segment",
                                "17",
                                "Content-Encoding",
                                "zstd",
                                NULL};
    struct ingest_ask ask;
    CHECK_INT(parse(&ask, HTTP_PATCH, "/api/v1/ingest/r/node-n/events-2.tail", with), 0);
    CHECK(ask.kind == RUN_FILE_TAIL && ask.part.segment == 17 && ask.zstd);
    CHECK_INT(parse(&ask, HTTP_PATCH, "/api/v1/ingest/r/node-n/events.tail", part), 400);
}

TEST(a_part_without_what_it_needs_is_refused)
{
    static const struct {
        const char *name, *value;
        int status;
    } rows[] = {
        {"Content-Type", "text/plain", 415},
        {"Upload-Offset", "-1", 400},
        {"Upload-Offset", "", 400},
        {"Upload-Offset", "1x", 400},
        {"Upload-Offset", "9999999999999999999", 400},
        {"Footplate-File", "00", 400},
        {"Footplate-File", "zz112233445566778899aabbccddeeff", 400},
        {"Upload-Complete", "yes", 400},
        {"Content-Encoding", "gzip", 415},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *with[16] = {rows[i].name, rows[i].value};
        struct ingest_ask ask;
        memcpy(with + 2, part, sizeof part);
        CHECK_INT(parse(&ask, HTTP_PATCH, "/api/v1/ingest/r/node-n/metrics.fp", with),
                  rows[i].status);
    }
}

TEST(methods_fit_the_file)
{
    static const struct {
        enum http_method m;
        const char *path;
        int status;
        enum ingest_op op;
    } rows[] = {
        {HTTP_PUT, "r/run.json", 0, INGEST_PUT},
        {HTTP_PUT, "r/node-n/node.json", 0, INGEST_PUT},
        {HTTP_PUT, "r/findings.json", 0, INGEST_PUT},
        {HTTP_GET, "r/node-n", 0, INGEST_STATE},
        {HTTP_GET, "r/node-n/metrics.fp", 0, INGEST_LOOK},
        {HTTP_GET, "r/run.json", 405, 0}, /* a write token reads nothing */
        {HTTP_GET, "r/node-n/node.json", 405, 0},
        {HTTP_PUT, "r/node-n/metrics.fp", 405, 0},
        {HTTP_PUT, "r/node-n", 405, 0},
        {HTTP_PATCH, "r/run.json", 405, 0},
        {HTTP_POST, "r/node-n/metrics.fp", 405, 0},
        {HTTP_OTHER, "r/node-n/metrics.fp", 405, 0},
        {HTTP_DELETE, "r/node-n/events.fp", 0, INGEST_REMOVE},
        {HTTP_DELETE, "r/node-n/events.tail", 405, 0},
        {HTTP_DELETE, "r/run.json", 405, 0},
        {HTTP_GET, "r", 404, 0},
        {HTTP_PUT, "r/received.json", 404, 0},
        {HTTP_PUT, "r/..%2fx/run.json", 404, 0},
        {HTTP_PUT, "..%2f..%2fetc/run.json", 404, 0},
        {HTTP_PUT, "%2e%2e/run.json", 404, 0},
        {HTTP_PATCH, "r/node-n/lock", 404, 0},
        {HTTP_PATCH, "r/node-..%2f..%2fx/metrics.fp", 404, 0},
        {HTTP_PATCH, "r/node-n/x/metrics.fp", 404, 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char uri[200];
        struct ingest_ask ask;
        snprintf(uri, sizeof uri, "/api/v1/ingest/%s", rows[i].path);
        CHECK_INT(parse(&ask, rows[i].m, uri, part), rows[i].status);
        if (!rows[i].status)
            CHECK_INT(ask.op, rows[i].op);
    }
}
