/* SPDX-License-Identifier: Apache-2.0 */
/* live_feed.c - what is new in a run since the last look: its state, samples, steps, findings. */
#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "base/mem.h"
#include "query/series.h"
#include "query/steps.h"
#include "serve/hash.h"
#include "serve/live_internal.h"
#include "serve/pace.h"
#include "serve/runs_internal.h"

/* ---- texts ---- */

struct feed_text *feed_text_make(const char *event, const struct buf *json)
{
    static const char first[] = "event: ", second[] = "\ndata: ", end[] = "\n\n";
    const size_t n = sizeof first + sizeof second + sizeof end + strlen(event) + json->len;
    struct feed_text *t = xmalloc(sizeof *t + n);
    struct buf b = {.p = (uint8_t *)t->text, .cap = n};
    atomic_init(&t->refs, 1);
    buf_put(&b, first, sizeof first - 1);
    buf_put(&b, event, strlen(event));
    buf_put(&b, second, sizeof second - 1);
    buf_put(&b, json->p, json->len);
    buf_put(&b, end, sizeof end - 1);
    t->n = b.len;
    return t;
}

struct feed_text *feed_text_ref(struct feed_text *t)
{
    atomic_fetch_add(&t->refs, 1);
    return t;
}

void feed_text_free(struct feed_text *t)
{
    if (t && atomic_fetch_sub(&t->refs, 1) == 1)
        free(t);
}

/* Takes the bytes over. */
static struct feed_text *live_feed_finish(const char *event, struct buf *b)
{
    struct feed_text *t = b->len <= FEED_TEXT ? feed_text_make(event, b) : NULL;
    buf_free(b);
    return t;
}

/* ---- state ---- */

static struct feed_text *status_text(const struct live_feed *f, const struct runs_hold *h)
{
    struct buf b = {0};
    struct jw j = {.out = &b};
    jw_object(&j, NULL);
    jw_int(&j, "version", (int64_t)f->version);
    jw_str(&j, "status", run_status_name(h->info->status));
    jw_bool(&j, "live", h->live);
    jw_int(&j, "start_ns", h->info->start.ns);
    jw_int(&j, "end_ns", h->info->end.ns);
    jw_num(&j, "age_s", (double)(clock_wall().ns - h->info->end.ns) / (double)NS_PER_S);
    jw_end(&j);
    return live_feed_finish("status", &b);
}

static struct feed_text *error_text(const char *why)
{
    struct buf b = {0};
    struct jw j = {.out = &b};
    jw_object(&j, NULL);
    jw_null(&j, "version");
    jw_null(&j, "status");
    jw_bool(&j, "live", false);
    jw_str(&j, "error", why);
    jw_end(&j);
    return live_feed_finish("status", &b);
}

/* ---- samples ---- */

static uint64_t live_feed_hash_of(const struct series_key *k)
{
    const uint64_t h = hash_text(k->entity, hash_text(k->metric, hash_text(k->node, 0)));
    return h ? h : 1;
}

/* NULL: there are too many. */
static struct feed_seen *live_feed_seen_of(struct live_feed *f, const struct series_key *k)
{
    const uint64_t h = live_feed_hash_of(k);
    if (!f->seen)
        f->seen = xcalloc(FEED_SERIES, sizeof *f->seen);
    for (size_t i = 0; i < FEED_SERIES; i++) {
        struct feed_seen *s = &f->seen[(h + i) % FEED_SERIES];
        if (s->series == h)
            return s;
        if (s->series || f->n_seen >= FEED_SERIES * 3 / 4)
            continue;
        *s = (struct feed_seen){.series = h};
        f->n_seen++;
        return s;
    }
    return NULL;
}

static void live_feed_put_times(struct jw *j, const struct series *s, size_t from)
{
    jw_array(j, "t_ns");
    for (size_t i = from; i < s->n; i++)
        jw_int(j, NULL, s->t[i].ns);
    jw_end(j);
    jw_array(j, "v");
    for (size_t i = from; i < s->n; i++)
        jw_num(j, NULL, s->v[i]);
    jw_end(j);
}

/* The first look only remembers where it stands. */
static void live_feed_put_series(struct live_feed *f, struct jw *j, const struct series *s)
{
    struct feed_seen *seen = s->n ? live_feed_seen_of(f, &s->key) : NULL;
    if (!seen)
        return;
    size_t from = 0;
    while (from < s->n && s->t[from].ns <= seen->t_ns)
        from++;
    seen->t_ns = MAX_OF(seen->t_ns, s->t[s->n - 1].ns);
    f->newest_ns = MAX_OF(f->newest_ns, seen->t_ns);
    if (!f->begun || from == s->n)
        return;
    jw_object(j, NULL);
    jw_str(j, "node", s->key.node);
    jw_str(j, "metric", s->key.metric);
    jw_str(j, "entity", s->key.entity);
    live_feed_put_times(j, s, from);
    jw_end(j);
}

static void live_feed_put_metric(struct live_feed *f, struct run *run, const char *metric,
                                 struct arena *a, struct jw *j)
{
    const int64_t end = f->begun ? f->newest_ns : run_get_info(run)->end.ns;
    const struct series_ask ask = {
        .node = f->node, .metric = metric, .from = {MAX_OF(end - FEED_BEHIND_S * NS_PER_S, 1)}};
    struct series *v;
    size_t n;
    struct err e;
    if (series_read(run, &ask, a, &v, &n, &e) != 0)
        return;
    for (size_t i = 0; i < n; i++)
        live_feed_put_series(f, j, &v[i]);
}

static struct feed_text *samples_text(struct live_feed *f, struct run *run, struct arena *a)
{
    struct buf b = {0};
    struct jw j = {.out = &b};
    jw_object(&j, NULL);
    jw_array(&j, "series");
    const size_t empty = b.len;
    for (size_t i = 0; i < f->n_metrics; i++)
        live_feed_put_metric(f, run, f->metric[i], a, &j);
    const bool some = b.len > empty;
    jw_end(&j);
    jw_end(&j);
    if (some)
        return live_feed_finish("samples", &b);
    buf_free(&b);
    return NULL;
}

/* ---- steps ---- */

static void live_feed_put_rank(struct jw *j, const struct rank_steps *r)
{
    size_t last = r->n;
    while (last > 0 && r->steps[last - 1].cut)
        last--;
    if (last == 0)
        return;
    const struct step *s = &r->steps[last - 1];
    jw_object(j, NULL);
    jw_str(j, "node", r->node);
    jw_int(j, "rank", r->rank);
    jw_str(j, "mode", event_mode_names[s->mode]);
    jw_int(j, "step", s->number);
    jw_num(j, "duration_s", (double)s->dur_ns / (double)NS_PER_S);
    jw_end(j);
}

static void live_feed_put_steps(struct buf *b, struct run *run, struct arena *a)
{
    struct jw j = {.out = b};
    struct rank_steps *v;
    size_t n;
    struct err e;
    if (steps_read(run, a, &v, &n, &e) != 0)
        n = 0;
    jw_object(&j, NULL);
    jw_array(&j, "ranks");
    for (size_t i = 0; i < n; i++)
        live_feed_put_rank(&j, &v[i]);
    jw_end(&j);
    jw_end(&j);
}

/* Steps are derived from all events, so a long run is looked at less often. */
static struct feed_text *live_feed_steps_text(struct live_feed *f, struct run *run, struct arena *a)
{
    struct buf b = {0};
    const mono_ns begin = clock_mono();
    if (begin.ns < f->steps_next.ns)
        return NULL;
    live_feed_put_steps(&b, run, a);
    f->steps_next = pace_next(begin, clock_mono(), FEED_STEPS_MS * NS_PER_MS);
    const uint64_t sum = hash_bytes(b.p, b.len);
    const bool same = f->begun && sum == f->steps_sum;
    f->steps_sum = sum;
    if (!same)
        return live_feed_finish("steps", &b);
    buf_free(&b);
    return NULL;
}

/* ---- findings ---- */

static struct feed_text *findings_text(struct live_feed *f, struct runs *runs,
                                       const struct runs_hold *h)
{
    struct buf b = {0};
    struct jw j = {.out = &b};
    const int64_t written = run_stamp_findings(h->info->path);
    const uint64_t verdicts = f->judged ? runs_findings_watch(runs, h) : 0;
    /* Who wants to hear of them may have asked while they were being evaluated: ask again. */
    const bool same = f->begun ? written == f->findings && verdicts == f->verdicts : !f->judged;
    f->findings = written;
    f->verdicts = verdicts;
    if (same)
        return NULL;
    jw_object(&j, NULL);
    jw_int(&j, "changed", ++f->changes);
    jw_end(&j);
    return live_feed_finish("findings", &b);
}

/* ---- all of it ---- */

static void live_feed_look(struct live_feed *f, struct runs *runs, const struct runs_hold *h,
                           struct feed_news *out)
{
    struct arena a = {0};
    const bool same = f->begun && f->version == h->version && f->status == h->info->status;
    out->text[FEED_FINDINGS] = findings_text(f, runs, h);
    if (same)
        return;
    f->version = h->version;
    f->status = h->info->status;
    out->text[FEED_STATUS] = status_text(f, h);
    out->text[FEED_SAMPLES] = samples_text(f, h->run, &a);
    out->text[FEED_STEPS] = live_feed_steps_text(f, h->run, &a);
    f->begun = true;
    arena_free(&a);
}

static void live_feed_drop(struct feed_news *n)
{
    for (size_t i = 0; i < FEED_N; i++) {
        feed_text_free(n->text[i]);
        n->text[i] = NULL;
    }
}

void feed_look(struct live_feed *f, struct runs *runs, struct feed_news *out)
{
    struct runs_hold h;
    struct err e;
    *out = (struct feed_news){0};
    if (runs_take(runs, f->run, true, &h, &e) != 0) {
        out->gone = true;
        out->text[FEED_STATUS] = error_text(e.msg);
        return;
    }
    live_feed_look(f, runs, &h, out);
    if (!runs_give(runs, &h)) /* what was read may be wrong; the next look will tell */
        live_feed_drop(out);
}
