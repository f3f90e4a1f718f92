/* SPDX-License-Identifier: Apache-2.0 */
/* scene_rank.c - the ranks of a scene: the lines that describe them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/vec.h"
#include "import/scene_internal.h"
#include "record/event.h"

enum { STEPS_MOST = 10000000, RANK_LAST = 65535, CPU_EVENTS_MOST = 1000000 };

/* A clause applies to several ranks at once. */
struct many {
    struct parsing *p;
    int64_t from, to; /* numbers of ranks */
};

static struct scene_rank *rank_find(const struct scene *s, int64_t number)
{
    return FIND_ITEM(x, s->ranks, s->n_ranks, x->number == number);
}

/* ---- parts ---- */

/* "data=40%" or "data=40ms" */
static int scene_rank_take_part(struct parsing *p, struct scene_part *parts, size_t *n,
                                struct err *e)
{
    const char *w = word_next(p), *eq = strchr(w, '=');
    char name[32];
    struct err ignored;
    if (!eq || (size_t)(eq - w) >= sizeof name)
        return err_set(e, ERR_FORMAT, "unexpected '%.60s'", w);
    memcpy(name, w, (size_t)(eq - w));
    name[eq - w] = '\0';
    struct scene_part x = {.id = event_find(name), .share = NAN};
    if (x.id == EV_N || event_words[x.id].part == STEP_PART_NONE)
        return err_set(e, ERR_FORMAT, "'%.31s' is not a part of a step", name);
    if (*n == SCENE_PARTS_MOST)
        return err_set(e, ERR_LIMIT, "more than %d parts", SCENE_PARTS_MOST);
    const bool share = eq[1] && eq[strlen(eq) - 1] == '%';
    if (share && scene_number(eq + 1, &x.share) && x.share >= 0 && x.share <= 100)
        x.share /= 100;
    else if (share || duration_parse(eq + 1, &x.dur_ns, &ignored) != 0)
        return err_set(e, ERR_FORMAT, "'%.60s' is neither a share (40%%) nor a time (40ms)", w);
    parts[(*n)++] = x;
    return 0;
}

static bool clause_ends(const struct parsing *p)
{
    return word_last(p) || strcmp(word_now(p), ";") == 0;
}

/* ---- steps ---- */

static int scene_take_mode(struct parsing *p, enum event_mode *mode, struct err *e)
{
    const char *w = word_next(p);
    for (*mode = 0; *mode < MODE_N; (*mode)++)
        if (strcmp(event_mode_names[*mode], w) == 0)
            return 0;
    return err_set(e, ERR_FORMAT, "'%.60s' is not a step mode", w);
}

static int scene_take_jitter(struct parsing *p, double *out, struct err *e)
{
    const char *w = word_next(p);
    if (!scene_number(w, out) || *out < 0 || *out > 90)
        return err_set(e, ERR_FORMAT, "jitter must be a percentage up to 90%%, for example 5%%");
    *out /= 100;
    return 0;
}

static int steps_word(struct parsing *p, struct scene_steps *x, struct err *e)
{
    if (word_take(p, "from"))
        return word_time(p, &x->from_ns, e);
    if (word_take(p, "pause"))
        return word_time(p, &x->pause_ns, e);
    if (word_take(p, "mode"))
        return scene_take_mode(p, &x->mode, e);
    if (word_take(p, "batch"))
        return word_count(p, 1, 1000000000, &x->batch, e);
    if (word_take(p, "jitter"))
        return scene_take_jitter(p, &x->jitter, e);
    return scene_rank_take_part(p, x->parts, &x->n_parts, e);
}

/* 1000 x 500ms */
static int scene_take_times(struct parsing *p, int64_t *count, int64_t *dur_ns, struct err *e)
{
    TRY(word_count(p, 1, STEPS_MOST, count, e));
    TRY(word_want(p, "x", e));
    return word_time(p, dur_ns, e);
}

static int scene_on_steps(struct many *m, struct err *e)
{
    struct parsing *p = m->p;
    struct scene_steps x = {.from_ns = -1};
    TRY(scene_take_times(p, &x.count, &x.dur_ns, e));
    while (!clause_ends(p))
        TRY(steps_word(p, &x, e));
    for (int64_t i = m->from; i <= m->to; i++) {
        struct scene_rank *r = rank_find(p->out, i);
        *ARENA_ADD(p->arena, r->steps, r->n_steps, r->cap_steps) = x;
    }
    return 0;
}

/* ---- what modifies the steps before ---- */

static int scene_last_steps(const struct many *m, int64_t rank, const char *what,
                            struct scene_steps **out, struct err *e)
{
    const struct scene_rank *r = rank_find(m->p->out, rank);
    if (!r->n_steps)
        return err_set(e, ERR_FORMAT, "'%s' must come after the steps that it modifies", what);
    *out = &r->steps[r->n_steps - 1];
    return 0;
}

static int scene_rank_too_many(const char *what, struct err *e)
{
    return err_set(e, ERR_LIMIT, "more than %d '%s' lines", SCENE_EXTRAS_MOST, what);
}

static int scene_add_odd(struct many *m, const char *what, const struct scene_odd *x, struct err *e)
{
    struct scene_steps *s = NULL;
    for (int64_t i = m->from; i <= m->to; i++) {
        TRY(scene_last_steps(m, i, what, &s, e));
        if (s->n_odd == SCENE_EXTRAS_MOST)
            return scene_rank_too_many(what, e);
        s->odd[s->n_odd++] = *x;
    }
    return 0;
}

/* takes 2s [in data] */
static int scene_take_odd(struct many *m, const char *what, struct scene_odd *x, struct err *e)
{
    struct parsing *p = m->p;
    x->in = EV_N;
    TRY(word_want(p, "takes", e));
    TRY(word_time(p, &x->dur_ns, e));
    if (word_take(p, "in")) {
        const char *part = word_next(p);
        x->in = event_find(part);
        if (x->in == EV_N || event_words[x->in].part == STEP_PART_NONE)
            return err_set(e, ERR_FORMAT, "'%.60s' is not a part of a step", part);
    }
    return scene_add_odd(m, what, x, e);
}

static int scene_on_every(struct many *m, struct err *e)
{
    struct scene_odd x = {.at = -1};
    TRY(word_count(m->p, 1, STEPS_MOST, &x.every, e));
    return scene_take_odd(m, "every", &x, e);
}

static int scene_rank_on_step(struct many *m, struct err *e)
{
    struct scene_odd x = {0};
    TRY(word_count(m->p, 0, STEPS_MOST, &x.at, e));
    return scene_take_odd(m, "step", &x, e);
}

static int scene_add_after(struct many *m, const char *what, const struct scene_after *x,
                           struct err *e)
{
    struct scene_steps *s = NULL;
    for (int64_t i = m->from; i <= m->to; i++) {
        TRY(scene_last_steps(m, i, what, &s, e));
        if (s->n_after == SCENE_EXTRAS_MOST)
            return scene_rank_too_many(what, e);
        s->after[s->n_after++] = *x;
    }
    return 0;
}

static int scene_take_every(struct parsing *p, struct scene_after *x, struct err *e)
{
    TRY(word_want(p, "every", e));
    return word_count(p, 1, STEPS_MOST, &x->every, e);
}

/* eval 20 x 100ms every 100 [parts] */
static int scene_on_eval(struct many *m, struct err *e)
{
    struct scene_after x = {0};
    TRY(scene_take_times(m->p, &x.count, &x.dur_ns, e));
    TRY(scene_take_every(m->p, &x, e));
    while (!clause_ends(m->p))
        TRY(scene_rank_take_part(m->p, x.parts, &x.n_parts, e));
    return scene_add_after(m, "eval", &x, e);
}

/* checkpoint 3s every 100 */
static int scene_on_checkpoint(struct many *m, struct err *e)
{
    struct scene_after x = {0};
    TRY(word_time(m->p, &x.dur_ns, e));
    TRY(scene_take_every(m->p, &x, e));
    return scene_add_after(m, "checkpoint", &x, e);
}

/* ---- events ---- */

static void scene_rank_add_event(struct many *m, const struct scene_event *x)
{
    for (int64_t i = m->from; i <= m->to; i++) {
        struct scene_rank *r = rank_find(m->p->out, i);
        *ARENA_ADD(m->p->arena, r->events, r->n_events, r->cap_events) = *x;
    }
}

static int scene_take_name(struct parsing *p, const char **out, struct err *e)
{
    *out = word_next(p);
    const size_t n = strlen(*out);
    return n > 0 && n < 256 ? 0 : err_set(e, ERR_FORMAT, "an event needs a name");
}

/* span forward 10s..12s; one that has no end never ended */
static int scene_on_span(struct many *m, struct err *e)
{
    struct scene_event x = {.kind = EVENT_SPAN};
    TRY(scene_take_name(m->p, &x.name, e));
    TRY(word_range(m->p, true, &x.at_ns, &x.to_ns, e));
    scene_rank_add_event(m, &x);
    return 0;
}

/* mark loader.start 10s */
static int scene_on_event_mark(struct many *m, struct err *e)
{
    struct scene_event x = {.kind = EVENT_MARK};
    TRY(scene_take_name(m->p, &x.name, e));
    TRY(word_time(m->p, &x.at_ns, e));
    scene_rank_add_event(m, &x);
    return 0;
}

/* count batch.size 32 at 10s */
static int scene_on_count(struct many *m, struct err *e)
{
    struct scene_event x = {.kind = EVENT_COUNT};
    TRY(scene_take_name(m->p, &x.name, e));
    TRY(word_count(m->p, INT64_MIN, INT64_MAX, &x.value, e));
    TRY(word_want(m->p, "at", e));
    TRY(word_time(m->p, &x.at_ns, e));
    scene_rank_add_event(m, &x);
    return 0;
}

static int64_t scene_rank_count_events(const struct many *m)
{
    int64_t n = 0;
    for (size_t i = 0; i < m->p->out->n_ranks; i++)
        n += (int64_t)m->p->out->ranks[i].n_events;
    return n;
}

/* cpu 98% 0s..600s: the CPU time of the process so far, every second */
static int scene_on_cpu(struct many *m, struct err *e)
{
    const char *w = word_next(m->p);
    double percent = 0;
    int64_t from = 0, to = 0;
    if (!scene_number(w, &percent) || percent < 0 || percent > 100000)
        return err_set(e, ERR_FORMAT, "'%.60s' is not a CPU utilization (example: 98%%)", w);
    TRY(word_range(m->p, false, &from, &to, e));
    if ((to - from) / NS_PER_S >=
        (CPU_EVENTS_MOST - scene_rank_count_events(m)) / (m->to - m->from + 1))
        return err_set(e, ERR_LIMIT, "more than %d seconds of CPU time", CPU_EVENTS_MOST);
    for (int64_t at = from; at <= to; at += NS_PER_S)
        scene_rank_add_event(
            m, &(struct scene_event){.kind = EVENT_COUNT,
                                     .name = event_words[EV_CPU_PROCESS].name,
                                     .at_ns = at,
                                     .value = (int64_t)((double)(at - from) * percent / 100)});
    return 0;
}

static void scene_add_total(struct many *m, const char *what, const char *place, int64_t at,
                            int64_t value)
{
    scene_rank_add_event(
        m, &(struct scene_event){.kind = EVENT_COUNT,
                                 .name = arena_printf(m->p->arena, "sync.%s %s", what, place),
                                 .at_ns = at,
                                 .value = value});
}

/* waits item train.py:31 2000 x 50us at 300s: how often and how long a place has waited for the GPU
 * until then */
static int scene_on_waits(struct many *m, struct err *e)
{
    const char *op, *where;
    int64_t count = 0, each_ns = 0, at = 0;
    TRY(scene_take_name(m->p, &op, e));
    TRY(scene_take_name(m->p, &where, e));
    TRY(scene_take_times(m->p, &count, &each_ns, e));
    TRY(word_want(m->p, "at", e));
    TRY(word_time(m->p, &at, e));
    if (each_ns > INT64_MAX / count)
        return err_set(e, ERR_LIMIT, "the total wait time is too long");
    const char *place = arena_printf(m->p->arena, "%s %s", op, where);
    scene_add_total(m, "calls", place, at, count);
    scene_add_total(m, "ns", place, at, count * each_ns);
    return 0;
}

static const enum event_id loader_facts[] = {
    EV_LOADER_WORKERS,    EV_LOADER_BATCH,  EV_LOADER_PREFETCH, EV_LOADER_PIN,
    EV_LOADER_PERSISTENT, EV_LOADER_MEMORY, EV_LOADER_OF};

/* num_workers=2 */
static int loader_fact(struct many *m, int64_t at, struct err *e)
{
    const char *w = word_next(m->p);
    for (size_t i = 0; i < COUNT_OF(loader_facts); i++) {
        const char *name = event_words[loader_facts[i]].name, *key = strchr(name, '.') + 1;
        const size_t n = strlen(key);
        char *end;
        if (strncmp(w, key, n) != 0 || w[n] != '=')
            continue;
        struct scene_event x = {.kind = EVENT_COUNT, .name = name, .at_ns = at};
        x.value = strtoll(w + n + 1, &end, 10);
        if (*end || end == w + n + 1)
            break;
        scene_rank_add_event(m, &x);
        return 0;
    }
    return err_set(e, ERR_FORMAT,
                   "'%.60s' is not a loader property such as num_workers=2, pin_memory=1, "
                   "prefetch_factor=2, persistent_workers=0, batch_size=32",
                   w);
}

/* loader [at 10s] num_workers=2 pin_memory=1 ... */
static int scene_rank_on_loader(struct many *m, struct err *e)
{
    struct scene_event x = {.kind = EVENT_MARK, .name = event_words[EV_LOADER_START].name};
    if (word_take(m->p, "at"))
        TRY(word_time(m->p, &x.at_ns, e));
    scene_rank_add_event(m, &x);
    while (!clause_ends(m->p))
        TRY(loader_fact(m, x.at_ns, e));
    return 0;
}

/* workers 4 fetch 300ms [every 1s] [0s..600s] */
static int scene_on_workers(struct many *m, struct err *e)
{
    struct parsing *p = m->p;
    struct scene_workers x = {0};
    int64_t count = 0;
    TRY(word_count(p, 1, SCENE_WORKERS_MOST, &count, e));
    TRY(word_want(p, "fetch", e));
    TRY(word_time(p, &x.fetch_ns, e));
    x.count = (size_t)count;
    x.every_ns = x.fetch_ns;
    if (word_take(p, "every"))
        TRY(word_time(p, &x.every_ns, e));
    if (word_is_range(word_now(p)))
        TRY(word_range(p, false, &x.from_ns, &x.to_ns, e));
    if (x.fetch_ns == 0 || x.every_ns < x.fetch_ns)
        return err_set(e, ERR_FORMAT,
                       "a fetch must take more than 0 s and at most the time between fetches");
    for (int64_t i = m->from; i <= m->to; i++) {
        struct scene_rank *r = rank_find(p->out, i);
        *ARENA_ADD(p->arena, r->workers, r->n_workers, r->cap_workers) = x;
    }
    return 0;
}

static int scene_on_device(struct many *m, struct err *e)
{
    int64_t device = 0;
    TRY(word_count(m->p, 0, 4096, &device, e));
    for (int64_t i = m->from; i <= m->to; i++)
        rank_find(m->p->out, i)->device = device;
    return 0;
}

/* ---- the line ---- */

static const struct {
    const char *word;
    int (*take)(struct many *m, struct err *e);
} clauses[] = {
    {"steps", scene_on_steps},     {"every", scene_on_every},   {"step", scene_rank_on_step},
    {"eval", scene_on_eval},       {"span", scene_on_span},     {"checkpoint", scene_on_checkpoint},
    {"mark", scene_on_event_mark}, {"count", scene_on_count},   {"loader", scene_rank_on_loader},
    {"workers", scene_on_workers}, {"device", scene_on_device}, {"cpu", scene_on_cpu},
    {"waits", scene_on_waits},
};

static int scene_take_clause(struct many *m, struct err *e)
{
    for (size_t i = 0; i < COUNT_OF(clauses); i++)
        if (word_take(m->p, clauses[i].word))
            return clauses[i].take(m, e);
    return err_set(e, ERR_FORMAT, "'%.60s' is not an activity of a rank", word_now(m->p));
}

static int make_ranks(struct many *m, size_t node, struct err *e)
{
    struct scene *s = m->p->out;
    for (int64_t i = m->from; i <= m->to; i++) {
        const struct scene_rank *old = rank_find(s, i);
        if (old && old->node != node)
            return err_set(e, ERR_FORMAT, "rank %lld is already declared on node '%s'",
                           (long long)i, s->nodes[old->node].id);
        if (old)
            continue;
        if (s->n_ranks == SCENE_RANKS_MOST)
            return err_set(e, ERR_LIMIT, "more than %d ranks", SCENE_RANKS_MOST);
        *ARENA_ADD(m->p->arena, s->ranks, s->n_ranks, s->cap_ranks) =
            (struct scene_rank){.number = i, .node = node, .device = -1};
    }
    return 0;
}

/* "0" or "0..3" */
static int scene_take_numbers(struct many *m, struct err *e)
{
    const char *w = word_next(m->p);
    char *end;
    m->from = m->to = strtoll(w, &end, 10);
    if (end != w && strncmp(end, "..", 2) == 0 && end[2] >= '0' && end[2] <= '9')
        m->to = strtoll(end + 2, &end, 10);
    if (end == w || *end || m->from < 0 || m->to < m->from || m->to > RANK_LAST)
        return err_set(e, ERR_FORMAT, "'%.60s' is not a rank (examples: 0, 0..3)", w);
    return 0;
}

int scene_rank_line(struct parsing *p, struct err *e)
{
    struct many m = {.p = p};
    size_t node = 0;
    TRY(scene_take_numbers(&m, e));
    TRY(word_want(p, "on", e));
    TRY(scene_node_find(p, word_next(p), &node, e));
    TRY(word_want(p, ":", e));
    TRY(make_ranks(&m, node, e));
    do
        TRY(scene_take_clause(&m, e));
    while (word_take(p, ";"));
    return 0;
}

/* ------------------------------------------------------------------------------------------------
 * What a rank does, in order of time */

void scene_walk_begin(struct scene_walk *w, const struct scene *s, const struct scene_rank *r)
{
    *w = (struct scene_walk){.scene = s, .rank = r};
    if (r->n_steps)
        w->at_ns = MAX_OF(r->steps[0].from_ns, 0);
}

/* The last one counts. */
static const struct scene_odd *odd_of(const struct scene_steps *x, int64_t number)
{
    for (size_t i = x->n_odd; i > 0; i--) {
        const struct scene_odd *o = &x->odd[i - 1];
        if (o->every ? (number + 1) % o->every == 0 : number == o->at)
            return o;
    }
    return NULL;
}

static void scene_walk_take_step(struct scene_walk *w, const struct scene_steps *x,
                                 struct scene_doing *out)
{
    const struct scene_odd *odd = odd_of(x, w->done);
    const double by = x->jitter * scene_chance(w->scene->seed, (uint64_t)w->rank->number,
                                               (uint64_t)w->numbers[x->mode]);
    const int64_t usual = x->dur_ns + (int64_t)((double)x->dur_ns * by);
    *out = (struct scene_doing){
        .is_step = true,
        .start_ns = w->at_ns,
        .dur_ns = odd ? odd->dur_ns : usual,
        .number = w->numbers[x->mode]++,
        .batch = x->batch,
        .mode = x->mode,
        .parts = x->parts,
        .n_parts = x->n_parts,
        .odd = odd,
        .usual_ns = odd ? MIN_OF(usual, odd->dur_ns) : usual,
    };
    w->done++;
    w->after = 0;
    w->after_done = 0;
    w->at_ns += out->dur_ns;
}

/* Evaluation steps and checkpoints after the step that was just done. */
static bool scene_take_after(struct scene_walk *w, const struct scene_steps *x,
                             struct scene_doing *out)
{
    while (w->after < x->n_after) {
        const struct scene_after *a = &x->after[w->after];
        if (w->done % a->every != 0 || w->after_done == MAX_OF(a->count, 1)) {
            w->after++;
            w->after_done = 0;
            continue;
        }
        *out = (struct scene_doing){
            .is_step = a->count > 0,
            .start_ns = w->at_ns,
            .dur_ns = a->dur_ns,
            .mode = MODE_EVAL,
            .parts = a->parts,
            .n_parts = a->n_parts,
            .usual_ns = a->dur_ns,
        };
        if (out->is_step)
            out->number = w->numbers[MODE_EVAL]++;
        w->after_done++;
        w->at_ns += a->dur_ns;
        return true;
    }
    return false;
}

bool scene_walk_next(struct scene_walk *w, struct scene_doing *out)
{
    while (w->block < w->rank->n_steps) {
        const struct scene_steps *x = &w->rank->steps[w->block];
        if (w->done > 0 && scene_take_after(w, x, out))
            return true;
        if (w->done < x->count) {
            w->at_ns += w->done > 0 ? x->pause_ns : 0;
            scene_walk_take_step(w, x, out);
            return true;
        }
        w->block++;
        w->done = 0;
        if (w->block < w->rank->n_steps)
            w->at_ns = MAX_OF(w->at_ns, w->rank->steps[w->block].from_ns);
    }
    return false;
}

static int64_t rank_end(const struct scene *s, const struct scene_rank *r)
{
    struct scene_walk w;
    struct scene_doing d;
    int64_t end = 0;
    scene_walk_begin(&w, s, r);
    while (scene_walk_next(&w, &d))
        end = d.start_ns + d.dur_ns;
    for (size_t i = 0; i < r->n_events; i++) {
        const struct scene_event *x = &r->events[i];
        const bool whole = x->kind == EVENT_SPAN && x->to_ns != INT64_MAX;
        end = MAX_OF(end, whole ? x->to_ns : x->at_ns);
    }
    for (size_t i = 0; i < r->n_workers; i++)
        end = MAX_OF(end, r->workers[i].to_ns);
    return end;
}

int64_t scene_end(const struct scene *s)
{
    int64_t end = s->job_to_ns;
    for (size_t i = 0; i < s->n_series; i++)
        for (size_t k = 0; k < s->series[i].n; k++)
            end = MAX_OF(end, s->series[i].ranges[k].to_ns);
    for (size_t i = 0; i < s->n_ranks; i++)
        end = MAX_OF(end, rank_end(s, &s->ranks[i]));
    for (size_t i = 0; i < s->n_marks; i++)
        end = MAX_OF(end, s->marks[i].at_ns);
    return end;
}
