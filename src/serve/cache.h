/* SPDX-License-Identifier: Apache-2.0 */
/* cache.h - answers that were given, kept for who asks the same again.
 * Bounded in bytes: what was not asked for longest goes first. Safe for any number of threads. */
#ifndef SERVE_CACHE_H
#define SERVE_CACHE_H

#include "serve/httpd.h"

struct cache;

struct cache *cache_open(size_t bytes_most);
void cache_close(struct cache *c);
/* A count of the reply that was put under this key; NULL: none. */
struct reply *cache_get(struct cache *c, const void *key, size_t n);
/* Takes no count from the caller. One that is larger than an eighth of all is not kept. */
void cache_put(struct cache *c, const void *key, size_t n, struct reply *r);
size_t cache_bytes(struct cache *c);

#endif
