/* SPDX-License-Identifier: Apache-2.0 */
/* search.c - see search.h. */
#include "query/search.h"

#include <string.h>

#include "base/mem.h"
#include "query/event_flow.h"

struct searching {
    struct run *run;
    const struct search_ask *ask;
    struct arena *arena;
    struct search_result *out;
    uint64_t budget;
};

static bool holds(const struct search_ask *ask, const char *name)
{
    return strcasestr(name, ask->text) != NULL;
}

static void search_take(struct searching *s, const struct run_track *t, const struct run_event *v)
{
    if (v->event.kind != EVENT_SPAN || !holds(s->ask, v->event.name))
        return;
    s->out->count++;
    if (s->out->n < s->ask->limit)
        s->out->v[s->out->n++] =
            (struct search_hit){t, arena_strdup(s->arena, v->event.name), v->at, v->event.dur_ns};
}

static int has_name(struct searching *s, const struct run_track *t, const struct track_block *where,
                    bool *has, struct err *e)
{
    struct arena texts = {0};
    const char **names;
    size_t n;
    *has = false;
    const int rc = track_block_names(s->run, t, where, &texts, &names, &n, e);
    for (size_t i = 0; rc == 0 && i < n && !*has; i++)
        *has = holds(s->ask, names[i]);
    arena_free(&texts);
    return rc;
}

/* Neighbouring blocks may overlap, so each is asked for what begins in it. */
static int search_block(struct searching *s, const struct run_track *t, wall_ns from, wall_ns to,
                        struct err *e)
{
    struct arena scratch = {0};
    struct run_event *v;
    size_t n;
    const int rc = events_read(s->run, t, from, to, &scratch, &v, &n, e);
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (v[i].at.ns >= from.ns)
            search_take(s, t, &v[i]);
    arena_free(&scratch);
    return rc;
}

static int search_track(struct searching *s, const struct run_track *t, struct err *e)
{
    struct track_block *v;
    size_t n;
    int rc = track_blocks(s->run, t, s->ask->from, s->ask->to, s->arena, &v, &n, e);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        const int64_t from = MAX_OF(v[i].first.ns, s->ask->from.ns);
        int64_t to = i + 1 < n ? v[i + 1].first.ns : v[i].last.ns + 1;
        bool has;
        if (s->ask->to.ns)
            to = MIN_OF(to, s->ask->to.ns);
        rc = has_name(s, t, &v[i], &has, e);
        if (rc || !has || to <= from)
            continue;
        if (v[i].events > s->budget) {
            s->out->cut = true;
            continue;
        }
        s->budget -= v[i].events;
        rc = search_block(s, t, (wall_ns){from}, (wall_ns){to}, e);
    }
    return rc;
}

int search_read(struct run *r, const struct search_ask *ask, struct arena *a,
                struct search_result *out, struct err *e)
{
    struct searching s = {r, ask, a, out, ask->budget};
    struct run_track *tracks;
    size_t n;
    int rc = events_tracks(r, a, &tracks, &n, e);
    *out = (struct search_result){.v = arena_array(a, struct search_hit, ask->limit + 1)};
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = search_track(&s, &tracks[i], e);
    return rc;
}
