/* SPDX-License-Identifier: Apache-2.0 */
/* detail_ranges.c - see detail_ranges.h.
 *
 * Files of windows are known without decoding anything. For the spans of the hooks only the names
 * of a block are read, and its events only when "detail.window" is one of them. */
#include "query/detail_ranges.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/event_flow.h"
#include "query/ops_trace.h"
#include "query/run_open.h"
#include "store/event_columns.h"

struct range_list {
    const struct event_index *index;
    struct detail_range *v;
    const struct store **files; /* by range: the file of its window; NULL: it is a span */
    size_t n, cap;
};

static struct detail_range *ranges_add(struct range_list *l, const struct run_track *t,
                                       const struct store *file)
{
    if (l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 16;
        l->v = xrealloc(l->v, l->cap, sizeof *l->v);
        l->files = xrealloc(l->files, l->cap, sizeof *l->files);
    }
    l->files[l->n] = file;
    l->v[l->n] = (struct detail_range){
        .process = (uint32_t)(t->process - l->index->processes),
        .node = t->process->node,
        .pid = t->process->pid,
        .first = {INT64_MAX},
        .last = {INT64_MIN},
    };
    return &l->v[l->n++];
}

/* ---- files ---- */

static struct detail_range *range_of_file(struct range_list *l, const struct event_track *t)
{
    const uint32_t process = (uint32_t)(t->track.process - l->index->processes);
    for (size_t i = l->n; i-- > 0;)
        if (l->files[i] == t->store && l->v[i].process == process)
            return &l->v[i];
    return ranges_add(l, &t->track, t->store);
}

static void ranges_add_track(struct range_list *l, const struct event_track *t)
{
    struct detail_range *x = range_of_file(l, t);
    x->first.ns = x->begin.ns = MIN_OF(x->first.ns, t->track.first.ns);
    x->last.ns = x->end.ns = MAX_OF(x->last.ns, t->track.last.ns);
    x->operators |= !track_is_profile(&t->track);
}

/* ---- spans of the hooks ---- */

static bool block_has_windows(struct codec *c, const struct events_block *b, struct arena *texts)
{
    const char **names;
    if (!store_event_names(c, b, texts, &names))
        return false;
    for (uint32_t i = 0; i < b->n_names; i++)
        if (strcmp(names[i], event_words[EV_DETAIL].name) == 0)
            return true;
    return false;
}

static void ranges_add_spans(struct range_list *l, const struct event_track *t, struct codec *c)
{
    struct event_columns columns = {0};
    for (uint32_t i = 0; i < t->n_blocks; i++) {
        const struct events_block *b = &t->store->events[t->blocks[i]];
        struct arena texts = {0};
        const bool some = block_has_windows(c, b, &texts) &&
                          event_columns_read(&columns, c, b, &(struct event_want){0}, &texts);
        for (uint32_t k = 0; some && k < b->rows; k++) {
            struct event v;
            event_columns_row(&columns, k, &v);
            if (v.kind != EVENT_SPAN || strcmp(v.name, event_words[EV_DETAIL].name) != 0)
                continue;
            struct detail_range *x = ranges_add(l, &t->track, NULL);
            x->begin = event_wall(t->store, v.at);
            x->end.ns = x->begin.ns + MAX_OF(0, v.dur_ns);
        }
        arena_free(&texts);
    }
    event_columns_free(&columns);
}

/* ---- all of them ---- */

static int detail_ranges_by_begin(const void *a, const void *b)
{
    const struct detail_range *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return (x->begin.ns > y->begin.ns) - (x->begin.ns < y->begin.ns);
}

/* The file of a window and its span become one range. */
static void ranges_join(struct range_list *l)
{
    size_t kept = 0;
    if (l->n)
        qsort(l->v, l->n, sizeof *l->v, detail_ranges_by_begin);
    for (size_t i = 0; i < l->n; i++) {
        const struct detail_range *x = &l->v[i];
        struct detail_range *to = kept ? &l->v[kept - 1] : NULL;
        if (!to || to->process != x->process || x->begin.ns > to->end.ns) {
            l->v[kept++] = *x;
            continue;
        }
        to->end.ns = MAX_OF(to->end.ns, x->end.ns);
        to->first.ns = MIN_OF(to->first.ns, x->first.ns);
        to->last.ns = MAX_OF(to->last.ns, x->last.ns);
        to->operators |= x->operators;
    }
    l->n = kept;
}

static void ranges_gather(struct range_list *l)
{
    struct codec *c = codec_open();
    for (size_t i = 0; i < l->index->n_tracks; i++) {
        const struct event_track *t = &l->index->tracks[i];
        if (t->track.detail)
            ranges_add_track(l, t);
        else if (t->track.track.kind == TRACK_THREAD && t->track.process->worker < 0)
            ranges_add_spans(l, t, c);
    }
    codec_close(c);
    ranges_join(l);
}

int detail_ranges(struct run *r, struct arena *a, struct detail_range **out, size_t *n,
                  struct err *e)
{
    struct event_index *x;
    const int rc = run_events(r, &x, e);
    if (rc)
        return rc;
    struct range_list l = {.index = x};
    ranges_gather(&l);
    *out = arena_array(a, struct detail_range, l.n + 1);
    for (size_t i = 0; i < l.n; i++) {
        (*out)[i] = l.v[i];
        (*out)[i].node = arena_strdup(a, l.v[i].node);
    }
    *n = l.n;
    free(l.v);
    free(l.files);
    return 0;
}

bool detail_ranges_meet(const struct detail_range *v, size_t n, uint32_t process, wall_ns begin,
                        wall_ns end, int64_t after_ns)
{
    for (size_t i = 0; i < n; i++)
        if (v[i].process == process && begin.ns < v[i].end.ns + after_ns && end.ns > v[i].begin.ns)
            return true;
    return false;
}
