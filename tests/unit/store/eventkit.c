/* SPDX-License-Identifier: Apache-2.0 */
/* eventkit.c - see eventkit.h. */
#include "store/eventkit.h"

#include <stdlib.h>

#include "base/mem.h"
#include "test.h"

void kit_events_add(struct kit_events *l, const struct track *t, const struct event *v)
{
    if (l->n == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 256;
        l->v = xrealloc(l->v, l->cap, sizeof *l->v);
    }
    struct kit_event *one = &l->v[l->n++];
    *one = (struct kit_event){*t, *v};
    one->event.name = arena_strdup(&l->arena, v->name ? v->name : "");
    one->event.args = arena_strdup(&l->arena, v->args ? v->args : "");
}

static int by_numbers(const int64_t *a, const int64_t *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i])
            return a[i] > b[i] ? 1 : -1;
    return 0;
}

static int by_all(const void *a, const void *b)
{
    const struct kit_event *x = a, *y = b;
    const struct event *v = &x->event, *w = &y->event;
    const int64_t p[] = {x->track.pid, x->track.kind,    (int64_t)x->track.id,
                         v->at.ns,     -v->dur_ns,       v->kind,
                         v->mode,      v->end,           v->category,
                         v->value,     (int64_t)v->link, (int64_t)v->parent};
    const int64_t q[] = {y->track.pid, y->track.kind,    (int64_t)y->track.id,
                         w->at.ns,     -w->dur_ns,       w->kind,
                         w->mode,      w->end,           w->category,
                         w->value,     (int64_t)w->link, (int64_t)w->parent};
    int c = by_numbers(p, q, COUNT_OF(p));
    c = c ? c : strcmp(v->name, w->name);
    c = c ? c : strcmp(v->args, w->args);
    c = c ? c : strcmp(x->track.process, y->track.process);
    return c ? c : strcmp(x->track.name, y->track.name);
}

void kit_events_sort(struct kit_events *l)
{
    if (l->n)
        qsort(l->v, l->n, sizeof *l->v, by_all);
}

bool kit_events_same(const struct kit_events *a, const struct kit_events *b)
{
    return a->n == b->n && kit_events_within(a, b);
}

bool kit_events_within(const struct kit_events *part, const struct kit_events *all)
{
    size_t at = 0;
    for (size_t i = 0; i < part->n; i++, at++) {
        while (at < all->n && by_all(&all->v[at], &part->v[i]) < 0)
            at++;
        if (at == all->n || by_all(&all->v[at], &part->v[i]) != 0)
            return false;
    }
    return true;
}

void kit_events_free(struct kit_events *l)
{
    free(l->v);
    arena_free(&l->arena);
    *l = (struct kit_events){0};
}

static void check_order(const struct events_block *b, const struct event *v)
{
    int64_t first = v[0].at.ns, last = first;
    for (uint32_t i = 0; i < b->rows; i++) {
        if (i)
            CHECK(v[i].at.ns > v[i - 1].at.ns ||
                  (v[i].at.ns == v[i - 1].at.ns && v[i].dur_ns <= v[i - 1].dur_ns));
        last = MAX_OF(last, v[i].at.ns + v[i].dur_ns);
    }
    const int64_t before = first - b->t_first_us * NS_PER_US;
    const int64_t after = b->t_last_us * NS_PER_US - last;
    CHECK(before >= 0 && before < NS_PER_US && after >= 0 && after < NS_PER_US);
}

struct kit_events kit_events_of(const struct store *s)
{
    struct kit_events out = {0};
    struct codec *c = codec_open();
    for (uint32_t i = 0; i < s->n_events; i++) {
        const struct events_block *b = &s->events[i];
        struct event *v = xcalloc(b->rows, sizeof *v);
        struct arena a = {0};
        CHECK(i == 0 || s->events[i - 1].t_first_us <= b->t_first_us);
        CHECK(b->t_first_us >= s->t_first_us && b->t_last_us <= s->t_last_us);
        if (block_events(c, b, &a, v)) {
            check_order(b, v);
            for (uint32_t k = 0; k < b->rows; k++)
                kit_events_add(&out, &b->track, &v[k]);
        }
        free(v);
        arena_free(&a);
    }
    codec_close(c);
    kit_events_sort(&out);
    return out;
}

struct kit_events kit_events_path(const char *path)
{
    struct store *s;
    struct err e;
    OK(store_open(&s, path, &e));
    struct kit_events l = kit_events_of(s);
    store_close(s);
    return l;
}

struct track kit_track(unsigned number)
{
    struct track t = {.kind = TRACK_THREAD, .pid = 100 + number, .id = 1000 + number};
    snprintf(t.process, sizeof t.process, "python train%u.py", number);
    snprintf(t.name, sizeof t.name, "thread %u", number);
    return t;
}

void kit_tell(struct sink *s, const struct track *t, const struct event *v)
{
    s->ops->events(s, t, v, 1);
}

static struct kit_pair open_pair(const char *dir, bool bulk)
{
    struct kit_pair p;
    struct err e;
    char path[PATH_LEN];
    snprintf(path, sizeof path, "%s", dir);
    kit_mkdir(path);
    OK(bulk ? writer_open_bulk(&p.metrics, path, 0, clock_tie_now(), &e)
            : writer_open(&p.metrics, path, &e));
    OK(writer_open_beside(&p.events, p.metrics, "events", &e));
    return p;
}

struct kit_pair kit_open_pair(const char *dir)
{
    return open_pair(dir, false);
}

struct kit_pair kit_open_bulk(const char *dir)
{
    return open_pair(dir, true);
}

void kit_close_pair(struct kit_pair *p)
{
    struct err e;
    OK(writer_close(p->events, &e));
    OK(writer_close(p->metrics, &e));
}
