/* SPDX-License-Identifier: Apache-2.0 */
/* Dataloader: the training loop waits for its data, or too many processes make it.
 *
 * How long the loop waits is known, so the number of loader processes is judged by it: few of them
 * are an issue only when the loop waits, or when it is not known whether it does. A GPU that
 * is busy all the time does not wait for data, whatever the host does meanwhile. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "query/steps.h"
#include "rules/per_entity.h"
#include "rules/seconds.h"
#include "rules/windows.h"

enum { MIN_SHARE, MAX_SHARE, WAIT }; /* parameters */

enum { STEPS_LEAST = 10, READINGS_LEAST = 10, PIDS_MOST = 1024 };

/* Settings of the loaders: the smallest and largest value. */
enum { F_WORKERS, F_PREFETCH, F_PIN, F_PERSISTENT, F_MEMORY, F_OF, FACT_N };

static const enum event_id fact_ids[FACT_N] = {
    [F_WORKERS] = EV_LOADER_WORKERS, [F_PREFETCH] = EV_LOADER_PREFETCH,
    [F_PIN] = EV_LOADER_PIN,         [F_PERSISTENT] = EV_LOADER_PERSISTENT,
    [F_MEMORY] = EV_LOADER_MEMORY,   [F_OF] = EV_LOADER_OF,
};

/* Values of EV_LOADER_OF. */
enum { OF_PROGRAM, OF_TRAINER, OF_ARRAYS, OF_PY_DATASET, OF_GENERATOR, OF_TF_DATA, OF_N };

/* A batch that is made faster is not worth handing over from another process: the queue and the
 * shared memory cost about as much (0.22 s became 0.80 s with two workers for a TensorDataset). */
static const double HAND_OVER_S = 0.002;
/* Workers that use less than this share of a core while they make a batch wait for something. On a
 * node without a free core they may lack CPU time, so only much less counts. */
static const double WAITS_BELOW = 0.5, WAITS_BELOW_FULL = 0.2, NODE_FULL = 90;
/* Workers for each core when they wait instead of computing. */
static const double WAITING_PER_CORE = 4;
/* Workers that make batches for less than this share of the time are idle. */
static const double IDLE_BELOW = 0.25;
/* More workers that save less than this share of an iteration are no advice. */
static const double WORTH_IT = 0.1;

struct fact {
    uint64_t n;
    int64_t lo, hi;
};

struct loader_rank {
    struct rank_head head;
    uint64_t steps;
    int64_t step_ns, wait_ns; /* of training iterations */
    bool saw_data;            /* any waiting was recorded at all */
    struct episodes when;
    struct counted ran, delay; /* CPU time of the loop's thread, and its waits for a core */
};

struct loader_state {
    struct node_state head;
    struct fact facts[FACT_N];
    uint64_t starts, reads,
        empty; /* loaders begun; readings of the queue, of them with nothing ready */
    uint64_t fetches;
    int64_t fetch_ns;
    struct at_once at_once;
    uint64_t readings;         /* of both of: */
    int64_t job_cpu, node_cpu; /* sums, tenths of a percent of a core, and of the node */
    uint32_t *pids;            /* of workers, sorted */
    size_t n_pids;
};

/* ---- seeing ---- */

/* Of an iteration, or of the step where it has no end. */
static int64_t length_of(const struct step *s)
{
    return MAX_OF(step_iteration_ns(s), s->dur_ns);
}

static void loader_steps(void *state, const struct rule_view *c, const struct rule_rank *r,
                         const struct step *v, size_t n)
{
    struct loader_rank *own = state_rank(state, c, r);
    const size_t data = step_part_of(EV_DATA);
    for (size_t i = 0; i < n; i++) {
        if (v[i].mode != MODE_TRAIN || !step_is_steady(&v[i]))
            continue;
        own->steps++;
        own->step_ns += length_of(&v[i]);
        own->wait_ns += v[i].part_ns[data];
        own->saw_data |= v[i].part_ns[data] > 0;
        if ((double)v[i].part_ns[data] * 100 > c->p[WAIT].v * (double)length_of(&v[i]))
            episodes_add(&own->when, v[i].start, length_of(&v[i]));
    }
}

static void loader_sweeps(void *state, const struct rule_view *c, const struct sweeps *s)
{
    struct loader_state *t = state;
    const float *job = s->v[SIG_JOB_CPU], *node = s->v[SIG_CPU];
    (void)c;
    for (size_t i = 0; job && node && i < s->n; i++)
        if (!isnan(job[i]) && !isnan(node[i])) {
            t->readings++;
            t->job_cpu += llround((double)job[i] * 10);
            t->node_cpu += llround((double)node[i] * 10);
        }
}

static void see_pid(struct loader_state *t, uint32_t pid)
{
    const size_t i = FIND_FIRST(k, t->n_pids, t->pids[k] >= pid);
    if ((i < t->n_pids && t->pids[i] == pid) || t->n_pids == PIDS_MOST)
        return;
    t->pids = xrealloc(t->pids, t->n_pids + 1, sizeof *t->pids);
    memmove(&t->pids[i + 1], &t->pids[i], (t->n_pids - i) * sizeof *t->pids);
    t->pids[i] = pid;
    t->n_pids++;
}

static void loader_event(void *state, const struct rule_view *c, const struct rule_event *v)
{
    struct loader_state *t = state;
    if (v->worker < 0 && (v->id == EV_CPU_THREAD || v->id == EV_CPU_DELAY)) {
        struct loader_rank *r = state_event_rank(state, c, v);
        counted_see(v->id == EV_CPU_THREAD ? &r->ran : &r->delay, c->from, v);
        return;
    }
    for (size_t k = 0; k < FACT_N; k++)
        if (v->id == fact_ids[k]) {
            struct fact *f = &t->facts[k];
            f->lo = f->n ? MIN_OF(f->lo, v->value) : v->value;
            f->hi = f->n++ ? MAX_OF(f->hi, v->value) : v->value;
        }
    t->starts += v->id == EV_LOADER_START;
    t->reads += v->id == EV_LOADER_QUEUE;
    t->empty += v->id == EV_LOADER_QUEUE && v->value == 0;
    if (v->id != EV_FETCH)
        return;
    t->fetches++;
    t->fetch_ns += v->dur_ns;
    at_once_add(&t->at_once, v->at, v->dur_ns);
    see_pid(t, v->pid);
}

static void loader_memory_rank(void *rank, enum state_op op)
{
    episodes_memory(&((struct loader_rank *)rank)->when, op);
}

static void loader_memory(void *state, enum state_op op)
{
    struct loader_state *t = state;
    at_once_memory(&t->at_once, op);
    state_memory(op, &t->pids, t->n_pids * sizeof *t->pids);
}

/* ---- judging ---- */

/* What is known of the loading of a node. */
struct loader_seen {
    const struct judged_node *node;
    const struct loader_state *t;
    const struct loader_rank *worst; /* of its ranks; NULL: none has steps enough */
    double wait;                     /* its share of iterations; NAN: not recorded */
    double step_s;                   /* mean iteration */
    double gpu;     /* mean utilization of the GPUs in use, percent; NAN: none known */
    double at_once; /* NAN: no fetches were recorded */
    double cores;   /* 0: not known */
    double fetch_s; /* that a batch takes to make */
    double job_cpu; /* cores that the job used, mean; NAN: not recorded */
    bool waits;     /* what makes batches mostly waits: for storage, the network, a timer */
};

static double wait_of(const struct loader_rank *r)
{
    return r->saw_data && r->step_ns > 0 ? (double)r->wait_ns / (double)r->step_ns : NAN;
}

/* The workers of the loader that the loop waits for. A loader without workers beside one with them
 * is that of an evaluation: workers were seen at work. */
static double workers_now(const struct loader_state *t)
{
    const struct fact *w = &t->facts[F_WORKERS];
    return w->n ? (double)(t->fetches ? w->hi : w->lo) : 0;
}

static int loader_of(const struct loader_state *t)
{
    const struct fact *f = &t->facts[F_OF];
    return f->n && f->hi > 0 && f->hi < OF_N ? (int)f->hi : OF_PROGRAM;
}

/* Slots of at_once are ten seconds, too coarse for the beginning of a run. */
static double active_workers(const struct judge *j, const struct loader_state *t)
{
    const double loop_s = judge_loop_s(j);
    if (t->fetches && loop_s > 0 && loop_s < 6 * AT_ONCE_PIECE_S)
        return ns_to_s(t->fetch_ns) / loop_s;
    if (t->fetches)
        return at_once_median(&t->at_once);
    return t->facts[F_WORKERS].n && t->facts[F_WORKERS].hi == 0 ? 0 : NAN;
}

/* No core was free. */
static bool is_full(const struct loader_state *t)
{
    return t->readings && (double)t->node_cpu / (double)t->readings / 10 > NODE_FULL;
}

/* Whether the loop makes its batches itself and sleeps while it does: for most of the wait, even if
 * it slept in all of the time that is no wait, for a GPU or other ranks. Spinning threads of the
 * step, which look busy to making_waits, do not matter. Loaders of Keras are left out: they make
 * batches in threads of their own, for which the loop sleeps. */
static bool loop_sleeps(const struct judge *j, const struct loader_seen *x)
{
    const struct loader_state *t = x->t;
    const struct loader_rank *r = x->worst;
    if (!r || t->fetches || !t->facts[F_WORKERS].n || workers_now(t) > 0 ||
        loader_of(t) >= OF_ARRAYS)
        return false;
    const double waited = ns_to_s(r->wait_ns) / judge_counted_s(j);
    const double runs = counted_per_s(&r->ran, j->run->loop_end) / 1e9,
                 delayed = counted_per_s(&r->delay, j->run->loop_end) / 1e9;
    return (1 - runs - delayed) - (1 - waited) > WAITS_BELOW * waited; /* false if one is NAN */
}

/* Whether batches are waited for by what makes them, too: far less CPU time was used than the
 * making took. The whole job's CPU time is the most that the workers can have used. */
static bool making_waits(const struct loader_seen *x)
{
    const struct loader_state *t = x->t;
    const double busy = t->fetches ? x->at_once : x->wait * (double)t->head.n_ranks;
    if (t->readings < READINGS_LEAST || !(busy > 0))
        return false;
    return x->job_cpu < (is_full(t) ? WAITS_BELOW_FULL : WAITS_BELOW) * busy;
}

static double making_s(const struct loader_seen *x)
{
    const double now = workers_now(x->t);
    return x->t->fetches ? (double)x->t->fetch_ns / (double)x->t->fetches / 1e9
           : now > 0     ? now * x->step_s
                         : x->step_s * x->wait;
}

static struct loader_seen loader_look(const struct judge *j, const struct judged_node *node)
{
    const struct loader_state *t = node->state;
    struct loader_seen x = {.node = node, .t = t, .wait = NAN, .step_s = NAN};
    x.gpu = node_gpu_use(t);
    for (size_t i = 0; i < t->head.n_ranks; i++) {
        const struct loader_rank *r = t->head.ranks[i];
        if (r->steps < STEPS_LEAST || (x.worst && !(wait_of(r) > x.wait)))
            continue;
        x.worst = r;
        x.wait = wait_of(r);
        x.step_s = (double)r->step_ns / (double)r->steps / 1e9;
    }
    x.at_once = active_workers(j, t);
    x.cores = node->facts->cores;
    x.fetch_s = making_s(&x);
    x.job_cpu = t->readings ? (double)t->job_cpu / (double)t->readings / 1e3 : NAN;
    x.waits = making_waits(&x) || loop_sleeps(j, &x);
    return x;
}

/* Workers for each rank, so that a batch is ready when it is needed: what one batch costs to
 * make over what a step takes without waiting, and twice that, because fetches are not all alike.
 * At most as many as there are cores for each rank, or several times that if they do not compute.
 */
static int workers_for(const struct loader_seen *x)
{
    const struct loader_state *t = x->t;
    const double ranks = (double)MAX_OF(t->head.n_ranks, (size_t)1);
    const double work_s = x->step_s * (1 - (isnan(x->wait) ? 0 : x->wait));
    const double cores = x->cores * (x->waits ? WAITING_PER_CORE : 1);
    const double most = x->cores > 0 ? fmax(floor(cores / ranks), 1) : 64;
    /* What there is now is not enough by the share that is waited for. */
    const double more = isnan(x->wait) || x->wait >= 1 ? 0 : workers_now(t) / (1 - x->wait);
    const double want = work_s > 0 ? ceil(2 * fmax(x->fetch_s / work_s, more) - 1e-6) : most;
    return (int)fmin(fmax(want, fmin(2, most)), most);
}

/* How long an iteration will take with so many workers: not less than a step without waiting, than
 * the making of a batch shared among the workers, and than all CPU time on all cores. Threads that
 * spin for work look busy, so the CPU time of the job is weak evidence: making a batch takes one
 * core, the step itself at most all, and none to speak of where a GPU does it. */
static double expected_s(const struct loader_seen *x, int workers)
{
    const double ranks = (double)MAX_OF(x->t->head.n_ranks, (size_t)1);
    const double work_s = x->step_s * (1 - x->wait), each_s = x->fetch_s / workers;
    const double used = x->node->facts->n_gpus ? 0 : fmin(x->job_cpu / x->cores, 1);
    const double cpu_s =
        x->cores > 0 && !x->waits ? x->fetch_s * ranks / x->cores + work_s * used : NAN;
    return fmin(fmax(fmax(work_s, each_s), cpu_s), x->step_s);
}

/* "num_workers is 2 on 16 cores", as far as it is known. */
static const char *loaders_text(const struct judge *j, const struct loader_seen *x)
{
    const struct fact *w = &x->t->facts[F_WORKERS];
    const char *text = "";
    if (loader_of(x->t) >= OF_ARRAYS) /* Keras has its own loader around it */
        return text;
    if (w->n && w->lo != w->hi)
        text = arena_printf(j->arena, "num_workers is %lld to %lld", (long long)w->lo,
                            (long long)w->hi);
    else if (w->n)
        text = arena_printf(j->arena, "num_workers is %lld", (long long)w->lo);
    else if (x->t->n_pids)
        text = arena_printf(j->arena, "%zu loader workers were seen", x->t->n_pids);
    if (*text && x->cores > 0)
        text = arena_printf(j->arena, "%s on %.0f cores", text, x->cores);
    if (*text && x->t->fetches)
        text = arena_printf(j->arena, "%s, %.1f active on average", text, x->at_once);
    return text;
}

/* What makes the batches, and so what can be changed. */
static const char *advise_keras(const struct judge *j, const struct loader_seen *x, int want)
{
    const char *processes = x->waits ? "" : " and use_multiprocessing=True";
    switch (loader_of(x->t)) {
    case OF_ARRAYS:
        return "The arrays are in memory: use a larger batch_size, or steps_per_execution.";
    case OF_PY_DATASET:
        return arena_printf(j->arena, "Give the PyDataset workers=%d%s.", want, processes);
    case OF_GENERATOR:
        return arena_printf(j->arena,
                            "A generator makes one batch at a time. Write it as a "
                            "keras.utils.PyDataset with workers=%d%s, or as a tf.data pipeline "
                            "with map(num_parallel_calls=AUTOTUNE) and prefetch(AUTOTUNE).",
                            want, processes);
    default:
        return "Use map(num_parallel_calls=tf.data.AUTOTUNE), cache() and "
               "prefetch(tf.data.AUTOTUNE) in the tf.data pipeline.";
    }
}

/* How long a batch takes to make. The loop itself may take longer on a full node, because others
 * have its core: that time does not count. What it sleeps may all be waits for the data. */
static double making_alone_s(const struct judge *j, const struct loader_seen *x)
{
    const struct loader_rank *r = x->worst;
    const double ran = counted_per_s(&r->ran, j->run->loop_end) / 1e9,
                 delay = counted_per_s(&r->delay, j->run->loop_end) / 1e9;
    if (x->t->fetches || workers_now(x->t) > 0 || !is_full(x->t) || !(ran > 0 && delay > 0))
        return x->fetch_s;
    const double sleeps_s = fmin(fmax(1 - ran - delay, 0) * x->step_s, x->fetch_s);
    return sleeps_s + (x->fetch_s - sleeps_s) * ran / (ran + delay);
}

/* Samples are cheap: workers would cost more than they save. */
static const char *advise_cheap(const struct judge *j, const struct loader_seen *x)
{
    const struct loader_state *t = x->t;
    const bool in_memory = t->facts[F_MEMORY].n && t->facts[F_MEMORY].hi == 1;
    const double alone_s = making_alone_s(j, x);
    return arena_printf(
        j->arena,
        "%s%s%s: use larger batches, or take whole batches as slices of a tensor "
        "(x[i:i+n]) instead of collating samples. %s",
        in_memory ? "The data is in memory, and a batch takes only " : "A batch takes only ",
        judge_time(j, alone_s), alone_s < x->fetch_s ? " of CPU time" : "",
        workers_now(t) > 0 ? "Set num_workers to 0: handing batches over costs more."
                           : "Loader workers would cost more than they save.");
}

static const char *advise_workers(const struct judge *j, const struct loader_seen *x, int want)
{
    const char *name = loader_of(x->t) == OF_TRAINER ? "dataloader_num_workers (TrainingArguments)"
                                                     : "num_workers";
    const double then_s = expected_s(x, want);
    const char *gain =
        isnan(then_s)
            ? ""
            : arena_printf(j->arena, " Expected: about %s per iteration%s.", judge_time(j, then_s),
                           is_full(x->t) ? " if the job has the node to itself" : "");
    return arena_printf(j->arena, "Set %s to %d%s.%s", name, want,
                        x->waits ? "; workers that wait for storage, a network or a timer need no "
                                   "core of their own"
                                 : "",
                        gain);
}

static bool workers_are_idle(const struct loader_seen *x)
{
    const double ranks = (double)MAX_OF(x->t->head.n_ranks, (size_t)1);
    return x->t->fetches && x->at_once < IDLE_BELOW * workers_now(x->t) * ranks;
}

/* The first sentence; `then_s`: what an iteration is expected to take, NAN: not known. */
static const char *advise_first(const struct judge *j, const struct loader_seen *x, double *then_s)
{
    const struct loader_state *t = x->t;
    const int want = workers_for(x), of = loader_of(t);
    const bool known = t->facts[F_WORKERS].n > 0, more = want > workers_now(t),
               gains = !(expected_s(x, want) > (1 - WORTH_IT) * x->step_s);
    *then_s = NAN;
    if (of >= OF_ARRAYS)
        return advise_keras(j, x, want);
    if (known && making_alone_s(j, x) < HAND_OVER_S)
        return advise_cheap(j, x);
    if (known && workers_are_idle(x))
        return "The workers are idle most of the time: the loop waits for their start, or for "
               "batches to be handed over. Make batches larger, or set num_workers to 0 if the "
               "data is in memory.";
    if (known && more && gains) {
        *then_s = expected_s(x, want);
        return advise_workers(j, x, want);
    }
    if (known && more)
        return "All cores are in use, so more workers hardly help: make batches cheaper to "
               "prepare, "
               "prepare them in advance, or use a machine with more cores.";
    if ((known || t->fetches) && x->waits)
        return "Workers mostly wait: read from faster or nearer storage, or in larger parts.";
    if ((known || t->fetches) && t->readings < READINGS_LEAST)
        return "There are already as many workers as cores. If they compute, make batches cheaper "
               "to prepare; if they wait for storage or a network, more workers than cores help.";
    if (known || t->fetches)
        return "There are already as many workers as cores: make batches cheaper to prepare, or "
               "use a machine with more cores.";
    return "Make batches cheaper to prepare, or prepare them in advance.";
}

static double advise_waiting(const struct judge *j, struct verdict *v, struct finding *f,
                             const struct loader_seen *x)
{
    const struct loader_state *t = x->t;
    const bool workers = t->facts[F_WORKERS].n && t->facts[F_WORKERS].hi > 0;
    double then_s;
    const char *first = advise_first(j, x, &then_s);
    const bool pin = t->facts[F_PIN].n && t->facts[F_PIN].lo == 0 && x->node->facts->n_gpus > 0;
    const bool ahead = workers && t->facts[F_PREFETCH].n && t->facts[F_PREFETCH].lo < 2;
    const bool again =
        workers && t->starts > 1 && t->facts[F_PERSISTENT].n && t->facts[F_PERSISTENT].lo == 0;
    finding_advise(v, f, "%s%s%s%s", first, pin ? " Enable pin_memory." : "",
                   ahead ? " Set prefetch_factor to 2 or more." : "",
                   again ? " Set persistent_workers=True to keep workers between epochs." : "");
    return then_s;
}

static void size_waiting(struct finding *f, const struct loader_seen *x)
{
    double all = 0;
    for (size_t i = 0; i < x->t->head.n_ranks; i++)
        all += (double)((const struct loader_rank *)x->t->head.ranks[i])->wait_ns / 1e9;
    f->lost_s = (double)x->worst->wait_ns / 1e9;
    f->lost_gpu_s = x->node->facts->n_gpus ? all : NAN;
}

static void loader_add_numbers(struct verdict *v, struct finding *f, const struct loader_seen *x,
                               double then_s)
{
    const struct loader_state *t = x->t;
    FINDING_NUMBERS(v, f, x->wait * 100, x->step_s, x->gpu, x->at_once,
                    x->cores > 0 ? x->cores : NAN,
                    t->facts[F_WORKERS].n ? (double)t->facts[F_WORKERS].lo : NAN,
                    t->fetches ? (double)t->fetch_ns / (double)t->fetches / 1e9 : NAN,
                    t->reads ? 100 * (double)t->empty / (double)t->reads : NUMBER_ABSENT,
                    isnan(then_s) ? NUMBER_ABSENT : then_s);
}

static void find_waiting(const struct judge *j, struct verdict *v, const struct loader_seen *x)
{
    const char *loaders = loaders_text(j, x);
    struct finding *f = verdict_find(v, x->node->facts->id, rank_entity(j, x->worst));
    finding_in(v, f, &x->worst->when);
    finding_say(v, f, "loader wait was %.0f %% of the iteration (threshold %g %%), %s of %s%s%s",
                x->wait * 100, j->p[WAIT].v, judge_time(j, x->wait * x->step_s),
                judge_time(j, x->step_s), *loaders ? "; " : "", loaders);
    const double then_s = advise_waiting(j, v, f, x);
    f->refute = "the first batch of each epoch accounts for nearly all of the wait";
    loader_add_numbers(v, f, x, then_s);
    size_waiting(f, x);
}

static void find_count(const struct judge *j, struct verdict *v, const struct loader_seen *x,
                       bool many)
{
    struct finding *f = verdict_find(v, x->node->facts->id, "");
    finding_when(v, f, &(struct time_range){judge_loop_start(j), j->run->loop_end}, 1);
    finding_say(v, f,
                "%.1f loader workers were active on average, %.0f %% of %.0f cores (%s %g %%)",
                x->at_once, 100 * x->at_once / x->cores, x->cores, many ? "maximum" : "minimum",
                many ? j->p[MAX_SHARE].v : j->p[MIN_SHARE].v);
    const double each = fmax(floor(x->cores / (double)MAX_OF(x->t->head.n_ranks, (size_t)1)), 1);
    finding_advise(v, f,
                   many ? "Set num_workers to %.0f; there are no cores for more workers."
                        : "Set num_workers to %.0f if the loop waits for data.",
                   each);
    loader_add_numbers(v, f, x, NAN);
}

static void loader_judge_node(const struct judge *j, const struct loader_seen *x,
                              struct verdict *out)
{
    const bool many = x->cores > 0 && x->at_once * 100 > j->p[MAX_SHARE].v * x->cores,
               few = x->cores > 0 && x->at_once * 100 < j->p[MIN_SHARE].v * x->cores,
               busy = x->gpu > GPU_BUSY;
    if (!x->worst)
        return;
    if (x->wait * 100 > j->p[WAIT].v && !busy)
        find_waiting(j, out, x);
    else if (many || (isnan(x->wait) && few && !busy))
        find_count(j, out, x, many);
    else
        return;
    finding_count(out, &out->findings[out->n_findings - 1], 1, MAX_OF(x->worst->when.n, 1u));
}

static void plot_waits(const struct judge *j, struct verdict *out)
{
    struct plot *p = verdict_plot(out, PLOT_BARS, "Loader wait, share of training iterations", "%");
    const struct loader_rank *r;
    for (struct entity_at at = {0}; (r = next_rank(j, &at));) {
        const double share = wait_of(r) * 100;
        if (!isnan(share))
            plot_row(out, p, rank_entity(j, r), &share, 1);
    }
}

static void loader_judge(const struct judge *j, struct verdict *out)
{
    double worst = NAN, busiest = NAN;
    bool known = false;
    for (size_t i = 0; i < j->n_nodes; i++) {
        const struct loader_seen x = loader_look(j, &j->nodes[i]);
        busiest = fmax(busiest, x.gpu);
        for (size_t k = 0; k < x.t->head.n_ranks; k++)
            out->datapoints += ((const struct loader_rank *)x.t->head.ranks[k])->steps;
        known |= x.worst && (!isnan(x.wait) || (!isnan(x.at_once) && x.cores > 0));
        worst = fmax(worst, x.wait);
        loader_judge_node(j, &x, out);
    }
    if (!known) {
        verdict_not_evaluated(out, out->datapoints < STEPS_LEAST
                                       ? "needs 10 training steps per rank"
                                       : "no supported data loader was detected");
        return;
    }
    plot_waits(j, out);
    if (out->state != RULE_CLEAR)
        return;
    if (worst * 100 > j->p[WAIT].v)
        verdict_why(out, "loader wait was %.1f %% of the iteration, but the GPUs were %.0f %% busy",
                    worst * 100, busiest);
    else if (!isnan(worst))
        verdict_why(out, "loader wait was %.1f %% of the iteration", worst * 100);
}

const struct rule rule_dataloader = {
    .name = "Dataloader",
    .title = "Data loading",
    .part = "data",
    .description = "Checks what share of a training iteration is spent waiting for data, and "
                   "whether the number of loader workers suits the machine.",
    .recommendation =
        "Use more loader workers, prefetch batches, pin memory, and keep workers between epochs.",
    RULE_PARAMS([MIN_SHARE] = {"min_threshold", 70, 0, 1000, PARAM_PERCENT,
                               "warn if active workers / cores is below this"},
                [MAX_SHARE] = {"max_threshold", 200, 1, 10000, PARAM_PERCENT,
                               "warn if active workers / cores is above this"},
                [WAIT] = {"wait_threshold", 20, 0, 100, PARAM_PERCENT,
                          "maximum share of an iteration spent waiting for data"}),
    .labels = {{"wait_share", "%", "Loader wait, share of iteration"},
               {"step", "s", "Iteration time"},
               {"gpu_mean", "%", "GPU utilization, mean"},
               {"at_once", "", "Active workers, average"},
               {"cores", "", "CPU cores"},
               {"num_workers", "", "Loader workers (num_workers)"},
               {"fetch", "s", "Time to load a batch"},
               {"queue_empty", "%", "Batch queue found empty"},
               {"expected_step", "s", "Iteration time expected with the advice"}},
    .needs = NEEDS_STEPS,
    .explained_by = (const char *const[]){"IOBottleneck", "SlowStorage", "GilContention", NULL},
    RULE_STATE(struct loader_state, KEEPS_BUSY_GPUS, .rank_size = sizeof(struct loader_rank),
               .sweeps = loader_sweeps, .memory_rank = loader_memory_rank, .event = loader_event,
               .memory_own = loader_memory),
    .steps = loader_steps,
    .judge = loader_judge,
};
