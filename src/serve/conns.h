/* SPDX-License-Identifier: Apache-2.0 */
/* conns.h - the connections there are, so that none stays longer than it may.
 *
 * A connection asks, waits for its answer, takes it, and asks again. Whoever asks or takes too
 * slowly is cut off; who waits is not. Cutting only shuts the socket down: who owns it closes it
 * and says so with conns_remove. */
#ifndef SERVE_CONNS_H
#define SERVE_CONNS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/clock.h"

enum conn_state { CONN_REQUESTS, CONN_WAITS, CONN_TAKES, CONN_STREAMS };

struct conn {
    int fd;
    struct sockaddr_storage peer;
    _Atomic int state;       /* enum conn_state */
    _Atomic int64_t since;   /* ns of the monotonic clock */
    _Atomic(void *) sleeper; /* a stream that has nothing to send: looked after while it sleeps */
    _Atomic bool gone;       /* the peer hung up while it slept */
    _Atomic(void *) takes;   /* the answer that it takes; the caller's. NULL: none */
    uintptr_t note;
    struct conn *before, *next;
};

struct conns {
    pthread_mutex_t lock;
    struct conn *first;
    size_t n;
};

void conns_init(struct conns *c);
struct conn *conns_add(struct conns *c, int fd, const struct sockaddr *peer, socklen_t len);
void conns_remove(struct conns *c, struct conn *x);
size_t conns_count(struct conns *c);
/* How many there are from the peer's address. */
size_t conns_of(struct conns *c, const struct sockaddr *peer);
void conn_is(struct conn *x, enum conn_state s);
/* Cuts off who is too slow, and wakes sleepers whose peer is gone. */
void conns_look(struct conns *c, mono_ns now, void (*wake)(struct conn *x));
/* Cuts off the one that has been taking an answer for longest; `cut` is told while it still is in
 * the list. False: nobody but `but` takes one. */
bool conns_cut_slowest(struct conns *c, const struct conn *but, void (*cut)(void *, struct conn *),
                       void *ctx);
bool addr_is_loopback(const struct sockaddr *a);
/* Same address, whatever the ports. */
bool addr_same(const struct sockaddr *a, const struct sockaddr *b);

#endif
