/* SPDX-License-Identifier: Apache-2.0 */
/* runs_judge.c - the findings of a run: those that its recorder wrote, or evaluated here, in the
 * background, for a run that has none or whose data is newer. Of a run that goes on they are
 * evaluated again as its data comes, once for all who look, and the less often the longer that
 * takes. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cost/machines.h"
#include "query/run.h"
#include "rules/feed_run.h"
#include "rules/rightsize_advise.h"
#include "rules/verdict_json.h"
#include "serve/heap.h"
#include "serve/heavy.h"
#include "serve/pace.h"
#include "serve/runs_internal.h"
#include "serve/sigbus_guard.h"

/* Between two evaluations of a run that lives; a little less than the second in which a recorder
 * writes, so that what it wrote is not left for the time after next. */
#define AGAIN_NS (900 * NS_PER_MS)

/* ---- evaluating ---- */

struct runs_judge_judging {
    struct work_job job;
    struct runs *runs;
    struct runs_item *item;
    char *text, *error;
    unsigned issues[ISSUE_COUNTS];
    uint64_t version, stamp; /* of the data, of the description */
    mono_ns began;
    bool turns;
    bool changed; /* the data did while it was read: what went wrong says nothing about the run */
};

/* As `footplate check` does it: with the table of machines, which knows prices that the run does
 * not say, and what size would do. A table that cannot be read costs these, not the findings. */
static int runs_judge_check(struct run *run, const struct rule_params *params, struct arena *a,
                            struct checked *out, struct err *e)
{
    struct machines *table = arena_new(a, struct machines);
    struct err ignored;
    const bool known = machines_load(table, NULL, a, &ignored) == 0;
    const struct pricing pricing = {.table = known ? table : NULL};
    const int rc = rules_check_priced(run, params, &pricing, a, out, e);
    if (rc == 0 && known)
        (void)rightsize_advise(out, table, a);
    return rc;
}

/* Those of the user's own rules stand behind the others, as in findings.json. */
static void write_text(struct runs_judge_judging *g, const struct checked *c,
                       const struct rule_params *params, const struct told_rules *told)
{
    struct buf b = {0};
    struct jw j = {.out = &b};
    const struct verdict *order[RULE_N];
    verdicts_in_order(c->verdicts.v, RULE_N, order);
    jw_array(&j, NULL);
    for (size_t k = 0; k < RULE_N; k++) {
        const struct verdict *v = order[k];
        g->issues[v->severity] += v->state == RULE_ISSUE;
        g->issues[ISSUE_EVALUATED] += v->state != RULE_NOT_EVALUATED && !v->rule->summary;
        verdict_json(&j, NULL, v, params->v[v - c->verdicts.v]);
    }
    for (size_t i = 0; i < told->n_own; i++) {
        buf_u8(&b, ',');
        buf_put(&b, told->own[i], strlen(told->own[i]));
    }
    for (size_t k = 0; k < ISSUE_COUNTS; k++)
        g->issues[k] += told->issues[k];
    jw_end(&j);
    buf_u8(&b, 0);
    g->text = (char *)b.p;
}

static int runs_judge_judge(struct runs_judge_judging *g, struct run *run, struct err *e)
{
    struct arena a = {0};
    struct rule_params params;
    struct told_rules told;
    struct checked *c = arena_new(&a, struct checked);
    rule_params_init(&params, &a);
    told_read(&told, g->item->path, &params, &a);
    const int rc = runs_judge_check(run, &params, &a, c, e);
    if (rc == 0)
        write_text(g, c, &params, &told);
    arena_free(&a);
    return rc;
}

static void runs_judge_evaluate(struct runs_judge_judging *g)
{
    struct run *run = NULL;
    struct err e;
    const uint64_t cuts = sigbus_guard_count();
    int rc = run_open(&run, g->item->path, &e);
    if (rc == 0)
        rc = runs_judge_judge(g, run, &e);
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

/* Text of runs that were not asked for longest is given up. */
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
static void runs_judge_keep(struct runs_judge_judging *g)
{
    struct runs_item *x = g->item;
    free(x->findings_error);
    x->findings_error = g->error;
    x->findings_version = g->version;
    x->findings_at = clock_mono();
    x->findings_next = pace_next(g->began, x->findings_at, AGAIN_NS);
    x->evaluating = false;
    if (g->changed)
        x->looked.ns = 0; /* who asks next sees what became of it */
    if (!g->text)
        return;
    x->findings_changes += !x->findings || strcmp(x->findings, g->text) != 0;
    free(x->findings);
    x->findings = g->text;
    x->judged = true;
    x->judged_stamp = g->stamp;
    memcpy(x->issues, g->issues, sizeof x->issues);
}

static void runs_judge_run_job(struct work_job *j, bool ends)
{
    struct runs_judge_judging *g = (struct runs_judge_judging *)j;
    struct runs_item *x = g->item;
    if (!ends && g->turns) {
        const uint64_t bytes = heavy_begin(g->runs->heavy, run_stamp_data(x->path).bytes);
        g->began = clock_mono(); /* waiting costs nothing */
        runs_judge_evaluate(g);
        heavy_end(g->runs->heavy, bytes);
    } else if (!ends) {
        runs_judge_evaluate(g);
        heap_give_back();
    }
    pthread_mutex_lock(&g->runs->lock);
    g->runs->evaluations += !ends;
    runs_judge_keep(g);
    bound_texts(g->runs);
    pthread_mutex_unlock(&g->runs->lock);
    runs_unref(g->runs, x);
    free(g);
}

struct work_job *judge_prepare(struct runs *r, struct runs_item *x, uint64_t version, bool turns)
{
    struct runs_judge_judging *g = xcalloc(1, sizeof *g);
    *g = (struct runs_judge_judging){.job = {.run = runs_judge_run_job},
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

bool judge_is_due(const struct runs_item *x, uint64_t version)
{
    return version && !x->evaluating && x->findings_version != version &&
           clock_mono().ns >= x->findings_next.ns;
}

/* What was found is still good, or good enough for a run that goes on. */
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
 * run that goes on they always are. */
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
    *out = h.live ? NULL : told_text(h.item->path, a);
    if (!*out)
        rc = from_judge(r, &h, a, out, e);
    (void)runs_give(r, &h);
    return rc;
}
