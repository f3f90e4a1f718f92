/* SPDX-License-Identifier: Apache-2.0 */
/* runs_quiet.c - fills the list of runs with their findings while somebody looks at it.
 *
 * Runs whose recorder wrote none, imported ones and those that go on, would have none in the list
 * until each of them was opened. They are evaluated one at a time on a thread that yields to
 * everything else; only the newest, only ones that take little, and only while the list is asked
 * for. */
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "serve/runs_own.h"

enum {
    NEWEST = 50,          /* of the list */
    BYTES_MOST = 8 << 20, /* of a run's files; larger ones wait until they are opened */
    PATIENCE_S = 15,      /* after the list was last asked for */
    LEAST_NICE = 19,
};

/* A run that goes on wants it again and again, an ended one once. Under the lock. */
static bool wants_judging(const struct runs_item *x)
{
    const struct runs_about *a = x->about;
    if (a->broken || x->evaluating)
        return false;
    if (a->info.status == RUN_RUNNING)
        return !judge_is_recent(x->findings_at) && !judge_is_recent(x->tried_at);
    return !judge_issues(x) && x->tried_stamp != a->stamp;
}

/* Takes note that it was tried, also when it is then too large or cannot be read. */
static bool take_if_wanted(struct runs *r, struct runs_item *x)
{
    pthread_mutex_lock(&r->lock);
    const bool wanted = wants_judging(x);
    if (wanted) {
        x->tried_stamp = x->about->stamp;
        x->tried_at = clock_mono();
    }
    pthread_mutex_unlock(&r->lock);
    return wanted && stamp_bytes(x->path) <= BYTES_MOST;
}

/* The newest that has no findings yet, counted for the caller; NULL: there is none. */
static struct runs_item *next_of_list(struct runs *r)
{
    struct runs_list list;
    struct runs_item *found = NULL;
    runs_list_read(r, &list);
    for (size_t i = 0; !found && i < MIN_OF(list.n, (size_t)NEWEST); i++) {
        struct runs_item *x = runs_find(r, list.v[i].name);
        if (x && take_if_wanted(r, x))
            found = x;
        else if (x)
            runs_unref(r, x);
    }
    runs_list_free(&list);
    return found;
}

/* Somebody may have asked for its findings just now; then they are on their way. */
static void judge_quietly(struct runs *r, struct runs_item *x)
{
    const uint64_t version = runs_look(r, x);
    pthread_mutex_lock(&r->lock);
    struct job *j = version && !x->evaluating ? judge_prepare(r, x, version, false) : NULL;
    pthread_mutex_unlock(&r->lock);
    if (j)
        j->run(j, false);
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
void fill_list(struct job *j, bool ends)
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
