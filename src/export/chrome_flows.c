/* SPDX-License-Identifier: Apache-2.0 */
/* chrome_flows.c - which launches get an arrow to what they launched: those of which both ends are
 * there. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "export/chrome.h"

/* Beyond so many links of a process there are no arrows: nobody could see them. */
enum { LINKS_MOST = 4 << 20 };

struct links {
    uint64_t *v;
    size_t n, cap;
};

static int chrome_flows_by_number(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int add_links(void *to, const struct run_track *t, const struct run_event *v, size_t n,
                     struct err *e)
{
    struct links *l = to;
    (void)e;
    for (size_t i = 0; i < n; i++) {
        const struct event *x = &v[i].event;
        if (!x->link || x->kind != EVENT_SPAN || l->n == LINKS_MOST ||
            (t->track.kind == TRACK_THREAD && x->category != CAT_RUNTIME))
            continue;
        if (l->n == l->cap) {
            l->cap = l->cap ? l->cap * 2 : 1024;
            l->v = xrealloc(l->v, l->cap, sizeof *l->v);
        }
        l->v[l->n++] = x->link;
    }
    return 0;
}

static void sort_once(struct links *l)
{
    size_t n = 0;
    if (l->n)
        qsort(l->v, l->n, sizeof *l->v, chrome_flows_by_number);
    for (size_t i = 0; i < l->n; i++)
        if (n == 0 || l->v[n - 1] != l->v[i])
            l->v[n++] = l->v[i];
    l->n = n;
}

/* What both have stays in `a`. */
static void keep_common(struct links *a, const struct links *b)
{
    size_t n = 0;
    for (size_t i = 0, k = 0; i < a->n && k < b->n;) {
        if (a->v[i] == b->v[k])
            a->v[n++] = a->v[i];
        const bool low = a->v[i] <= b->v[k];
        k += b->v[k] <= a->v[i];
        i += low;
    }
    a->n = n;
}

static bool has_devices(const struct chrome *c, size_t first, size_t end)
{
    return end > first && c->tracks.v[end - 1].track.kind == TRACK_DEVICE;
}

int flows_gather(struct chrome *c, size_t first, size_t end, struct err *e)
{
    struct links side[2] = {{0}, {0}}; /* by enum track_kind */
    int rc = 0;
    flows_free(&c->flows);
    if (!has_devices(c, first, end))
        return 0;
    for (size_t i = first; rc == 0 && i < end; i++) {
        const struct run_track *t = &c->tracks.v[i];
        rc = export_events(c->job, t, add_links, &side[t->track.kind], e);
    }
    sort_once(&side[TRACK_THREAD]);
    sort_once(&side[TRACK_DEVICE]);
    keep_common(&side[TRACK_THREAD], &side[TRACK_DEVICE]);
    free(side[TRACK_DEVICE].v);
    c->flows = (struct flows){.v = side[TRACK_THREAD].v, .n = side[TRACK_THREAD].n};
    c->flows.begun = xcalloc(c->flows.n, sizeof *c->flows.begun);
    return rc;
}

/* Its place; n when it is not there. Links mostly come in order, so the next one is tried first. */
static size_t chrome_flows_find(struct flows *f, uint64_t link)
{
    for (size_t i = f->near; i < f->n && i < f->near + 2; i++)
        if (f->v[i] == link)
            return f->near = i;
    const uint64_t *at =
        f->n ? bsearch(&link, f->v, f->n, sizeof *f->v, chrome_flows_by_number) : NULL;
    if (!at)
        return f->n;
    return f->near = (size_t)(at - f->v);
}

bool flows_begin(struct flows *f, uint64_t link)
{
    const size_t i = chrome_flows_find(f, link);
    if (i == f->n || f->begun[i])
        return false;
    return f->begun[i] = true;
}

bool flows_has(struct flows *f, uint64_t link)
{
    return chrome_flows_find(f, link) < f->n;
}

void flows_free(struct flows *f)
{
    free(f->v);
    free(f->begun);
    *f = (struct flows){0};
}
