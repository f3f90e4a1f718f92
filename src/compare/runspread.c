/* SPDX-License-Identifier: Apache-2.0 */
/* runspread.c - see compare.h. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "compare/compare_internal.h"
#include "run/run_info.h"

/* The default, for runs of the same code without data. On virtual machines with an H200 the same
 * training loop varied by 4 % (bound by its GPU) to 8 % (bound by launching) from process to
 * process; two runs then differ by up to 15 % in 19 of 20 cases. */
static const double SD_DEFAULT = 0.05;

/* Even a machine that has shown less: three runs may agree by chance. */
static const double REACH_LEAST = 0.01;

/* Runs of each code that are read at most, the newest; degrees of freedom that it takes. */
enum { RUNS_MOST = 8, DF_LEAST = 2 };

static const double DF_KNOWN = 1e6; /* as good as known */

void runspread_from(const struct spread_group *groups, size_t n, double confidence,
                    struct run_spread *out)
{
    double squares = 0, df = 0;
    size_t runs = 0;
    for (size_t g = 0; g < n; g++) {
        double mean = 0;
        for (size_t i = 0; i < groups[g].n; i++) {
            assert(groups[g].means[i] > 0);
            mean += log(groups[g].means[i]) / (double)groups[g].n;
        }
        for (size_t i = 0; i < groups[g].n; i++)
            squares += pow(log(groups[g].means[i]) - mean, 2);
        df += groups[g].n > 1 ? (double)(groups[g].n - 1) : 0;
        runs += groups[g].n > 1 ? groups[g].n : 0;
    }
    const bool known = df >= DF_LEAST;
    out->sd = known ? sqrt(squares / df) : SD_DEFAULT;
    out->runs = known ? runs : 0;
    out->reach = fmax(REACH_LEAST, sqrt(2) * out->sd * reach_of(confidence, known ? df : DF_KNOWN));
}

/* As ratios, whose errors multiply. The error of the steps and that of the runs are independent. */
struct diff_interval runspread_widen(struct diff_interval v, double reach)
{
    const double ratio = 1 + v.at;
    if (isnan(v.low) || !(ratio > 0))
        return v;
    const double down = v.low > -1 ? log(ratio / (1 + v.low)) : INFINITY,
                 up = log((1 + v.high) / ratio);
    return (struct diff_interval){v.at, ratio * exp(-hypot(down, reach)) - 1,
                                  ratio * exp(hypot(up, reach)) - 1};
}

/* ---- runs of the same code ---- */

static bool same_words(const char *const *a, const char *const *b)
{
    while (*a && *b && strcmp(*a, *b) == 0) {
        a++;
        b++;
    }
    return !*a && !*b;
}

/* Nodes are sorted by name. */
static bool same_machines(const struct run_info *a, const struct run_info *b)
{
    if (a->n_nodes != b->n_nodes)
        return false;
    for (size_t i = 0; i < a->n_nodes; i++) {
        const struct node_info *x = &a->nodes[i], *y = &b->nodes[i];
        if (x->cores != y->cores || x->n_gpus != y->n_gpus ||
            (x->n_gpus && strcmp(x->gpus[0].name, y->gpus[0].name) != 0))
            return false;
    }
    return true;
}

bool runspread_same_code(const struct run_info *a, const struct run_info *b)
{
    const char *x = a->git_commit, *y = b->git_commit;
    return strcmp(a->name, b->name) == 0 &&
           same_words((const char *const *)a->command, (const char *const *)b->command) &&
           (!x || !y || !*x || !*y || strcmp(x, y) == 0) && same_machines(a, b);
}

/* ---- their means ---- */

/* NAN: too few steps, or no batch sizes. */
static double runspread_mean_of(const struct jobsteps *j, bool per_sample)
{
    const size_t warmup = stepdiff_warmup(j->n);
    double seconds = 0, units = 0;
    size_t steps = 0;
    for (size_t i = warmup; i < j->n; i++) {
        if (j->warmup[i] || j->disturbed[i])
            continue;
        seconds += j->s[i];
        units += !per_sample ? 1 : j->batch ? j->batch[i] : NAN;
        steps++;
    }
    return steps >= STEPDIFF_LEAST && seconds > 0 ? seconds / units : NAN;
}

static double runspread_read_mean(const char *path, bool per_sample)
{
    struct arena a = {0};
    struct err e;
    struct run *r;
    struct rank_steps *ranks;
    size_t n;
    double mean = NAN;
    if (run_open(&r, path, &e) != 0)
        return NAN;
    if (steps_read(r, &a, &ranks, &n, &e) == 0) {
        struct jobsteps j;
        jobsteps_of(ranks, n, &a, &j);
        mean = runspread_mean_of(&j, per_sample);
    }
    run_close(r);
    arena_free(&a);
    return mean;
}

/* ---- the folder of runs ---- */

static const char *runspread_folder_of(const struct run_info *info, struct arena *a)
{
    size_t n = strlen(info->path);
    while (n > 1 && info->path[n - 1] == '/')
        n--;
    while (n > 0 && info->path[n - 1] != '/')
        n--;
    return n == 0 ? "." : arena_strndup(a, info->path, n);
}

/* Runs that were read. */
struct learnt {
    const char *ids[2 * RUNS_MOST];
    size_t n;
};

/* Other runs of the code of `of`, and of that of `also` where that is given; returns how many. */
static size_t learn_from(const struct spread_ask *ask, const struct run_info *of,
                         const struct run_info *also, struct learnt *seen, struct arena *a,
                         double means[RUNS_MOST])
{
    struct run_listed *runs;
    size_t n, found = 0;
    struct err e;
    if (run_list(runspread_folder_of(of, a), a, &runs, &n, &e) != 0)
        return 0;
    for (size_t i = 0; i < n && found < RUNS_MOST; i++) {
        struct run_info info;
        if (run_info_of(&info, &runs[i], a, &e) != 0 || info.status == RUN_RUNNING ||
            strcmp(info.id, ask->a->id) == 0 || strcmp(info.id, ask->b->id) == 0 ||
            !runspread_same_code(of, &info) || (also && !runspread_same_code(also, &info)) ||
            text_among(info.id, seen->ids, seen->n))
            continue;
        const double mean = runspread_read_mean(runs[i].path, ask->per_sample);
        if (mean > 0) {
            means[found++] = mean;
            seen->ids[seen->n++] = info.id;
        }
    }
    return found;
}

void runspread_learn(const struct spread_ask *ask, struct run_spread *out)
{
    double of_a[RUNS_MOST + 1], of_b[RUNS_MOST + 1];
    struct spread_group groups[] = {{of_a, 0}, {of_b, 0}};
    struct arena a = {0};
    struct learnt of_both = {.n = 0}, other = {.n = 0};
    if (runspread_same_code(ask->a, ask->b)) { /* A and B are left out: whether they differ is */
        groups[0].n = learn_from(ask, ask->a, ask->b, &of_both, &a, of_a); /* the question */
        groups[1].n = learn_from(ask, ask->b, ask->a, &of_both, &a, of_b);
    } else {
        groups[0].n = learn_from(ask, ask->a, NULL, &of_both, &a, of_a);
        groups[1].n = learn_from(ask, ask->b, NULL, &other, &a, of_b);
        if (ask->mean[0] > 0)
            of_a[groups[0].n++] = ask->mean[0];
        if (ask->mean[1] > 0)
            of_b[groups[1].n++] = ask->mean[1];
    }
    runspread_from(groups, COUNT_OF(groups), ask->confidence, out);
    arena_free(&a);
}
