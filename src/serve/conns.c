/* SPDX-License-Identifier: Apache-2.0 */
/* conns.c - see conns.h. */
#include "serve/conns.h"

#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "serve/httpd.h"

void conns_init(struct conns *c)
{
    *c = (struct conns){0};
    pthread_mutex_init(&c->lock, NULL);
}

struct conn *conns_add(struct conns *c, int fd, const struct sockaddr *peer, socklen_t len)
{
    struct conn *x = xcalloc(1, sizeof *x);
    x->fd = fd;
    memcpy(&x->peer, peer, MIN_OF((size_t)len, sizeof x->peer));
    conn_is(x, CONN_REQUESTS);
    pthread_mutex_lock(&c->lock);
    x->next = c->first;
    if (x->next)
        x->next->before = x;
    c->first = x;
    c->n++;
    pthread_mutex_unlock(&c->lock);
    return x;
}

void conns_remove(struct conns *c, struct conn *x)
{
    pthread_mutex_lock(&c->lock);
    *(x->before ? &x->before->next : &c->first) = x->next;
    if (x->next)
        x->next->before = x->before;
    c->n--;
    pthread_mutex_unlock(&c->lock);
    free(x);
}

size_t conns_count(struct conns *c)
{
    pthread_mutex_lock(&c->lock);
    const size_t n = c->n;
    pthread_mutex_unlock(&c->lock);
    return n;
}

size_t conns_of(struct conns *c, const struct sockaddr *peer)
{
    size_t n = 0;
    pthread_mutex_lock(&c->lock);
    for (const struct conn *x = c->first; x; x = x->next)
        n += addr_same((const struct sockaddr *)&x->peer, peer);
    pthread_mutex_unlock(&c->lock);
    return n;
}

void conn_is(struct conn *x, enum conn_state s)
{
    atomic_store(&x->since, clock_mono().ns);
    atomic_store(&x->state, (int)s);
}

static bool hung_up(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLRDHUP};
    return poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

static bool too_slow(struct conn *x, mono_ns now)
{
    static const int64_t most_s[] = {
        [CONN_REQUESTS] = HTTP_REQUEST_S, [CONN_TAKES] = HTTP_ANSWER_S};
    const int state = atomic_load(&x->state);
    if (state != CONN_REQUESTS && state != CONN_TAKES)
        return false;
    return now.ns - atomic_load(&x->since) > most_s[state] * NS_PER_S;
}

void conns_look(struct conns *c, mono_ns now, void (*wake)(struct conn *x))
{
    pthread_mutex_lock(&c->lock);
    for (struct conn *x = c->first; x; x = x->next) {
        if (too_slow(x, now))
            shutdown(x->fd, SHUT_RDWR);
        if (atomic_load(&x->sleeper) && hung_up(x->fd)) {
            atomic_store(&x->gone, true);
            wake(x);
        }
    }
    pthread_mutex_unlock(&c->lock);
}

bool conns_cut_slowest(struct conns *c, const struct conn *but, void (*cut)(void *, struct conn *),
                       void *ctx)
{
    struct conn *slowest = NULL;
    pthread_mutex_lock(&c->lock);
    for (struct conn *x = c->first; x; x = x->next)
        if (x != but && atomic_load(&x->takes) &&
            (!slowest || atomic_load(&x->since) < atomic_load(&slowest->since)))
            slowest = x;
    if (slowest) {
        shutdown(slowest->fd, SHUT_RDWR);
        cut(ctx, slowest);
    }
    pthread_mutex_unlock(&c->lock);
    return slowest != NULL;
}

static const struct in6_addr *v6_of(const struct sockaddr *a)
{
    return &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr;
}

static const struct in_addr *v4_of(const struct sockaddr *a)
{
    return &((const struct sockaddr_in *)(const void *)a)->sin_addr;
}

bool addr_is_loopback(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET)
        return ((const uint8_t *)v4_of(a))[0] == 127;
    if (a->sa_family != AF_INET6)
        return false;
    const struct in6_addr *v6 = v6_of(a);
    return IN6_IS_ADDR_LOOPBACK(v6) || (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == 127);
}

bool addr_same(const struct sockaddr *a, const struct sockaddr *b)
{
    if (a->sa_family != b->sa_family)
        return false;
    if (a->sa_family == AF_INET)
        return memcmp(v4_of(a), v4_of(b), sizeof *v4_of(a)) == 0;
    return a->sa_family == AF_INET6 && memcmp(v6_of(a), v6_of(b), sizeof *v6_of(a)) == 0;
}
