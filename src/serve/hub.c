/* SPDX-License-Identifier: Apache-2.0 */
/* hub.c - see hub.h. */
#include "serve/hub.h"

#include <fnmatch.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/trust.h"
#include "base/vec.h"
#include "run/receive.h"
#include "run/run_info.h"
#include "run/storage.h"
#include "run/upkeep.h"
#include "serve/hub_control.h"

enum {
    STACK = 1 << 20,
    ROUND_S = 1,
    SYNC_S = 5,       /* what a loss of power may cost; the shipper then goes back */
    COUNT_S = 600,    /* runs are removed by hand: their bytes are counted again */
    BURST_S = 2,      /* of its rate that a token may send at once */
    PRUNE_COUNTS = 6, /* it is a walk through all runs as well */
    TOKEN_FILE_MOST = 1 << 20,
};

/* What the tokens of one name have used. */
struct hub_account {
    char name[TOKEN_NAME_LEN];
    uint64_t used_bytes;
    double level; /* bytes that may come now, below 0 after a large part */
    mono_ns filled;
};

struct hub {
    char folder[PATH_LEN];
    const char *token_file;
    int64_t keep_ns;
    struct rights *rights;
    struct hub_control *control;
    pthread_t thread[2];
    size_t started;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool end;
    mono_ns unsynced, syncing; /* arrival of the first data that no sync covers, or that the sync
                                  covers that runs or has failed; 0: none */
    struct hub_account *accounts;
    size_t n_accounts, cap_accounts;
    uint64_t token_version;
};

/* ---- accounts, under the lock ---- */

static struct hub_account *hub_account(struct hub *h, const char *name)
{
    for (size_t i = 0; i < h->n_accounts; i++)
        if (strcmp(h->accounts[i].name, name) == 0)
            return &h->accounts[i];
    struct hub_account *a = VEC_ADD(h->accounts, h->n_accounts, h->cap_accounts);
    *a = (struct hub_account){.used_bytes = 0};
    snprintf(a->name, sizeof a->name, "%s", name);
    return a;
}

/* A part may always come when some of the rate is left, so that none is too large for it. */
static bool hub_rate_allows(struct hub_account *a, uint64_t rate, uint64_t bytes)
{
    const mono_ns now = clock_mono();
    const double most = (double)rate * BURST_S;
    a->level = a->filled.ns
                   ? a->level + (double)rate * (double)mono_diff(now, a->filled) / (double)NS_PER_S
                   : most;
    a->level = MIN_OF(a->level, most);
    a->filled = now;
    if (a->level <= 0)
        return false;
    a->level -= (double)bytes;
    return true;
}

int hub_admit(struct hub *h, const struct token *t, uint64_t bytes)
{
    int status = 0;
    pthread_mutex_lock(&h->lock);
    struct hub_account *a = hub_account(h, t->name);
    if (t->quota_bytes && a->used_bytes + bytes > t->quota_bytes)
        status = 507;
    else if (t->rate_bytes && !hub_rate_allows(a, t->rate_bytes, bytes))
        status = 429;
    pthread_mutex_unlock(&h->lock);
    return status;
}

void hub_count(struct hub *h, const struct token *t, uint64_t bytes)
{
    pthread_mutex_lock(&h->lock);
    hub_account(h, t->name)->used_bytes += bytes;
    h->unsynced = h->unsynced.ns ? h->unsynced : clock_mono();
    pthread_mutex_unlock(&h->lock);
}

uint64_t hub_unsynced_ms(struct hub *h)
{
    pthread_mutex_lock(&h->lock);
    const mono_ns since = h->syncing.ns ? h->syncing : h->unsynced;
    const int64_t age = since.ns ? mono_diff(clock_mono(), since) : 0;
    pthread_mutex_unlock(&h->lock);
    return since.ns ? (uint64_t)age / NS_PER_MS + 1 : 0;
}

uint64_t hub_left(struct hub *h, const struct token *t)
{
    if (!t->quota_bytes)
        return UINT64_MAX;
    pthread_mutex_lock(&h->lock);
    const uint64_t used = hub_account(h, t->name)->used_bytes;
    pthread_mutex_unlock(&h->lock);
    return used < t->quota_bytes ? t->quota_bytes - used : 0;
}

bool hub_run_allowed(const struct token *t, const char *run)
{
    return !*t->runs || fnmatch(t->runs, run, 0) == 0;
}

const char *hub_folder(const struct hub *h)
{
    return h->folder;
}

struct hub_control *hub_control(struct hub *h)
{
    return h->control;
}

const char *hub_run_name(const struct hub *h, const char *path)
{
    char folder[PATH_LEN], owner[RECEIVE_OWNER_LEN];
    struct err e;
    const char *base = path_base(path);
    const int n = (int)(base - path) - 1;
    const bool here =
        n > 0 && path_join(folder, &e, "%.*s", n, path) == 0 && strcmp(folder, h->folder) == 0;
    return here && receive_owner(path, owner) ? base : NULL;
}

void hub_audit(const struct hub *h, const struct audit_line *line)
{
    struct err e;
    if (audit_add(h->folder, line, &e))
        fprintf(stderr, "footplate: the audit file lacks '%s %s' of '%s': %s\n", line->action,
                line->run, line->by, e.msg);
}

COMPARE_NAMES(hub_use_order, struct hub_use, name)

size_t hub_uses(struct hub *h, struct arena *a, struct hub_use **out)
{
    pthread_mutex_lock(&h->lock);
    const size_t n = h->n_accounts;
    *out = arena_array(a, struct hub_use, n + 1);
    for (size_t i = 0; i < n; i++)
        (*out)[i] = (struct hub_use){.name = arena_strdup(a, h->accounts[i].name),
                                     .used_bytes = h->accounts[i].used_bytes};
    pthread_mutex_unlock(&h->lock);
    for (size_t i = 0; i < n; i++)
        (*out)[i].quota_bytes = rights_quota(h->rights, (*out)[i].name);
    SORT(*out, n, hub_use_order);
    return n;
}

/* ---- every few seconds ---- */

/* Runs that ended before the time of --keep. */
static void hub_prune(struct hub *h)
{
    struct arena a = {0};
    struct prune_run *v;
    struct err e;
    size_t n = 0;
    if (!h->keep_ns)
        return;
    if (prune_find(h->folder, (wall_ns){clock_wall().ns - h->keep_ns}, &a, &v, &n, &e))
        fprintf(stderr, "footplate: --keep: %s\n", e.msg);
    for (size_t i = 0; i < n; i++)
        if (prune_remove(h->folder, &v[i], "serve --keep", &e) && e.code != ERR_BUSY)
            fprintf(stderr, "footplate: --keep: %s\n", e.msg);
    arena_free(&a);
}

struct hub_counting {
    struct hub_account *v;
    size_t n, cap;
};

static void hub_count_run(void *ctx, const char *path)
{
    struct hub_counting *c = ctx;
    char owner[RECEIVE_OWNER_LEN];
    uint64_t bytes;
    receive_count(path, owner, &bytes);
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->v[i].name, owner) == 0) {
            c->v[i].used_bytes += bytes;
            return;
        }
    struct hub_account *a = VEC_ADD(c->v, c->n, c->cap);
    *a = (struct hub_account){.used_bytes = bytes};
    snprintf(a->name, sizeof a->name, "%s", owner);
}

/* What came while the runs were counted is counted again 10 minutes later. */
static void hub_count_runs(struct hub *h)
{
    struct hub_counting c = {0};
    struct err e;
    if (run_each(h->folder, hub_count_run, &c, &e) == 0) {
        pthread_mutex_lock(&h->lock);
        for (size_t i = 0; i < h->n_accounts; i++)
            h->accounts[i].used_bytes = 0;
        for (size_t i = 0; i < c.n; i++)
            hub_account(h, c.v[i].name)->used_bytes = c.v[i].used_bytes;
        pthread_mutex_unlock(&h->lock);
    }
    free(c.v);
}

static uint64_t hub_token_version(const struct hub *h)
{
    struct storage_stat st;
    struct err e;
    return storage_of(h->token_file)->stat(h->token_file, STORAGE_FOLLOW, &st, &e) ? 0 : st.version;
}

/* A file that cannot be read, or has an error, changes nothing, and is reported once. */
static void hub_read_tokens(struct hub *h)
{
    const uint64_t version = hub_token_version(h);
    struct arena a = {0};
    struct err e;
    char *text;
    size_t len;
    if (version == h->token_version)
        return;
    h->token_version = version;
    int rc = trust_read_named(h->token_file, TOKEN_FILE_MOST, &a, &text, &len, &e);
    if (rc == 0) {
        rc = rights_replace_text(h->rights, text, h->token_file, &e);
        explicit_bzero(text, len);
    }
    if (rc)
        fprintf(stderr, "footplate: the tokens stay as they were: %s\n", e.msg);
    arena_free(&a);
}

static void hub_sync(struct hub *h)
{
    struct err e;
    pthread_mutex_lock(&h->lock);
    h->syncing = h->syncing.ns ? h->syncing : h->unsynced;
    h->unsynced = (mono_ns){0};
    const bool due = h->syncing.ns != 0;
    pthread_mutex_unlock(&h->lock);
    const int rc = due ? storage_of(h->folder)->sync(h->folder, &e) : 0;
    if (rc)
        fprintf(stderr, "footplate: %s\n", e.msg);
    pthread_mutex_lock(&h->lock);
    h->syncing = rc ? h->syncing : (mono_ns){0}; /* after a failure the next one is for it, too */
    pthread_mutex_unlock(&h->lock);
}

static void *hub_watch(void *arg)
{
    struct hub *h = arg;
    mono_ns next = clock_mono();
    for (unsigned round = 0; !thread_sleep(&h->end, &h->lock, &h->ended, next); round++) {
        next = mono_add(clock_mono(), ROUND_S * NS_PER_S);
        if (round % SYNC_S == 0)
            hub_sync(h);
        hub_read_tokens(h);
    }
    return NULL;
}

/* Work on all runs takes minutes for many of them: what must be done in time is in hub_watch. */
static void *hub_walk_runs(void *arg)
{
    struct hub *h = arg;
    mono_ns next = clock_mono();
    for (unsigned round = 0; !thread_sleep(&h->end, &h->lock, &h->ended, next); round++) {
        next = mono_add(clock_mono(), COUNT_S * NS_PER_S);
        if (round % PRUNE_COUNTS == 0)
            hub_prune(h);
        hub_count_runs(h);
    }
    return NULL;
}

/* ---- opening ---- */

static int hub_start(struct hub *h, struct err *e)
{
    static void *(*const loops[])(void *) = {hub_watch, hub_walk_runs};
    for (size_t i = 0; i < COUNT_OF(loops); i++) {
        TRY(thread_start(&h->thread[i], STACK, loops[i], h, i ? "hub-runs" : "hub", e));
        h->started++;
    }
    return 0;
}

int hub_open(struct hub **out, const struct hub_options *ask, struct rights *r, struct err *e)
{
    struct hub *h = xcalloc(1, sizeof *h);
    const char *folder = ask->folder;
    bool made;
    h->token_file = ask->token_file;
    h->keep_ns = ask->keep_ns;
    h->rights = r;
    h->syncing = (mono_ns){1}; /* what came before this process began may not be durable yet */
    h->token_version = 0;      /* it may have changed since it was read: it is read again at once */
    h->control = hub_control_open();
    pthread_mutex_init(&h->lock, NULL);
    thread_cond_init(&h->ended);
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error of its write */
    int rc = path_join(h->folder, e, "%s", folder);
    if (rc == 0)
        rc = storage_of(folder)->make_runs(folder, &made, e);
    if (rc == 0)
        rc = hub_start(h, e);
    if (rc)
        hub_close(h);
    else
        *out = h;
    return rc;
}

void hub_close(struct hub *h)
{
    if (!h)
        return;
    thread_set_flag(&h->end, &h->lock, &h->ended);
    for (size_t i = 0; i < h->started; i++)
        pthread_join(h->thread[i], NULL);
    if (h->started)
        hub_sync(h);
    hub_control_close(h->control);
    free(h->accounts);
    free(h);
}
