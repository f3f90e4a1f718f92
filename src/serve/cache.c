/* SPDX-License-Identifier: Apache-2.0 */
/* cache.c - see cache.h. A hash table whose entries are also a list by last use. */
#include "serve/cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "serve/hash.h"

enum {
    SLOTS = 4096,    /* a power of two */
    OVERHEAD = 1024, /* what an entry and its headers take beside key and body */
};

struct cache_entry {
    struct cache_entry *chain;         /* same slot */
    struct cache_entry *newer, *older; /* by last use */
    struct reply *reply;
    uint64_t hash;
    size_t bytes, n;
    char key[];
};

struct cache {
    pthread_mutex_t lock;
    struct cache_entry *slot[SLOTS];
    struct cache_entry *newest, *oldest;
    size_t bytes, most;
};

struct cache *cache_open(size_t bytes_most)
{
    struct cache *c = xcalloc(1, sizeof *c);
    pthread_mutex_init(&c->lock, NULL);
    c->most = bytes_most;
    return c;
}

static void unlist(struct cache *c, struct cache_entry *x)
{
    *(x->newer ? &x->newer->older : &c->newest) = x->older;
    *(x->older ? &x->older->newer : &c->oldest) = x->newer;
}

static void list_first(struct cache *c, struct cache_entry *x)
{
    x->newer = NULL;
    x->older = c->newest;
    *(x->older ? &x->older->newer : &c->oldest) = x;
    c->newest = x;
}

static struct cache_entry **cache_find(struct cache *c, uint64_t hash, const void *key, size_t n)
{
    struct cache_entry **at = &c->slot[hash & (SLOTS - 1)];
    while (*at && ((*at)->hash != hash || (*at)->n != n || memcmp((*at)->key, key, n) != 0))
        at = &(*at)->chain;
    return at;
}

static void cache_drop(struct cache *c, struct cache_entry *x)
{
    struct cache_entry **at = cache_find(c, x->hash, x->key, x->n);
    *at = x->chain;
    unlist(c, x);
    c->bytes -= x->bytes;
    reply_free(x->reply);
    free(x);
}

struct reply *cache_get(struct cache *c, const void *key, size_t n)
{
    const uint64_t hash = hash_bytes(key, n);
    pthread_mutex_lock(&c->lock);
    struct cache_entry *x = *cache_find(c, hash, key, n);
    struct reply *r = x ? reply_ref(x->reply) : NULL;
    if (x && x != c->newest) {
        unlist(c, x);
        list_first(c, x);
    }
    pthread_mutex_unlock(&c->lock);
    return r;
}

static struct cache_entry *cache_make(uint64_t hash, const void *key, size_t n, struct reply *r)
{
    struct cache_entry *x = xmalloc(sizeof *x + n);
    *x = (struct cache_entry){.hash = hash, .n = n, .reply = reply_ref(r)};
    x->bytes = reply_bytes(r) + n + OVERHEAD;
    memcpy(x->key, key, n);
    return x;
}

void cache_put(struct cache *c, const void *key, size_t n, struct reply *r)
{
    const uint64_t hash = hash_bytes(key, n);
    if (reply_bytes(r) > c->most / 8)
        return;
    pthread_mutex_lock(&c->lock);
    struct cache_entry *before = *cache_find(c, hash, key, n);
    if (before)
        cache_drop(c, before);
    struct cache_entry *x = cache_make(hash, key, n, r);
    x->chain = c->slot[hash & (SLOTS - 1)];
    c->slot[hash & (SLOTS - 1)] = x;
    list_first(c, x);
    c->bytes += x->bytes;
    while (c->bytes > c->most && c->oldest != x)
        cache_drop(c, c->oldest);
    pthread_mutex_unlock(&c->lock);
}

size_t cache_bytes(struct cache *c)
{
    pthread_mutex_lock(&c->lock);
    const size_t n = c->bytes;
    pthread_mutex_unlock(&c->lock);
    return n;
}

void cache_close(struct cache *c)
{
    while (c->oldest)
        cache_drop(c, c->oldest);
    pthread_mutex_destroy(&c->lock);
    free(c);
}
