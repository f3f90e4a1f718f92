/* SPDX-License-Identifier: Apache-2.0 */
/* live.c - clients that follow the same of the same run share a topic: new data is read
 * once, as events in the text of server-sent events, and sent to all of them. See
 * server_internal.h. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/vec.h"
#include "query/series.h"
#include "query/steps.h"
#include "serve/hash.h"
#include "serve/limits.h"
#include "serve/runs.h"
#include "serve/runs_internal.h"
#include "serve/server_internal.h"

enum {
    TOPICS = 256,
    QUEUE = 16, /* events that wait for a client */
    POLL_MS = 500,
    KEEPALIVE_S = 15, /* after which a comment shows that the connection is alive */
    STACK = 8 << 20,
    FEED_SERIES = 3072,    /* that are followed for one topic */
    FEED_TEXT = 512 << 10, /* longest event; a larger one is left out */
    FEED_LATE_S = 30,      /* readings may reach the disk so late */
    FEED_STEPS_MS = 2000,  /* between two reads of the steps, or more, see pace_next */
};

/* ==== new data of a run ==== */

/* An event in the text of server-sent events, shared by all clients that get it. */
struct feed_text {
    _Atomic unsigned refs;
    size_t n;
    char text[];
};

/* The newest reading of a series that was sent. */
struct feed_seen {
    uint64_t series; /* hash of its names */
    int64_t t_ns;
};

/* What is followed of one run. Used by one thread only. */
struct live_feed {
    const char *run, *node; /* node NULL: all */
    const char *metric[LIVE_METRICS];
    size_t n_metrics;
    bool findings; /* they are evaluated while the run is recorded */
    bool begun;
    uint64_t version;
    enum run_status status;
    struct hash_index index; /* of seen */
    struct feed_seen *seen;
    size_t n_seen, cap_seen;
    int64_t newest_ns;
    int64_t written;      /* when findings.json was */
    uint64_t evaluations; /* of this server that changed the findings */
    int64_t changes;
    mono_ns steps_next;
    uint64_t steps_hash; /* of what was sent last */
};

enum { FEED_STATUS, FEED_SAMPLES, FEED_STEPS, FEED_FINDINGS, FEED_N };

struct feed_news {
    struct feed_text *text[FEED_N]; /* NULL: nothing new */
    bool gone;                      /* the run was removed; the status reports it */
};

/* ---- events as text ---- */

static struct feed_text *feed_text_make(const void *text, size_t n)
{
    struct feed_text *t = xmalloc(sizeof *t + n);
    atomic_init(&t->refs, 1);
    t->n = n;
    memcpy(t->text, text, n);
    return t;
}

static struct feed_text *feed_text_ref(struct feed_text *t)
{
    atomic_fetch_add(&t->refs, 1);
    return t;
}

static void feed_text_free(struct feed_text *t)
{
    if (t && atomic_fetch_sub(&t->refs, 1) == 1)
        free(t);
}

/* Frees the JSON. NULL: it is too long. */
static struct feed_text *feed_finish(const char *event, struct buf *json)
{
    struct buf b = {0};
    struct feed_text *t = NULL;
    if (json->len <= FEED_TEXT) {
        buf_printf(&b, "event: %s\ndata: ", event);
        buf_put(&b, json->p, json->len);
        buf_put(&b, "\n\n", 2);
        t = feed_text_make(b.p, b.len);
    }
    buf_free(&b);
    buf_free(json);
    return t;
}

/* ---- state ---- */

static struct feed_text *feed_status_text(const struct live_feed *f, const struct runs_hold *h)
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
    return feed_finish("status", &b);
}

static struct feed_text *feed_error_text(const char *why)
{
    struct buf b = {0};
    struct jw j = {.out = &b};
    jw_object(&j, NULL);
    jw_null(&j, "version");
    jw_null(&j, "status");
    jw_bool(&j, "live", false);
    jw_str(&j, "error", why);
    jw_end(&j);
    return feed_finish("status", &b);
}

/* ---- samples ---- */

/* NULL: there are too many. */
static struct feed_seen *feed_seen_of(struct live_feed *f, const struct series_key *k)
{
    const uint64_t series = hash_text(k->entity, hash_text(k->metric, hash_text(k->node, 0)));
    const uint32_t at = HASH_FIND(&f->index, series, i, f->seen[i].series == series);
    if (at)
        return &f->seen[at - 1];
    if (f->n_seen >= FEED_SERIES)
        return NULL;
    *VEC_ADD(f->seen, f->n_seen, f->cap_seen) = (struct feed_seen){.series = series};
    hash_add(&f->index, series, f->n_seen);
    return &f->seen[f->n_seen - 1];
}

static void feed_put_times(struct jw *j, const struct series *s, size_t from)
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

/* The first read only stores the newest reading. */
static void feed_put_series(struct live_feed *f, struct jw *j, const struct series *s)
{
    struct feed_seen *seen = s->n ? feed_seen_of(f, &s->key) : NULL;
    if (!seen)
        return;
    const size_t from = FIND_FIRST(k, s->n, s->t[k].ns > seen->t_ns);
    seen->t_ns = MAX_OF(seen->t_ns, s->t[s->n - 1].ns);
    f->newest_ns = MAX_OF(f->newest_ns, seen->t_ns);
    if (!f->begun || from == s->n)
        return;
    jw_object(j, NULL);
    jw_str(j, "node", s->key.node);
    jw_str(j, "metric", s->key.metric);
    jw_str(j, "entity", s->key.entity);
    feed_put_times(j, s, from);
    jw_end(j);
}

static void feed_put_metric(struct live_feed *f, struct run *run, const char *metric,
                            struct arena *a, struct jw *j)
{
    const int64_t end = f->begun ? f->newest_ns : run_get_info(run)->end.ns;
    const struct series_ask ask = {
        .node = f->node, .metric = metric, .from = {MAX_OF(end - FEED_LATE_S * NS_PER_S, 1)}};
    struct series *v;
    size_t n;
    struct err e;
    if (series_read(run, &ask, a, &v, &n, &e) != 0)
        return;
    for (size_t i = 0; i < n; i++)
        feed_put_series(f, j, &v[i]);
}

static struct feed_text *feed_samples_text(struct live_feed *f, struct run *run, struct arena *a)
{
    struct buf b = {0};
    struct jw j = {.out = &b};
    jw_object(&j, NULL);
    jw_array(&j, "series");
    const size_t empty = b.len;
    for (size_t i = 0; i < f->n_metrics; i++)
        feed_put_metric(f, run, f->metric[i], a, &j);
    const bool some = b.len > empty;
    jw_end(&j);
    jw_end(&j);
    if (some)
        return feed_finish("samples", &b);
    buf_free(&b);
    return NULL;
}

/* ---- steps ---- */

static void feed_put_rank(struct jw *j, const struct rank_steps *r)
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

static void feed_put_steps(struct buf *b, struct run *run, struct arena *a)
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
        feed_put_rank(&j, &v[i]);
    jw_end(&j);
    jw_end(&j);
}

/* Steps are derived from all events, so those of a long run are read less often. */
static struct feed_text *feed_steps_text(struct live_feed *f, struct run *run, struct arena *a)
{
    struct buf b = {0};
    const mono_ns begin = clock_mono();
    if (begin.ns < f->steps_next.ns)
        return NULL;
    feed_put_steps(&b, run, a);
    f->steps_next = pace_next(begin, clock_mono(), FEED_STEPS_MS * NS_PER_MS);
    const uint64_t sum = hash_bytes(b.p, b.len);
    const bool same = f->begun && sum == f->steps_hash;
    f->steps_hash = sum;
    if (!same)
        return feed_finish("steps", &b);
    buf_free(&b);
    return NULL;
}

/* ---- findings ---- */

static struct feed_text *feed_findings_text(struct live_feed *f, struct runs *runs,
                                            const struct runs_hold *h)
{
    struct buf b = {0};
    struct jw j = {.out = &b};
    const int64_t written = run_stamp_findings(h->info->path);
    const uint64_t evaluations = f->findings ? runs_findings_watch(runs, h) : 0;
    /* A client that wants findings may have read them while they were evaluated: it reads again. */
    const bool same =
        f->begun ? written == f->written && evaluations == f->evaluations : !f->findings;
    f->written = written;
    f->evaluations = evaluations;
    if (same)
        return NULL;
    jw_object(&j, NULL);
    jw_int(&j, "changed", ++f->changes);
    jw_end(&j);
    return feed_finish("findings", &b);
}

/* ---- all of it ---- */

static void feed_read(struct live_feed *f, struct runs *runs, const struct runs_hold *h,
                      struct feed_news *out)
{
    struct arena a = {0};
    const bool same = f->begun && f->version == h->version && f->status == h->info->status;
    out->text[FEED_FINDINGS] = feed_findings_text(f, runs, h);
    if (same)
        return;
    f->version = h->version;
    f->status = h->info->status;
    out->text[FEED_STATUS] = feed_status_text(f, h);
    out->text[FEED_SAMPLES] = feed_samples_text(f, h->run, &a);
    out->text[FEED_STEPS] = feed_steps_text(f, h->run, &a);
    f->begun = true;
    arena_free(&a);
}

static void feed_discard(struct feed_news *n)
{
    for (size_t i = 0; i < FEED_N; i++) {
        feed_text_free(n->text[i]);
        n->text[i] = NULL;
    }
}

static void feed_update(struct live_feed *f, struct runs *runs, struct feed_news *out)
{
    struct runs_hold h;
    struct err e;
    *out = (struct feed_news){0};
    if (runs_take(runs, f->run, true, &h, &e) != 0) {
        out->gone = true;
        out->text[FEED_STATUS] = feed_error_text(e.msg);
        return;
    }
    feed_read(f, runs, &h, out);
    if (!runs_give(runs, &h)) /* what was read may be wrong */
        feed_discard(out);
}

/* ==== clients and topics ==== */

struct live_client {
    struct live *live;
    struct live_topic *topic;
    struct exchange *x;
    struct feed_text *queue[QUEUE];
    size_t first, n;
    size_t at; /* bytes of the first that are sent */
    bool last; /* nothing comes after the queued events */
    bool lost; /* it lost events: a fresh status comes next */
    struct live_client *before, *next;
};

struct live_topic {
    struct live_feed feed;
    struct arena arena; /* its texts */
    struct live_client *clients;
    struct feed_text *status, *findings; /* the newest, for clients that are new or lost events */
    bool gone;
    mono_ns sent; /* when something was sent last */
    struct live_topic *next;
};

struct live {
    struct runs *runs;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool started, end;
    bool new_topic;
    struct live_topic *topics;
    size_t n_topics, n_clients;
    struct feed_text *keepalive;
};

/* ---- a client ---- */

static void client_empty(struct live_client *c)
{
    for (; c->n > 0; c->n--, c->first++)
        feed_text_free(c->queue[c->first % QUEUE]);
    c->at = 0;
}

/* NULL is fine. */
static void client_enqueue(struct live_client *c, struct feed_text *t)
{
    if (t)
        c->queue[(c->first + c->n++) % QUEUE] = feed_text_ref(t);
}

/* A client that is too slow loses the queued events, except one that is partly sent. */
static void client_push(struct live_client *c, struct feed_text *t)
{
    if (c->n == QUEUE) {
        struct feed_text *half = c->at ? feed_text_ref(c->queue[c->first % QUEUE]) : NULL;
        const size_t at = c->at;
        client_empty(c);
        if (half)
            c->queue[(c->first + c->n++) % QUEUE] = half;
        c->at = at;
        c->lost = true;
    }
    if (c->lost && t != c->topic->status)
        client_enqueue(c, c->topic->status);
    if (c->lost && t != c->topic->findings)
        client_enqueue(c, c->topic->findings);
    c->lost = false;
    client_enqueue(c, t);
    exchange_wake(c->x);
}

static ssize_t client_read(void *ctx, char *out, size_t most)
{
    struct live_client *c = ctx;
    ssize_t n = -1;
    pthread_mutex_lock(&c->live->lock);
    if (c->live->end || exchange_gone(c->x) || (c->n == 0 && c->last)) {
        n = -1;
    } else if (c->n == 0) {
        exchange_sleep(c->x);
        n = 0;
    } else {
        struct feed_text *t = c->queue[c->first % QUEUE];
        const size_t left = MIN_OF(most, t->n - c->at);
        memcpy(out, t->text + c->at, left);
        c->at += left;
        n = (ssize_t)left;
        if (c->at == t->n) {
            feed_text_free(t);
            c->first++, c->n--;
            c->at = 0;
        }
    }
    pthread_mutex_unlock(&c->live->lock);
    return n;
}

static void client_unlink(struct live_client *c)
{
    *(c->before ? &c->before->next : &c->topic->clients) = c->next;
    if (c->next)
        c->next->before = c->before;
}

static void client_done(void *ctx)
{
    struct live_client *c = ctx;
    struct live *l = c->live;
    pthread_mutex_lock(&l->lock);
    client_unlink(c);
    client_empty(c);
    l->n_clients--;
    pthread_mutex_unlock(&l->lock);
    free(c);
}

/* ---- topics ---- */

static bool feed_same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool topic_is(const struct live_topic *t, const struct live_feed *f)
{
    bool same = !t->gone && strcmp(t->feed.run, f->run) == 0 &&
                feed_same_text(t->feed.node, f->node) && t->feed.findings == f->findings &&
                t->feed.n_metrics == f->n_metrics;
    for (size_t i = 0; same && i < f->n_metrics; i++)
        same = strcmp(t->feed.metric[i], f->metric[i]) == 0;
    return same;
}

static struct live_topic *topic_make(struct live *l, const struct live_feed *f)
{
    struct live_topic *t = xcalloc(1, sizeof *t);
    t->feed = *f;
    t->feed.run = arena_strdup(&t->arena, f->run);
    t->feed.node = f->node ? arena_strdup(&t->arena, f->node) : NULL;
    for (size_t i = 0; i < f->n_metrics; i++)
        t->feed.metric[i] = arena_strdup(&t->arena, f->metric[i]);
    t->sent = clock_mono();
    t->next = l->topics;
    l->topics = t;
    l->n_topics++;
    l->new_topic = true;
    pthread_cond_signal(&l->changed);
    return t;
}

static struct live_topic *topic_of(struct live *l, const struct live_feed *f)
{
    for (struct live_topic *t = l->topics; t; t = t->next)
        if (topic_is(t, f))
            return t;
    return l->n_topics < TOPICS ? topic_make(l, f) : NULL;
}

static void topic_free(struct live_topic *t)
{
    feed_text_free(t->status);
    feed_text_free(t->findings);
    free(t->feed.seen);
    hash_free(&t->feed.index);
    arena_free(&t->arena);
    free(t);
}

static void live_drop_unwatched(struct live *l)
{
    for (struct live_topic **at = &l->topics; *at;) {
        struct live_topic *t = *at;
        if (t->clients) {
            at = &t->next;
            continue;
        }
        *at = t->next;
        l->n_topics--;
        topic_free(t);
    }
}

static void topic_push(struct live_topic *t, struct feed_text *text)
{
    for (struct live_client *c = t->clients; c; c = c->next)
        client_push(c, text);
    t->sent = clock_mono();
}

static void topic_end(struct live_topic *t)
{
    t->gone = true;
    for (struct live_client *c = t->clients; c; c = c->next) {
        c->last = true;
        exchange_wake(c->x);
    }
}

static void topic_set_newest(struct feed_text **kept, struct feed_text *t)
{
    if (!t)
        return;
    feed_text_free(*kept);
    *kept = feed_text_ref(t);
}

static void topic_publish(struct live *l, struct live_topic *t, struct feed_news *news)
{
    topic_set_newest(&t->status, news->text[FEED_STATUS]);
    topic_set_newest(&t->findings, news->text[FEED_FINDINGS]);
    for (size_t i = 0; i < FEED_N; i++) {
        if (news->text[i])
            topic_push(t, news->text[i]);
        feed_text_free(news->text[i]);
    }
    if (mono_diff(clock_mono(), t->sent) >= KEEPALIVE_S * NS_PER_S)
        topic_push(t, l->keepalive);
    if (news->gone)
        topic_end(t);
}

/* ---- the thread ---- */

/* Topics are removed by this thread only, so that one may be read without the lock. */
static void live_poll(struct live *l)
{
    live_drop_unwatched(l);
    l->new_topic = false;
    for (struct live_topic *t = l->topics; t && !l->end; t = t->next) {
        struct feed_news news;
        if (t->gone)
            continue;
        pthread_mutex_unlock(&l->lock);
        feed_update(&t->feed, l->runs, &news);
        pthread_mutex_lock(&l->lock);
        topic_publish(l, t, &news);
    }
}

static void *live_watch(void *arg)
{
    struct live *l = arg;
    sigbus_guard_thread();
    pthread_mutex_lock(&l->lock);
    while (!l->end) {
        const mono_ns next = mono_add(clock_mono(), POLL_MS * NS_PER_MS);
        live_poll(l);
        while (!l->end && !l->topics)
            pthread_cond_wait(&l->changed, &l->lock);
        while (!l->end && !l->new_topic && thread_wait(&l->changed, &l->lock, next))
            ;
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

int live_open(struct live **out, struct runs *runs, struct err *e)
{
    struct live *l = xcalloc(1, sizeof *l);
    static const char comment[] = ": still here\n\n";
    l->runs = runs;
    pthread_mutex_init(&l->lock, NULL);
    thread_cond_init(&l->changed);
    l->keepalive = feed_text_make(comment, sizeof comment - 1);
    const int rc = thread_start(&l->thread, STACK, live_watch, l, "live", e);
    if (rc) {
        live_close(l);
        return rc;
    }
    l->started = true;
    *out = l;
    return 0;
}

size_t live_clients(struct live *l)
{
    if (!l)
        return 0;
    pthread_mutex_lock(&l->lock);
    const size_t n = l->n_clients;
    pthread_mutex_unlock(&l->lock);
    return n;
}

void live_end(struct live *l)
{
    if (!l)
        return;
    pthread_mutex_lock(&l->lock);
    l->end = true;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
    if (l->started)
        pthread_join(l->thread, NULL);
    l->started = false;
    pthread_mutex_lock(&l->lock);
    for (struct live_topic *t = l->topics; t; t = t->next)
        topic_end(t);
    pthread_mutex_unlock(&l->lock);
}

void live_close(struct live *l)
{
    if (!l)
        return;
    live_end(l);
    live_drop_unwatched(l);
    feed_text_free(l->keepalive);
    free(l);
}

/* ---- the route ---- */

const struct route_param api_live_params[] = {
    {"metric", PARAM_TEXT, .repeat = true,
     .help = "Send readings of this metric; a trailing dot, as in 'cpu.', selects a family."},
    {"node", PARAM_TEXT, .help = "Only this node."},
    {"findings", PARAM_FLAG, .help = "Re-evaluate the rules as data arrives and report changes."},
    {0},
};

static int feed_of(struct live_feed *f, const struct route_request *q, struct err *e)
{
    *f = (struct live_feed){.run = q->name, .node = route_text(q, "node")};
    f->findings = route_number(q, "findings", 0) != 0;
    for (size_t i = 0; i < q->n_values; i++) {
        if (strcmp(q->values[i].param->name, "metric") != 0)
            continue;
        if (f->n_metrics == LIVE_METRICS)
            return err_set(e, ERR_USAGE, "more than %d metrics", LIVE_METRICS);
        f->metric[f->n_metrics++] = q->values[i].text;
    }
    return 0;
}

static struct live_client *live_add_client(struct live *l, struct exchange *x,
                                           const struct live_feed *f)
{
    struct live_topic *t = l->end || l->n_clients >= LIVE_CLIENTS ? NULL : topic_of(l, f);
    if (!t)
        return NULL;
    struct live_client *c = xcalloc(1, sizeof *c);
    *c = (struct live_client){.live = l, .topic = t, .x = x, .next = t->clients};
    if (c->next)
        c->next->before = c;
    t->clients = c;
    l->n_clients++;
    client_enqueue(c, t->status);
    client_enqueue(c, t->findings);
    return c;
}

int api_live(const struct route_request *q, struct route_answer *out, struct err *e)
{
    struct live *l = q->live;
    struct live_feed f;
    TRY(feed_of(&f, q, e));
    pthread_mutex_lock(&l->lock);
    struct live_client *c = live_add_client(l, q->exchange, &f);
    pthread_mutex_unlock(&l->lock);
    if (!c)
        return err_set(e, ERR_BUSY, "too many open streams; try again later");
    const struct reply_head head = {.status = 200, .type = TYPE_STREAM};
    out->stream = reply_stream(&head, &(struct reply_source){client_read, client_done, c});
    return 0;
}
