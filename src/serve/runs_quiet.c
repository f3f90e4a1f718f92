/* SPDX-License-Identifier: Apache-2.0 */
/* runs_quiet.c - fills the list of runs with their findings while somebody looks at it.
 *
 * Runs whose recorder wrote none, imported ones and those that go on, would have none in the list
 * until each of them was opened. They are evaluated one at a time on a thread that yields to
 * everything else; only the newest, only ones that take little, and only while the list is asked
 * for. Those that go on share a twentieth of a core, however many they are. */
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "serve/pace.h"
#include "serve/runs_internal.h"

enum {
    NEWEST = 50,          /* of the list */
    BYTES_MOST = 8 << 20, /* of a run's files; larger ones wait until they are opened */
    PATIENCE_S = 15,      /* after the list was last asked for */
    LEAST_NICE = 19,
};

/* The list is asked for about once a second; so much of the time may be made up for then. */
#define CREDIT_NS (2 * NS_PER_S)

static bool runs_quiet_lives(const struct runs_item *x)
{
    return !x->about->broken && x->about->info.status == RUN_RUNNING;
}

/* A run that goes on wants it again and again, an ended one once. Under the lock. */
static bool wants_judging(const struct runs *r, const struct runs_item *x, uint64_t version)
{
    const struct runs_about *a = x->about;
    if (a->broken || x->evaluating)
        return false;
    if (runs_quiet_lives(x))
        return clock_mono().ns >= r->quiet_next.ns && judge_is_due(x, version);
    return !judge_issues(x) && x->tried_stamp != a->stamp;
}

/* `*turn` says when it had its last. */
static bool runs_quiet_is_wanted(struct runs *r, struct runs_item *x, mono_ns *turn)
{
    pthread_mutex_lock(&r->lock);
    const bool live = runs_quiet_lives(x);
    pthread_mutex_unlock(&r->lock);
    const uint64_t version = live ? runs_look(r, x) : 0;
    pthread_mutex_lock(&r->lock);
    const bool wanted = wants_judging(r, x, version);
    *turn = x->findings_at;
    pthread_mutex_unlock(&r->lock);
    return wanted;
}

/* Takes note that it was tried, also when it is then too large or cannot be read. */
static void note_try(struct runs *r, struct runs_item *x)
{
    pthread_mutex_lock(&r->lock);
    x->tried_stamp = x->about->stamp;
    pthread_mutex_unlock(&r->lock);
}

static bool is_small(struct runs *r, struct runs_item *x)
{
    const bool small = run_stamp_data(x->path).bytes <= BYTES_MOST;
    if (!small)
        note_try(r, x);
    return small;
}

/* Of those that want it the one whose turn is longest ago, so that none waits for ever, and of
 * those that had none the newest. Counted for the caller; NULL: there is none. */
static struct runs_item *next_of_list(struct runs *r)
{
    struct runs_list list;
    struct runs_item *found = NULL;
    mono_ns turn, oldest = {INT64_MAX};
    runs_list_read(r, &list);
    for (size_t i = 0; i < MIN_OF(list.n, (size_t)NEWEST); i++) {
        struct runs_item *x = runs_find(r, list.v[i].name), *other = x;
        if (x && runs_quiet_is_wanted(r, x, &turn) && turn.ns < oldest.ns && is_small(r, x)) {
            other = found;
            found = x;
            oldest = turn;
        }
        if (other)
            runs_unref(r, other);
    }
    runs_list_free(&list);
    if (found)
        note_try(r, found);
    return found;
}

/* Somebody may have asked for its findings just now; then they are on their way. */
static void judge_quietly(struct runs *r, struct runs_item *x)
{
    const uint64_t version = runs_look(r, x);
    const mono_ns begin = clock_mono();
    pthread_mutex_lock(&r->lock);
    const bool live = runs_quiet_lives(x);
    struct work_job *j = version && !x->evaluating ? judge_prepare(r, x, version, false) : NULL;
    pthread_mutex_unlock(&r->lock);
    if (j)
        j->run(j, false);
    if (j && live)
        r->quiet_next = pace_share(r->quiet_next, begin, clock_mono(), CREDIT_NS);
}

static bool still_asked(struct runs *r)
{
    pthread_mutex_lock(&r->lock);
    const bool asked = mono_diff(clock_mono(), r->list_asked) < PATIENCE_S * NS_PER_S;
    r->filling = asked;
    pthread_mutex_unlock(&r->lock);
    return asked;
}

static void stop_filling(struct runs *r)
{
    pthread_mutex_lock(&r->lock);
    r->filling = false;
    pthread_mutex_unlock(&r->lock);
}

/* One run; then it queues again, so that the end of the server need not wait for the rest. */
void fill_list(struct work_job *j, bool ends)
{
    struct runs *r = ((struct fill *)j)->runs;
    if (ends || !still_asked(r))
        return;
    (void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), LEAST_NICE);
    struct runs_item *x = next_of_list(r);
    if (!x) {
        stop_filling(r);
        return;
    }
    judge_quietly(r, x);
    runs_unref(r, x);
    work_add(r->quiet, j);
}

void runs_list_asked(struct runs *r)
{
    pthread_mutex_lock(&r->lock);
    const bool begin = !r->filling;
    r->filling = true;
    r->list_asked = clock_mono();
    pthread_mutex_unlock(&r->lock);
    if (begin)
        work_add(r->quiet, &r->fill_list.job);
}
