/* SPDX-License-Identifier: Apache-2.0 */
/* ship_live.c - see ship_live.h. */
#include "ship/ship_live.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "base/mem.h"

enum {
    BACKOFF_FIRST_MS = 1000,
    BACKOFF_MOST_MS = 60000,
    END_RETRY_MS = 1000,  /* between attempts when the run has ended */
    ORPHAN_S = 60,        /* after the recorder was killed */
    STATUS_S = 10,        /* between writings of a state that stays the same */
    SOON_MS = 2000,       /* between rounds when the machine goes away */
    SEAL_LOOK_MS = 10000, /* between two checks for sealed data */
};

struct ship_loop {
    const struct ship_live_begin *begin;
    struct shipping *status;
    mono_ns written; /* when the state was written last */
    unsigned failures;
    bool ended;  /* the run has */
    bool closed; /* no process waits for it any more */
    bool soon;   /* the machine goes away */
    mono_ns orphaned;
};

int64_t ship_backoff_ms(unsigned n, int retry_s, uint32_t random)
{
    int64_t most = BACKOFF_FIRST_MS;
    for (unsigned i = 1; i < n && most < BACKOFF_MOST_MS; i++)
        most *= 2;
    most = retry_s > 0 ? (int64_t)retry_s * 1000 : MIN_OF(most, (int64_t)BACKOFF_MOST_MS);
    return most / 2 + (int64_t)(random % (uint32_t)(most / 2 + 1));
}

static uint32_t ship_random(void)
{
    uint32_t v;
    return getrandom(&v, sizeof v, GRND_NONBLOCK) == (ssize_t)sizeof v ? v
                                                                       : (uint32_t)clock_mono().ns;
}

static void ship_write_status(struct ship_loop *l, bool now)
{
    struct err ignored; /* a full disk: the next write reports it */
    if (!now && l->written.ns && mono_diff(clock_mono(), l->written) < STATUS_S * NS_PER_S)
        return;
    l->written = clock_mono();
    (void)!shipping_put(l->begin->run, l->begin->node, l->status, &ignored);
}

static void ship_note(struct ship_loop *l, int rc, uint64_t bytes, const struct err *e)
{
    struct shipping *st = l->status;
    const enum shipping_state before = st->state;
    l->failures = rc ? l->failures + 1 : 0;
    st->state = rc == 0 && l->ended   ? SHIPPING_DONE
                : rc == 0             ? SHIPPING_OK
                : rc == ERR_NOT_FOUND ? SHIPPING_WAITING
                                      : SHIPPING_STOPPED;
    if (rc == 0)
        st->synced = clock_wall();
    st->bytes = bytes;
    snprintf(st->error, sizeof st->error, "%.250s", rc ? e->msg : "");
    ship_write_status(l, st->state != before || l->ended);
}

/* Until the time is over, or something comes: the end of the run, or of the process that waits. The
 * byte stays unread, for another process that takes over when this one is killed. */
static void ship_wait(struct ship_loop *l, int fd, int64_t ms)
{
    struct pollfd p = {.fd = l->closed ? -1 : fd,
                       .events = (short)(POLLRDHUP | (l->ended ? 0 : POLLIN))};
    char byte;
    if (poll(&p, 1, (int)ms) <= 0)
        return;
    if (recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1 && byte == SHIP_LIVE_SOON) {
        (void)!recv(fd, &byte, 1, MSG_DONTWAIT);
        l->soon = true;
        return;
    }
    if (p.revents & (POLLRDHUP | POLLHUP | POLLERR)) {
        const bool reported = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
        l->closed = true;
        l->orphaned = mono_add(clock_mono(), reported ? -ORPHAN_S * NS_PER_S : 0);
    }
    l->ended = true;
}

static bool ship_gives_up(const struct ship_loop *l)
{
    return l->closed && mono_diff(clock_mono(), l->orphaned) >= ORPHAN_S * NS_PER_S;
}

/* Requests of users of the target, once all that was recorded until now is there. */
static int ship_take_requests(const struct ship_live_ask *ask, const struct ship_loop *l,
                              struct ship_target *t, struct err *e)
{
    struct ship_live_begin begin = *l->begin;
    const struct ship_requests requests = {ask->control, &begin};
    if (l->ended || !t->has_requests || !ask->control || !t->ops->requests)
        return 0;
    return t->ops->requests(t, begin.node, &requests, e);
}

static void ship_rounds(const struct ship_live_ask *ask, struct ship *s, struct ship_target *t,
                        struct ship_loop *l, int fd)
{
    struct err e;
    if (ask->seal)
        t->interval_ns = SHIPPING_SEAL_S * NS_PER_S;
    else if (ask->interval_ns)
        t->interval_ns = ask->interval_ns;
    const int64_t interval_ms = ask->seal ? SEAL_LOOK_MS : t->interval_ns / NS_PER_MS;
    const int64_t look_s = (interval_ms + 999) / 1000;
    t->control_s = ask->control ? (unsigned)MAX_OF(look_s, INT64_C(1)) : 0;
    for (;;) {
        const bool ended = l->ended;
        ship_set_seal(s, ask->seal && !l->soon);
        int rc = ship_round(s, ended, &e);
        if (rc == 0)
            rc = ship_take_requests(ask, l, t, &e);
        ship_note(l, rc, t->bytes, &e);
        if ((ended && rc == 0) || ship_gives_up(l))
            return;
        const int64_t wait =
            rc == 0 ? interval_ms : ship_backoff_ms(l->failures, t->retry_s, ship_random());
        ship_wait(l, fd,
                  MIN_OF(wait, l->ended  ? (int64_t)END_RETRY_MS
                               : l->soon ? (int64_t)SOON_MS
                                         : wait));
        if (ship_gives_up(l)) /* and from now on `push` may send */
            return;
    }
}

void ship_live(const struct ship_live_ask *ask, const struct ship_live_begin *begin, int fd,
               struct shipping *out)
{
    static const int ignored[] = {SIGTERM, SIGINT, SIGHUP, SIGPIPE};
    struct ship_loop l = {.begin = begin, .status = out};
    struct ship_target *t = NULL;
    struct ship *s = NULL;
    char name[RUN_ID_LEN];
    struct err e;
    /* What ends the job ends this when the rest of the run is sent. */
    for (size_t i = 0; i < COUNT_OF(ignored); i++)
        signal(ignored[i], SIG_IGN);
    *out = (struct shipping){.state = SHIPPING_WAITING};
    snprintf(out->to, sizeof out->to, "%s", ask->target.to);
    shipping_tidy(begin->run, begin->node);
    ship_write_status(&l, true);
    int rc = ship_run_name(begin->run, name, &e);
    if (rc == 0)
        rc = ship_target_open(&t, &ask->target, name, &e);
    if (rc == 0)
        rc = ship_open(&s, begin->run, begin->node, t, &e);
    if (rc == 0)
        ship_set_spool(s, ask->spool);
    if (rc == 0)
        ship_rounds(ask, s, t, &l, fd);
    else
        ship_note(&l, rc == ERR_NOT_FOUND ? ERR_USAGE : rc, 0, &e);
    ship_close(s);
    if (t)
        t->ops->close(t);
}
