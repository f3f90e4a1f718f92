/* SPDX-License-Identifier: Apache-2.0 */
/* live.c - see live.h. Clients that ask the same of the same run share a topic: what is new is
 * looked for once and handed to all of them. */
#include "serve/live.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "agent/thread.h"
#include "base/mem.h"
#include "serve/cutfile.h"
#include "serve/live_internal.h"

enum {
    TOPICS = 256,
    QUEUE = 16, /* events that wait for a client */
    LOOK_MS = 500,
    HUSH_S = 15, /* after which a comment shows that the connection lives */
    STACK = 8 << 20,
};

struct client {
    struct live *live;
    struct topic *topic;
    struct exchange *x;
    struct feed_text *queue[QUEUE];
    size_t first, n;
    size_t at;   /* bytes of the first that are sent */
    bool last;   /* nothing comes after what is queued */
    bool behind; /* lost events: a fresh status comes next */
    struct client *before, *next;
};

struct topic {
    struct live_feed feed;
    struct arena arena; /* its texts */
    struct client *clients;
    struct feed_text *status, *findings; /* the newest, for who comes later or is behind */
    bool gone;
    mono_ns said; /* when something was sent last */
    struct topic *next;
};

struct live {
    struct runs *runs;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool started, end;
    bool new_topic;
    struct topic *topics;
    size_t n_topics, n_clients;
    struct feed_text *hush;
};

/* ---- a client ---- */

static void empty(struct client *c)
{
    for (; c->n > 0; c->n--, c->first++)
        feed_text_free(c->queue[c->first % QUEUE]);
    c->at = 0;
}

/* NULL is fine. */
static void live_enqueue(struct client *c, struct feed_text *t)
{
    if (t)
        c->queue[(c->first + c->n++) % QUEUE] = feed_text_ref(t);
}

/* One that is too slow loses what waits for it, all but an event that is half sent. */
static void live_push(struct client *c, struct feed_text *t)
{
    if (c->n == QUEUE) {
        struct feed_text *half = c->at ? feed_text_ref(c->queue[c->first % QUEUE]) : NULL;
        const size_t at = c->at;
        empty(c);
        if (half)
            c->queue[(c->first + c->n++) % QUEUE] = half;
        c->at = at;
        c->behind = true;
    }
    if (c->behind && t != c->topic->status)
        live_enqueue(c, c->topic->status);
    if (c->behind && t != c->topic->findings)
        live_enqueue(c, c->topic->findings);
    c->behind = false;
    live_enqueue(c, t);
    exchange_wake(c->x);
}

static ssize_t read_client(void *ctx, char *out, size_t most)
{
    struct client *c = ctx;
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

static void unlink_client(struct client *c)
{
    *(c->before ? &c->before->next : &c->topic->clients) = c->next;
    if (c->next)
        c->next->before = c->before;
}

static void client_done(void *ctx)
{
    struct client *c = ctx;
    struct live *l = c->live;
    pthread_mutex_lock(&l->lock);
    unlink_client(c);
    empty(c);
    l->n_clients--;
    pthread_mutex_unlock(&l->lock);
    free(c);
}

/* ---- topics ---- */

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool is_topic(const struct topic *t, const struct live_feed *f)
{
    bool same = !t->gone && strcmp(t->feed.run, f->run) == 0 && same_text(t->feed.node, f->node) &&
                t->feed.judged == f->judged && t->feed.n_metrics == f->n_metrics;
    for (size_t i = 0; same && i < f->n_metrics; i++)
        same = strcmp(t->feed.metric[i], f->metric[i]) == 0;
    return same;
}

static struct topic *make_topic(struct live *l, const struct live_feed *f)
{
    struct topic *t = xcalloc(1, sizeof *t);
    t->feed = *f;
    t->feed.run = arena_strdup(&t->arena, f->run);
    t->feed.node = f->node ? arena_strdup(&t->arena, f->node) : NULL;
    for (size_t i = 0; i < f->n_metrics; i++)
        t->feed.metric[i] = arena_strdup(&t->arena, f->metric[i]);
    t->said = clock_mono();
    t->next = l->topics;
    l->topics = t;
    l->n_topics++;
    l->new_topic = true;
    pthread_cond_signal(&l->changed);
    return t;
}

static struct topic *topic_of(struct live *l, const struct live_feed *f)
{
    for (struct topic *t = l->topics; t; t = t->next)
        if (is_topic(t, f))
            return t;
    return l->n_topics < TOPICS ? make_topic(l, f) : NULL;
}

static void free_topic(struct topic *t)
{
    feed_text_free(t->status);
    feed_text_free(t->findings);
    free(t->feed.seen);
    arena_free(&t->arena);
    free(t);
}

static void drop_unwatched(struct live *l)
{
    for (struct topic **at = &l->topics; *at;) {
        struct topic *t = *at;
        if (t->clients) {
            at = &t->next;
            continue;
        }
        *at = t->next;
        l->n_topics--;
        free_topic(t);
    }
}

static void push_all(struct topic *t, struct feed_text *text)
{
    for (struct client *c = t->clients; c; c = c->next)
        live_push(c, text);
    t->said = clock_mono();
}

static void end_all(struct topic *t)
{
    t->gone = true;
    for (struct client *c = t->clients; c; c = c->next) {
        c->last = true;
        exchange_wake(c->x);
    }
}

static void keep_newest(struct feed_text **kept, struct feed_text *t)
{
    if (!t)
        return;
    feed_text_free(*kept);
    *kept = feed_text_ref(t);
}

static void hand_out(struct live *l, struct topic *t, struct feed_news *news)
{
    keep_newest(&t->status, news->text[FEED_STATUS]);
    keep_newest(&t->findings, news->text[FEED_FINDINGS]);
    for (size_t i = 0; i < FEED_N; i++) {
        if (news->text[i])
            push_all(t, news->text[i]);
        feed_text_free(news->text[i]);
    }
    if (mono_diff(clock_mono(), t->said) >= HUSH_S * NS_PER_S)
        push_all(t, l->hush);
    if (news->gone)
        end_all(t);
}

/* ---- the thread ---- */

/* Topics are only taken away by this thread, so one may be looked at without the lock. */
static void live_look_at_all(struct live *l)
{
    drop_unwatched(l);
    l->new_topic = false;
    for (struct topic *t = l->topics; t && !l->end; t = t->next) {
        struct feed_news news;
        if (t->gone)
            continue;
        pthread_mutex_unlock(&l->lock);
        feed_look(&t->feed, l->runs, &news);
        pthread_mutex_lock(&l->lock);
        hand_out(l, t, &news);
    }
}

static void *watch(void *arg)
{
    struct live *l = arg;
    cutfile_thread();
    pthread_mutex_lock(&l->lock);
    while (!l->end) {
        const mono_ns next = mono_add(clock_mono(), LOOK_MS * NS_PER_MS);
        live_look_at_all(l);
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
    static const char hush[] = ": still here\n\n";
    l->runs = runs;
    pthread_mutex_init(&l->lock, NULL);
    thread_cond_init(&l->changed);
    l->hush = xmalloc(sizeof *l->hush + sizeof hush);
    atomic_init(&l->hush->refs, 1);
    l->hush->n = sizeof hush - 1;
    memcpy(l->hush->text, hush, sizeof hush);
    const int rc = thread_start(&l->thread, STACK, watch, l, "live", e);
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
    for (struct topic *t = l->topics; t; t = t->next)
        end_all(t);
    pthread_mutex_unlock(&l->lock);
}

void live_close(struct live *l)
{
    if (!l)
        return;
    live_end(l);
    drop_unwatched(l);
    feed_text_free(l->hush);
    free(l);
}

/* ---- beginning ---- */

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
    f->judged = route_number(q, "findings", 0) != 0;
    for (size_t i = 0; i < q->n_values; i++) {
        if (strcmp(q->values[i].param->name, "metric") != 0)
            continue;
        if (f->n_metrics == LIVE_METRICS)
            return err_set(e, ERR_USAGE, "more than %d metrics", LIVE_METRICS);
        f->metric[f->n_metrics++] = q->values[i].text;
    }
    return 0;
}

static struct client *add_client(struct live *l, struct exchange *x, const struct live_feed *f)
{
    struct topic *t = l->end || l->n_clients >= LIVE_CLIENTS ? NULL : topic_of(l, f);
    if (!t)
        return NULL;
    struct client *c = xcalloc(1, sizeof *c);
    *c = (struct client){.live = l, .topic = t, .x = x, .next = t->clients};
    if (c->next)
        c->next->before = c;
    t->clients = c;
    l->n_clients++;
    live_enqueue(c, t->status);
    live_enqueue(c, t->findings);
    return c;
}

int api_live(const struct route_request *q, struct route_answer *out, struct err *e)
{
    struct live *l = q->live;
    struct live_feed f;
    const int rc = feed_of(&f, q, e);
    if (rc)
        return rc;
    pthread_mutex_lock(&l->lock);
    struct client *c = add_client(l, q->exchange, &f);
    pthread_mutex_unlock(&l->lock);
    if (!c)
        return err_set(e, ERR_BUSY, "too many open streams; try again later");
    const struct reply_head head = {.status = 200, .type = TYPE_STREAM};
    out->stream = reply_stream(&head, &(struct reply_source){read_client, client_done, c});
    return 0;
}
