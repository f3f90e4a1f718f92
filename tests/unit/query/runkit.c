/* SPDX-License-Identifier: Apache-2.0 */
/* runkit.c - see runkit.h. */
#include "query/runkit.h"

#include <stdio.h>

#include "base/json_write.h"
#include "base/mem.h"
#include "store/segment.h"
#include "test.h"

static const struct clock_tie tie = {{0}, {KIT_START}};
static char runs[8][PATH_LEN];
static unsigned run_at;
static const struct kit_id file_id = {"0123456789abcde"};

const char *kit_run(const char *folder, const char *name, const char *id, int64_t start_ns)
{
    char *path = runs[run_at++ % COUNT_OF(runs)]; /* lives longer than what kit_path gives */
    snprintf(path, PATH_LEN, "%s", kit_path("%s", folder));
    struct buf b = {0};
    struct jw j = {.out = &b};
    kit_mkdir(path);
    jw_object(&j, NULL);
    jw_int(&j, "format_version", 1);
    jw_str(&j, "name", name);
    jw_str(&j, "id", id);
    jw_int(&j, "start_ns", start_ns);
    jw_end(&j);
    kit_save(kit_path("%s/run.json", folder), b.p, b.len);
    buf_free(&b);
    return path;
}

static void node_file(char *out, const char *run, const char *id, const char *stem, unsigned k,
                      const char *end)
{
    snprintf(out, PATH_LEN, "%s/node-%s", run, id);
    kit_mkdir(out);
    if (k > 1)
        snprintf(out, PATH_LEN, "%s/node-%s/%s-%u.%s", run, id, stem, k, end);
    else
        snprintf(out, PATH_LEN, "%s/node-%s/%s.%s", run, id, stem, end);
}

void kit_node(const char *run, const char *id, unsigned session, const char *json)
{
    char path[PATH_LEN];
    node_file(path, run, id, "node", session, "json");
    kit_save(path, json, strlen(json));
}

/* The first session that has no file yet. */
static unsigned next_session(char *path, const char *run, const char *id)
{
    for (unsigned k = 1;; k++) {
        node_file(path, run, id, "metrics", k, "fp");
        FILE *f = fopen(path, "rb");
        if (!f)
            return k;
        fclose(f);
    }
}

static int keep(void *ctx, const struct block_header *h, const struct buf *b, struct err *e)
{
    (void)h;
    (void)e;
    buf_put(ctx, b->p, b->len);
    return 0;
}

void kit_metrics(const char *run, const char *id, const struct buf *payload)
{
    char path[PATH_LEN];
    struct buf out = {0}, head = {0}, none = {0};
    struct segment s = {0};
    struct codec *c = codec_open();
    struct err e;
    next_session(path, run, id);
    kit_header(&out, FILE_SEALED, 0, tie, file_id);
    CHECK(segment_feed(&s, payload->p, payload->len));
    OK(seal_segment(c, &s, 1, SEAL_TO_KEEP, &(struct seal_out){keep, &out}, &e));
    struct buf index = {0};
    unsigned n = 0;
    size_t before = 0;
    for (size_t at = FILE_HEADER_LEN; at < out.len; n++) {
        struct block_header h;
        CHECK(block_get(&h, out.p + at, out.len - at));
        buf_varint(&index, (at - before) / BLOCK_ALIGN);
        buf_varint(&index, h.kind);
        before = at;
        at += block_size(&h);
    }
    buf_varint(&head, n);
    buf_put(&head, index.p, index.len);
    const uint64_t index_at = out.len;
    block_put(&out, &(struct block_header){.kind = BLOCK_INDEX, .segment = 2}, &head, &none);
    buf_u64(&out, index_at);
    buf_put(&out, FILE_END_MAGIC, 8);
    kit_save(path, out.p, out.len);
    segment_free(&s);
    codec_close(c);
    buf_free(&out);
    buf_free(&head);
    buf_free(&index);
}

void kit_metrics_died(const char *run, const char *id, const struct buf *payload)
{
    char path[PATH_LEN];
    struct buf out = {0};
    const unsigned k = next_session(path, run, id);
    kit_header(&out, FILE_SEALED, 0, tie, file_id);
    kit_save(path, out.p, out.len);
    out.len = 0;
    kit_header(&out, FILE_TAIL, 1, tie, file_id);
    kit_frame(&out, payload, 1);
    node_file(path, run, id, "metrics", k, "tail");
    kit_save(path, out.p, out.len);
    buf_free(&out);
}
