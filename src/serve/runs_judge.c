/* SPDX-License-Identifier: Apache-2.0 */
/* runs_judge.c - the findings of a run: those that its recorder wrote, or evaluated here, in the
 * background, for a run that has none or whose data is newer. Those of a live run are
 * evaluated again as its data comes, once for all clients, and the less often the longer that
 * takes. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/json_read.h"
#include "base/mem.h"
#include "cost/machines.h"
#include "query/run.h"
#include "rules/feed_run.h"
#include "rules/rule.h"
#include "rules/verdict_json.h"
#include "run/run_files.h"
#include "serve/limits.h"
#include "serve/runs_internal.h"

/* ==== the contents of findings.json ==== */

/* User rules, as the recorder evaluated them. */
struct findings_rest {
    const char **own; /* as JSON */
    size_t n_own;
    unsigned issues[ISSUE_COUNTS]; /* among these */
};

static json_t *findings_read_list(const char *path)
{
    struct arena a = {0};
    struct err e;
    char *text;
    size_t len;
    json_t *o = run_read_findings(path, &a, &text, &len, &e) == 0
                    ? json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL)
                    : NULL;
    json_t *list = json_object_get(o, "rules");
    json_t *out = json_is_array(list) ? json_incref(list) : NULL;
    json_decref(o);
    arena_free(&a);
    return out;
}

/* As text, in the arena; NULL: there is none that can be read, or the data is newer. */
static const char *findings_text(const char *path, struct arena *a)
{
    const int64_t written = run_stamp_findings(path);
    json_t *list =
        written && written >= run_stamp_data(path).newest_ns ? findings_read_list(path) : NULL;
    char *text = list ? json_dumps(list, JSON_COMPACT) : NULL;
    const char *copy = text ? arena_strdup(a, text) : NULL;
    free(text);
    json_decref(list);
    return copy;
}

/* ---- for what is evaluated here ---- */

/* Of a version that knew other parameters the defaults stay. */
static void findings_take_params(struct rule_params *p, const char *rule, json_t *params)
{
    const char *name;
    json_t *value;
    json_object_foreach(params, name, value)
    {
        struct err ignored;
        char *text = json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY);
        const char *word = text ? text : json_string_value(value);
        if (word)
            (void)!rule_params_set_one(p, rule, name, word, &ignored);
        free(text);
    }
}

/* Values that are the defaults were not set by the user, which some rules check. */
static void forget_usual(struct rule_params *p, struct arena *a)
{
    struct rule_params usual;
    rule_params_init(&usual, a);
    for (size_t k = 0; k < RULE_N; k++)
        for (size_t i = 0; i < RULE_PARAMS_MOST; i++)
            if (p->v[k][i].v == usual.v[k][i].v && !p->v[k][i].is_duration)
                p->v[k][i] = usual.v[k][i];
}

static void keep_own(struct findings_rest *t, const json_t *verdict, struct arena *a)
{
    const char *state = json_string_value(json_object_get(verdict, "state"));
    const char *severity = json_string_value(json_object_get(verdict, "severity"));
    char *text = json_dumps(verdict, JSON_COMPACT);
    t->issues[ISSUE_EVALUATED] += state && strcmp(state, rule_state_names[RULE_NOT_EVALUATED]) != 0;
    for (int k = 0; k < SEVERITY_N && state && severity; k++)
        t->issues[k] += strcmp(state, rule_state_names[RULE_ISSUE]) == 0 &&
                        strcmp(severity, severity_names[k]) == 0;
    if (text)
        t->own[t->n_own++] = arena_strdup(a, text);
    free(text);
}

/* What a newer evaluation needs of it, in the arena: parameters as the user has set them go into
 * `p`. Nothing when there is none. */
static void findings_settings(struct findings_rest *t, const char *path, struct rule_params *p,
                              struct arena *a)
{
    *t = (struct findings_rest){0};
    json_t *list = findings_read_list(path);
    t->own = arena_array(a, const char *, json_array_size(list) + 1);
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *v = json_array_get(list, i);
        const char *name = json_string_value(json_object_get(v, "rule"));
        if (name && rule_find(name))
            findings_take_params(p, name, json_object_get(v, "params"));
        else if (name)
            keep_own(t, v, a);
    }
    forget_usual(p, a);
    json_decref(list);
}

/* ==== evaluating ==== */

/* Between two evaluations of a run that is being recorded; a little less than the second in which a
 * recorder writes, so that what it wrote is not left for the time after next. */
#define AGAIN_NS (900 * NS_PER_MS)

/* ---- evaluating ---- */

struct judging_job {
    struct work_job job;
    struct runs *runs;
    struct runs_item *item;
    char *text, *error;
    unsigned issues[ISSUE_COUNTS];
    uint64_t version, stamp; /* of the data, of the description */
    mono_ns began;
    bool turns;
    bool changed; /* the data did while it was read: an error is not one of the run */
};

/* As `footplate check` does it: with the table of machines, which has prices that the run lacks,
 * and sizes that would do. A table that cannot be read costs these, not the findings. */
static int judge_check(struct evaluation *v, struct run *run, const struct rule_params *params,
                       struct arena *a, struct checked *out, struct err *e)
{
    struct machines *table = arena_new(a, struct machines);
    struct err ignored;
    const bool known = machines_load(table, NULL, a, &ignored) == 0;
    const struct pricing pricing = {.table = known ? table : NULL};
    const struct check_ask ask = {.params = params, .pricing = &pricing};
    const int rc = evaluation_run(v, run, &ask, a, out, e);
    if (rc == 0 && known)
        (void)rightsize_advise(out, table, a);
    return rc;
}

/* Those of user rules are after the others, as in findings.json. */
static void write_text(struct judging_job *g, const struct checked *c,
                       const struct rule_params *params, const struct findings_rest *rest)
{
    struct buf b = {0};
    struct jw j = {.out = &b};
    const struct verdict *order[RULE_N];
    verdicts_in_order(c->verdicts.v, RULE_N, order);
    jw_array(&j, NULL);
    for (size_t k = 0; k < RULE_N; k++) {
        const struct verdict *v = order[k];
        g->issues[v->severity] += v->state == RULE_ISSUE;
        /* How a job ended is not a finding about its speed. */
        g->issues[ISSUE_EVALUATED] += v->state != RULE_NOT_EVALUATED && !v->rule->summary &&
                                      (v->state == RULE_ISSUE || !v->rule->ending);
        verdict_json(&j, NULL, v, params->v[v - c->verdicts.v]);
    }
    for (size_t i = 0; i < rest->n_own; i++) {
        buf_u8(&b, ',');
        buf_put(&b, rest->own[i], strlen(rest->own[i]));
    }
    for (size_t k = 0; k < ISSUE_COUNTS; k++)
        g->issues[k] += rest->issues[k];
    jw_end(&j);
    buf_u8(&b, 0);
    g->text = (char *)b.p;
}

/* Of a run that grows: what the evaluations before have read. One job at a time evaluates a run. */
static struct evaluation *judge_evaluation(struct runs_item *x, const struct run *run)
{
    const bool grows = run_get_info(run)->status == RUN_RUNNING;
    if (grows && !x->evaluation)
        x->evaluation = evaluation_open();
    if (!grows) {
        evaluation_close(x->evaluation);
        x->evaluation = NULL;
    }
    return x->evaluation;
}

static int judge_evaluate_run(struct judging_job *g, struct run *run, struct err *e)
{
    struct arena a = {0};
    struct rule_params params;
    struct findings_rest rest;
    struct checked *c = arena_new(&a, struct checked);
    rule_params_init(&params, &a);
    findings_settings(&rest, g->item->path, &params, &a);
    const int rc = judge_check(judge_evaluation(g->item, run), run, &params, &a, c, e);
    if (rc == 0)
        write_text(g, c, &params, &rest);
    arena_free(&a);
    return rc;
}

static void judge_evaluate(struct judging_job *g)
{
    struct run *run = NULL;
    struct err e;
    const uint64_t cuts = sigbus_guard_count();
    int rc = run_open(&run, g->item->path, &e);
    if (rc == 0)
        rc = judge_evaluate_run(g, run, &e);
    run_close(run);
    if (rc == 0 && sigbus_guard_count() != cuts)
        rc = err_set(&e, ERR_FORMAT, "files of the run were truncated while being read");
    if (rc == 0)
        return;
    free(g->text);
    g->text = NULL;
    g->changed = run_stamp_data(g->item->path).version != g->version;
    if (!g->changed)
        g->error = xstrdup(e.msg);
}

/* The text of the runs that were not requested for longest is freed. */
static void bound_texts(struct runs *r)
{
    for (;;) {
        struct runs_item *oldest = NULL;
        size_t n = 0;
        for (size_t i = 0; i < RUNS_SLOTS; i++)
            for (struct runs_item *x = r->slot[i]; x; x = x->chain) {
                if (!x->findings)
                    continue;
                n++;
                if (!oldest || x->findings_at.ns < oldest->findings_at.ns)
                    oldest = x;
            }
        if (n <= RUNS_FINDINGS)
            return;
        free(oldest->findings);
        oldest->findings = NULL;
    }
}

/* Under the lock. */
static void judge_keep(struct judging_job *g)
{
    struct runs_item *x = g->item;
    free(x->findings_error);
    x->findings_error = g->error;
    x->findings_version = g->version;
    x->findings_at = clock_mono();
    x->findings_next = pace_next(g->began, x->findings_at, AGAIN_NS);
    x->evaluating = false;
    if (g->changed)
        x->looked.ns = 0; /* the next request sees the result */
    if (!g->text)
        return;
    x->findings_changes += !x->findings || strcmp(x->findings, g->text) != 0;
    free(x->findings);
    x->findings = g->text;
    x->judged = true;
    x->judged_stamp = g->stamp;
    memcpy(x->issues, g->issues, sizeof x->issues);
}

static void judge_run_job(struct work_job *j, bool ends)
{
    struct judging_job *g = (struct judging_job *)j;
    struct runs_item *x = g->item;
    if (!ends && g->turns) {
        const uint64_t bytes = memory_limit_enter(g->runs->limit, run_stamp_data(x->path).bytes);
        g->began = clock_mono(); /* waiting costs nothing */
        judge_evaluate(g);
        memory_limit_leave(g->runs->limit, bytes);
    } else if (!ends) {
        judge_evaluate(g);
        heap_give_back();
    }
    pthread_mutex_lock(&g->runs->lock);
    g->runs->evaluations += !ends;
    judge_keep(g);
    bound_texts(g->runs);
    pthread_mutex_unlock(&g->runs->lock);
    runs_unref(g->runs, x);
    free(g);
}

/* Evaluates the findings of a run and caches them: work whose `run` does it. Under the lock, and
 * only when `evaluating` is not set. `turns`: it waits for its turn, see limits.h. */
static struct work_job *judge_prepare(struct runs *r, struct runs_item *x, uint64_t version,
                                      bool turns)
{
    struct judging_job *g = xcalloc(1, sizeof *g);
    *g = (struct judging_job){.job = {.run = judge_run_job},
                              .runs = r,
                              .item = x,
                              .version = version,
                              .turns = turns,
                              .began = clock_mono(),
                              .stamp = x->about->stamp};
    x->evaluating = true;
    x->refs++;
    return &g->job;
}

/* A live run has data that was not evaluated, and the last evaluation is long enough ago.
 * Under the lock. */
static bool judge_is_due(const struct runs_item *x, uint64_t version)
{
    return version && !x->evaluating && x->findings_version != version &&
           clock_mono().ns >= x->findings_next.ns;
}

/* What was found is still good, or good enough for a live run. */
static bool is_good(const struct runs_item *x, uint64_t version, bool live)
{
    if (!x->findings && !x->findings_error)
        return false;
    return x->findings_version == version || (live && clock_mono().ns < x->findings_next.ns);
}

static int from_judge(struct runs *r, const struct runs_hold *h, struct arena *a, const char **out,
                      struct err *e)
{
    struct runs_item *x = h->item;
    struct work_job *todo = NULL;
    int rc = 0;
    pthread_mutex_lock(&r->lock);
    const bool good = is_good(x, h->version, h->live);
    if (!good && !x->evaluating)
        todo = judge_prepare(r, x, h->version, true);
    if (x->findings && (good || h->live))
        *out = arena_strdup(a, x->findings);
    else if (good)
        rc = err_set(e, ERR_FORMAT, "%s", x->findings_error);
    pthread_mutex_unlock(&r->lock);
    if (todo)
        work_add(r->judges, todo);
    return rc;
}

uint64_t runs_findings_watch(struct runs *r, const struct runs_hold *h)
{
    struct runs_item *x = h->item;
    struct work_job *todo = NULL;
    pthread_mutex_lock(&r->lock);
    if (h->live && judge_is_due(x, h->version))
        todo = judge_prepare(r, x, h->version, true);
    const uint64_t changes = x->findings_changes;
    pthread_mutex_unlock(&r->lock);
    if (todo)
        work_add(r->judges, todo);
    return changes;
}

/* Those evaluated here are of newer data than findings.json, unless that was written since; of a
 * live run they always are. */
const unsigned *judge_issues(const struct runs_item *x)
{
    const struct runs_about *a = x->about;
    const bool live = !a->broken && a->info.status == RUN_RUNNING;
    if (x->judged && (live || x->judged_stamp == a->stamp))
        return x->issues;
    return a->has_issues ? a->issues : NULL;
}

int runs_findings(struct runs *r, const char *name, struct arena *a, const char **out,
                  struct err *e)
{
    struct runs_hold h;
    int rc = runs_take(r, name, false, &h, e);
    if (rc)
        return rc;
    *out = h.live ? NULL : findings_text(h.item->path, a);
    if (!*out)
        rc = from_judge(r, &h, a, out, e);
    (void)runs_give(r, &h);
    return rc;
}

/* ==== the list of runs ==== */

/* fills the list of runs with their findings while it is being requested.
 *
 * Runs whose recorder wrote none, imported ones and live ones, would have none in the list
 * until each of them was opened. They are evaluated one at a time on a thread that yields to
 * everything else; only the newest, only ones that take little, and only while the list is
 * requested. Live ones share a twentieth of a core, however many they are. */

enum {
    NEWEST = 50,          /* of the list */
    BYTES_MOST = 8 << 20, /* of a run's files; larger ones wait until they are opened */
    PATIENCE_S = 15,      /* after the last request of the list */
    LEAST_NICE = 19,
};

/* The list is requested about once a second; so much of the time may be made up for then. */
#define CREDIT_NS (2 * NS_PER_S)

static bool runs_quiet_lives(const struct runs_item *x)
{
    return !x->about->broken && x->about->info.status == RUN_RUNNING;
}

/* A live run needs it again and again, an ended one once. Under the lock. */
static bool wants_judging(const struct runs *r, const struct runs_item *x, uint64_t version)
{
    const struct runs_about *a = x->about;
    if (a->broken || x->evaluating)
        return false;
    if (runs_quiet_lives(x))
        return clock_mono().ns >= r->quiet_next.ns && judge_is_due(x, version);
    return !judge_issues(x) && x->tried_stamp != a->stamp;
}

/* `*turn` is when it had its last. */
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

/* Of those that want it the one whose turn is longest ago, so that none waits forever, and of
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

/* Its findings may have been requested just now; then they are being evaluated. */
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

static bool runs_still_requested(struct runs *r)
{
    pthread_mutex_lock(&r->lock);
    const bool requested = mono_diff(clock_mono(), r->list_requested) < PATIENCE_S * NS_PER_S;
    r->filling = requested;
    pthread_mutex_unlock(&r->lock);
    return requested;
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
    if (ends || !runs_still_requested(r))
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

void runs_list_requested(struct runs *r)
{
    pthread_mutex_lock(&r->lock);
    const bool begin = !r->filling;
    r->filling = true;
    r->list_requested = clock_mono();
    pthread_mutex_unlock(&r->lock);
    if (begin)
        work_add(r->quiet, &r->fill_list.job);
}
