/* SPDX-License-Identifier: Apache-2.0 */
/* import_catch.h - a sink that keeps what an importer tells it. */
#ifndef TEST_IMPORT_CATCH_H
#define TEST_IMPORT_CATCH_H

#include "base/arena.h"
#include "base/mem.h"
#include "import/importer.h"
#include "test.h"

struct caught {
    struct track track;
    struct event event;
};

struct catch
{
    struct sink sink; /* first: the sink is the catch */
    struct arena arena;
    struct caught *v;
    size_t n, cap, calls;
    struct track *named; /* tracks told with no event */
    size_t n_named, cap_named;
};

static inline void catch_events(struct sink *s, const struct track *t, const struct event *v,
                                size_t n)
{
    struct catch *c = (struct catch *)s;
    c->calls++;
    if (n == 0) {
        if (c->n_named == c->cap_named) {
            c->cap_named = c->cap_named ? c->cap_named * 2 : 16;
            c->named = xrealloc(c->named, c->cap_named, sizeof *c->named);
        }
        c->named[c->n_named++] = *t;
    }
    for (size_t i = 0; i < n; i++) {
        if (c->n == c->cap) {
            c->cap = c->cap ? c->cap * 2 : 64;
            c->v = xrealloc(c->v, c->cap, sizeof *c->v);
        }
        struct caught *one = &c->v[c->n++];
        *one = (struct caught){*t, v[i]};
        one->event.name = arena_strdup(&c->arena, v[i].name);
        one->event.args = v[i].args ? arena_strdup(&c->arena, v[i].args) : NULL;
    }
}

static inline void catch_open(struct catch *c)
{
    static const struct sink_ops ops = {.events = catch_events};
    *c = (struct catch){.sink = {&ops}};
}

static inline void catch_close(struct catch *c)
{
    arena_free(&c->arena);
    free(c->v);
    free(c->named);
}

/* The only event of that name. */
static inline const struct caught *catch_find(const struct catch *c, const char *name)
{
    const struct caught *found = NULL;
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->v[i].event.name, name) == 0) {
            if (found)
                test_fail(__FILE__, __LINE__, "'%s' came twice", name);
            found = &c->v[i];
        }
    if (!found)
        test_fail(__FILE__, __LINE__, "'%s' did not come", name);
    return found;
}

/* The names that the track had in the end. */
static inline const struct track *catch_track(const struct catch *c, const struct caught *one)
{
    for (size_t i = c->n_named; i > 0; i--)
        if (track_same(&c->named[i - 1], &one->track))
            return &c->named[i - 1];
    const struct track *last = &one->track;
    for (size_t i = 0; i < c->n; i++)
        if (track_same(&c->v[i].track, &one->track))
            last = &c->v[i].track;
    return last;
}

#endif
