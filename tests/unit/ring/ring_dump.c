/* SPDX-License-Identifier: Apache-2.0 */
/* ring_dump.c - takes what the processes of a ring folder have said and prints one JSON line per
 * event: for tests of hooks without a recorder.
 *
 *     ring_dump FOLDER */
#include <stdio.h>

#include "base/json_write.h"
#include "ring/ring_folder.h"

static const char *const kinds[RING_KIND_END] = {
    [RING_STEP_BEGIN] = "step_begin",
    [RING_STEP_END] = "step_end",
    [RING_SPAN_BEGIN] = "span_begin",
    [RING_SPAN_END] = "span_end",
    [RING_MARK] = "mark",
    [RING_COUNT_INT] = "count",
    [RING_COUNT_REAL] = "real",
    [RING_PAST_BEGIN] = "past_begin",
    [RING_PAST_END] = "past_end",
    [RING_LOSS] = "loss",
    [RING_HEALTH_STEP] = "health_step",
    [RING_HEALTH_AT] = "health_at",
    [RING_HEALTH_TEXT] = "health_text",
    [RING_HEALTH_REAL] = "health_real",
    [RING_HEALTH_COUNT] = "health_count",
    [RING_HEALTH_LOST] = "health_lost",
};

static void put_event(struct buf *out, uint32_t pid, const struct ring_event *v)
{
    struct jw j = {.out = out};
    jw_object(&j, NULL);
    jw_int(&j, "pid", pid);
    jw_int(&j, "tid", v->tid);
    jw_int(&j, "t_ns", v->at.ns);
    jw_str(&j, "kind", kinds[v->kind]);
    jw_int(&j, "mode", v->mode);
    jw_str(&j, "name", v->name);
    if (v->kind == RING_COUNT_REAL)
        jw_num(&j, "value", v->real);
    else if (v->kind == RING_LOSS)
        jw_str(&j, "reason", v->reason);
    else
        jw_int(&j, "value", v->number);
    jw_end(&j);
    buf_u8(out, '\n');
}

static void on_events(void *arg, struct ring_reader *r, const struct ring_event *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put_event(arg, ring_reader_process(r)->pid, &v[i]);
}

static void on_lost(void *arg, struct ring_reader *r, const struct ring_losses *more)
{
    (void)arg;
    fprintf(stderr, "process %u: %llu events lost\n", ring_reader_process(r)->pid,
            (unsigned long long)(more->dropped + more->no_ring + more->torn + more->bad));
}

static void on_change(void *arg, struct ring_reader *r)
{
    (void)arg;
    (void)r;
}

static void on_broken(void *arg, struct ring_reader *r, const struct err *why)
{
    (void)arg;
    (void)r;
    fprintf(stderr, "%s\n", why->msg);
}

int main(int argc, char **argv)
{
    struct buf out = {0};
    struct err e;
    struct ring_folder *f;
    size_t n;
    const struct ring_folder_handler h = {
        .ring = {.events = on_events, .lost = on_lost, .arg = &out},
        .begun = on_change,
        .ended = on_change,
        .broken = on_broken,
    };
    if (argc != 2 || ring_folder_open(&f, argv[1], &h, &e) || ring_folder_finish(f, &n, &e)) {
        fprintf(stderr, "%s\n", argc != 2 ? "usage: ring_dump FOLDER" : e.msg);
        return 1;
    }
    ring_folder_close(f, false);
    fwrite(out.p, 1, out.len, stdout);
    buf_free(&out);
    return 0;
}
