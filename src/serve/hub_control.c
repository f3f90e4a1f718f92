/* SPDX-License-Identifier: Apache-2.0 */
/* hub_control.c - see hub_control.h. */
#include "serve/hub_control.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "serve/hash.h"

enum {
    NODES_MOST = 1 << 16, /* more report all the same, and take no requests */
    KEPT_MOST = 16,   /* requests of a node that are stored, so that their results can be listed */
    WAITING_MOST = 8, /* of these may wait */
    WITHIN_MOST_S = 3600,
    EXPIRES_S = 60,  /* or after three of the times within which the sender looks */
    SILENT_S = 30,   /* the same for a sender that does not report any more */
    FORGET_S = 3600, /* a node that does not report */
    SWEEP_S = 60,
};

struct hub_node {
    char run[RUN_ID_LEN];
    char node[NODE_ID_LEN];
    unsigned within_s;
    mono_ns seen;
    struct hub_control_request *v;
    size_t n, cap;
};

struct hub_control {
    pthread_mutex_t lock;
    struct hub_node *nodes;
    size_t n, cap;
    struct hash_index index;
    mono_ns swept;
    uint64_t last_id;
};

struct hub_control *hub_control_open(void)
{
    struct hub_control *c = xcalloc(1, sizeof *c);
    pthread_mutex_init(&c->lock, NULL);
    c->swept = clock_mono();
    return c;
}

void hub_control_close(struct hub_control *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->n; i++)
        free(c->nodes[i].v);
    free(c->nodes);
    hash_free(&c->index);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

const char *hub_request_state_name(enum hub_request_state s)
{
    static const char *const names[HUB_REQUEST_STATES] = {"waiting", "applied", "refused",
                                                          "expired"};
    return names[s];
}

/* ---- nodes, under the lock ---- */

static uint64_t hub_node_hash(const char *run, const char *node)
{
    return hash_text(node, hash_text(run, 0));
}

static struct hub_node *hub_node_find(struct hub_control *c, const char *run, const char *node)
{
    const uint32_t at =
        HASH_FIND(&c->index, hub_node_hash(run, node), i,
                  strcmp(c->nodes[i].run, run) == 0 && strcmp(c->nodes[i].node, node) == 0);
    return at ? &c->nodes[at - 1] : NULL;
}

/* NULL: there are too many. */
static struct hub_node *hub_node_add(struct hub_control *c, const char *run, const char *node)
{
    struct hub_node *x = hub_node_find(c, run, node);
    if (x || c->n == NODES_MOST)
        return x;
    x = VEC_ADD(c->nodes, c->n, c->cap);
    *x = (struct hub_node){.within_s = 0};
    snprintf(x->run, sizeof x->run, "%s", run);
    snprintf(x->node, sizeof x->node, "%s", node);
    hash_add(&c->index, hub_node_hash(run, node), c->n);
    return x;
}

static bool hub_node_takes(const struct hub_node *x, mono_ns now)
{
    const int64_t silent_s = MAX_OF((int64_t)SILENT_S, 3 * (int64_t)x->within_s);
    return x->within_s && mono_diff(now, x->seen) < silent_s * NS_PER_S;
}

static unsigned hub_node_expire(struct hub_node *x, mono_ns now)
{
    unsigned waiting = 0;
    for (size_t i = 0; i < x->n; i++) {
        struct hub_control_request *q = &x->v[i];
        if (q->state == HUB_WAITING && mono_diff(now, q->until) > 0) {
            q->state = HUB_EXPIRED;
            snprintf(q->text, sizeof q->text, "the recorder did not fetch it in time");
        }
        waiting += q->state == HUB_WAITING;
    }
    return waiting;
}

/* Nodes of runs that ended long ago go; the index is made again. */
static void hub_control_sweep(struct hub_control *c, mono_ns now)
{
    size_t n = 0;
    if (mono_diff(now, c->swept) < SWEEP_S * NS_PER_S)
        return;
    c->swept = now;
    for (size_t i = 0; i < c->n; i++) {
        if (mono_diff(now, c->nodes[i].seen) < FORGET_S * NS_PER_S)
            c->nodes[n++] = c->nodes[i];
        else
            free(c->nodes[i].v);
    }
    if (n == c->n)
        return;
    hash_free(&c->index);
    c->n = n;
    for (size_t i = 0; i < n; i++)
        hash_add(&c->index, hub_node_hash(c->nodes[i].run, c->nodes[i].node), i + 1);
}

/* ---- the sender ---- */

unsigned hub_control_seen(struct hub_control *c, const char *run, const char *node,
                          unsigned within_s)
{
    const mono_ns now = clock_mono();
    pthread_mutex_lock(&c->lock);
    hub_control_sweep(c, now);
    struct hub_node *x = hub_node_add(c, run, node);
    if (x) {
        x->within_s = MIN_OF(within_s, (unsigned)WITHIN_MOST_S);
        x->seen = now;
    }
    const unsigned waiting = x ? hub_node_expire(x, now) : 0;
    pthread_mutex_unlock(&c->lock);
    return waiting;
}

void hub_control_take(struct hub_control *c, const char *run, const char *node,
                      hub_request_visit *visit, void *ctx)
{
    pthread_mutex_lock(&c->lock);
    struct hub_node *x = hub_node_find(c, run, node);
    if (x)
        hub_node_expire(x, clock_mono());
    for (size_t i = 0; x && i < x->n; i++)
        if (x->v[i].state == HUB_WAITING)
            visit(ctx, &x->v[i]);
    pthread_mutex_unlock(&c->lock);
}

void hub_control_answer(struct hub_control *c, const char *run, const char *node, uint64_t id,
                        bool applied, const char *text)
{
    pthread_mutex_lock(&c->lock);
    struct hub_node *x = hub_node_find(c, run, node);
    for (size_t i = 0; x && i < x->n; i++)
        if (x->v[i].id == id) {
            x->v[i].state = applied ? HUB_APPLIED : HUB_REFUSED;
            snprintf(x->v[i].text, sizeof x->v[i].text, "%s", text);
        }
    pthread_mutex_unlock(&c->lock);
}

/* ---- users ---- */

unsigned hub_control_within(struct hub_control *c, const char *run)
{
    const mono_ns now = clock_mono();
    unsigned most = 0;
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->nodes[i].run, run) == 0 && hub_node_takes(&c->nodes[i], now))
            most = MAX_OF(most, c->nodes[i].within_s);
    pthread_mutex_unlock(&c->lock);
    return most;
}

/* The oldest one that does not wait makes room. */
static struct hub_control_request *hub_node_room(struct hub_node *x)
{
    size_t i = 0;
    if (x->n < KEPT_MOST)
        return VEC_ADD(x->v, x->n, x->cap);
    while (x->v[i].state == HUB_WAITING)
        i++;
    assert(i < x->n); /* fewer wait than are stored */
    memmove(&x->v[i], &x->v[i + 1], (x->n - i - 1) * sizeof *x->v);
    return &x->v[x->n - 1];
}

static const struct hub_control_request *hub_node_ask(struct hub_control *c, struct hub_node *x,
                                                      const char *set, const char *by)
{
    const mono_ns now = clock_mono();
    const int64_t expires_s = MAX_OF((int64_t)EXPIRES_S, 3 * (int64_t)x->within_s);
    struct hub_control_request *q = hub_node_room(x);
    *q = (struct hub_control_request){
        .id = MAX_OF(c->last_id + 1, (uint64_t)clock_wall().ns / NS_PER_MS),
        .requested = clock_wall(),
        .until = mono_add(now, expires_s * NS_PER_S)};
    c->last_id = q->id;
    snprintf(q->node, sizeof q->node, "%s", x->node);
    snprintf(q->set, sizeof q->set, "%s", set);
    snprintf(q->by, sizeof q->by, "%s", by);
    return q;
}

static bool hub_node_is_meant(const struct hub_node *x, const char *run, const char *node,
                              mono_ns now)
{
    return strcmp(x->run, run) == 0 && (!node || strcmp(x->node, node) == 0) &&
           hub_node_takes(x, now);
}

int hub_control_ask(struct hub_control *c, const char *run, const char *node, const char *set,
                    const char *by, struct arena *a, struct hub_control_request **out, size_t *n,
                    struct err *e)
{
    const mono_ns now = clock_mono();
    size_t cap = 0;
    bool full = false;
    *out = NULL;
    *n = 0;
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->n; i++)
        full |= hub_node_is_meant(&c->nodes[i], run, node, now) &&
                hub_node_expire(&c->nodes[i], now) >= WAITING_MOST;
    for (size_t i = 0; i < c->n && !full; i++)
        if (hub_node_is_meant(&c->nodes[i], run, node, now))
            *ARENA_ADD(a, *out, *n, cap) = *hub_node_ask(c, &c->nodes[i], set, by);
    pthread_mutex_unlock(&c->lock);
    if (full)
        return err_set(e, ERR_LIMIT, "%d requests wait for the recorder already", WAITING_MOST);
    return *n ? 0
              : err_set(e, ERR_NOT_FOUND,
                        "the recorder of the run is not seen, or takes no requests from a hub "
                        "(--to-control off)");
}

COMPARE_BY(hub_request_order, struct hub_control_request, id)

void hub_control_list(struct hub_control *c, const char *run, struct arena *a,
                      struct hub_control_request **out, size_t *n)
{
    const mono_ns now = clock_mono();
    size_t cap = 0;
    *out = NULL;
    *n = 0;
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->n; i++) {
        struct hub_node *x = &c->nodes[i];
        if (strcmp(x->run, run) != 0)
            continue;
        hub_node_expire(x, now);
        for (size_t k = 0; k < x->n; k++)
            *ARENA_ADD(a, *out, *n, cap) = x->v[k];
    }
    pthread_mutex_unlock(&c->lock);
    SORT(*out, *n, hub_request_order);
}
