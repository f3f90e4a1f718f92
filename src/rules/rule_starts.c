/* SPDX-License-Identifier: Apache-2.0 */
/* rule_starts.c - rules about what has to start before steps run: MaxInitializationTime,
 * CompileTime and LoaderStart. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "query/steps.h"
#include "rules/per_entity.h"
#include "rules/step_spread.h"

/* ==== MaxInitializationTime ====
 *
 * The job ran for long before its first step. */

enum { INIT_THRESHOLD }; /* parameters */

/* Without a word of the framework nothing is known about steps either. */
struct init_state {
    bool any_event;
};

static void init_events(void *state, const struct rule_view *c, const struct rule_event *v,
                        size_t n)
{
    (void)c;
    (void)v;
    ((struct init_state *)state)->any_event |= n > 0;
}

static void init_find(const struct judge *j, struct verdict *v, wall_ns until, double took_s)
{
    const double limit_s = j->p[INIT_THRESHOLD].v * 60;
    struct finding *f = verdict_find(v, "", "");
    finding_when(v, f, &(struct time_range){j->run->job_start, until}, 1);
    if (j->run->has_steps)
        finding_say(v, f, "the first step began %s after the start of the job (threshold %s)",
                    judge_time(j, took_s), judge_time(j, limit_s));
    else
        finding_say(v, f, "no step began within %s of the start of the job (threshold %s)",
                    judge_time(j, took_s), judge_time(j, limit_s));
    f->refute =
        "the hooks cannot detect the steps of this program; mark them with footplate.step()";
    FINDING_NUMBERS(v, f, took_s, limit_s);
    finding_lost(f, took_s, judge_gpus(j));
    finding_count(v, f, 1, 1);
}

static void init_judge(const struct judge *j, struct verdict *out)
{
    const wall_ns until = j->run->has_steps ? j->run->loop_start : j->run->job_end;
    const double took_s = wall_span_s(j->run->job_start, until);
    const bool any_event =
        j->run->has_steps ||
        FIND_ANY(i, j->n_nodes, ((const struct init_state *)j->nodes[i].state)->any_event);
    out->datapoints = any_event;
    if (!any_event)
        verdict_not_evaluated(
            out, "no framework events were recorded, so the time of the first step is not known");
    else if (took_s > j->p[INIT_THRESHOLD].v * 60)
        init_find(j, out, until, took_s);
    else if (j->run->has_steps)
        verdict_why(out, "the first step began %s after the start of the job",
                    judge_time(j, took_s));
    else if (j->run->ended)
        verdict_not_evaluated(out, "the job ended after %s without a step", judge_time(j, took_s));
    else
        verdict_why(out, "no step yet, %s after the start of the job", judge_time(j, took_s));
}

const struct rule rule_max_initialization_time = {
    .name = "MaxInitializationTime",
    .title = "Initialization time",
    .description = "Checks the time from the start of the job to its first step.",
    .recommendation = "Stream or cache the data instead of copying it first. Keep container images "
                      "and compiled graphs cached.",
    RULE_PARAMS([INIT_THRESHOLD] = {"threshold", 20, 0, 100000, PARAM_MINUTES,
                                    "maximum time from the start of the job to its first step"}),
    .labels = {{"initialization", "s", "Initialization time"}, {"threshold", "s", "Threshold"}},
    .whole_job = true,
    .state_size = sizeof(struct init_state),
    .events = init_events,
    .judge = init_judge,
};

/* ==== CompileTime ====
 *
 * Too much of the training loop goes into compiling graphs. Warm-up is not left out:
 * that is where most of it lies. What is compiled before the first step belongs to initialization.
 */

enum { COMPILE_THRESHOLD, LEAST_S }; /* parameters */

struct compile_rank {
    struct rank_head head;
    struct time_range *v; /* in order of time; compilations that lie in each other are one */
    size_t n, cap;
};

static void compile_event(void *state, const struct rule_view *c, const struct rule_event *v)
{
    if (v->id != EV_COMPILE || v->worker >= 0)
        return;
    struct compile_rank *r = state_event_rank(state, c, v);
    struct time_range *last = r->n ? &r->v[r->n - 1] : NULL;
    const wall_ns end = {v->at.ns + v->dur_ns};
    if (last && v->at.ns < last->end.ns)
        last->end.ns = MAX_OF(last->end.ns, end.ns);
    else
        *VEC_ADD(r->v, r->n, r->cap) = (struct time_range){v->at, end};
}

static void compile_memory_rank(void *rank, enum state_op op)
{
    struct compile_rank *r = rank;
    STATE_VEC(op, r);
}

struct compiled {
    const struct compile_rank *rank;
    uint64_t n, again; /* compilations in the loop; those after warm-up */
    double s, again_s, longest_s;
    struct time_range *when;
};

static struct compiled compiled_by(const struct judge *j, const struct compile_rank *r)
{
    const int64_t from = j->run->loop_start.ns, to = j->run->loop_end.ns,
                  steady = MAX_OF(j->run->steady_start.ns, from);
    struct compiled x = {.rank = r, .when = arena_array(j->arena, struct time_range, r->n + 1)};
    for (size_t i = 0; i < r->n; i++) {
        const int64_t a = MAX_OF(r->v[i].start.ns, from), b = MIN_OF(r->v[i].end.ns, to);
        if (b <= a)
            continue;
        const double s = (double)(b - a) / 1e9;
        x.when[x.n++] = (struct time_range){{a}, {b}};
        x.s += s;
        x.longest_s = fmax(x.longest_s, s);
        x.again += a >= steady && steady > from;
        x.again_s += a >= steady && steady > from ? s : 0;
    }
    return x;
}

static void compile_find(const struct judge *j, struct verdict *v, const struct judged_node *node,
                         const struct compiled *x)
{
    const double share = 100 * x->s / judge_loop_s(j);
    struct finding *f = verdict_find(v, node->facts->id, rank_entity(j, x->rank));
    finding_when(v, f, x->when, (size_t)x->n);
    const char *again = x->again
                            ? arena_printf(j->arena, ", %llu of them (%s) after warm-up",
                                           (unsigned long long)x->again, judge_time(j, x->again_s))
                            : "";
    finding_say(v, f,
                "compilation took %.0f %% of the training loop (threshold %g %%), %s: %llu "
                "compilation%s, longest %s%s",
                share, j->p[COMPILE_THRESHOLD].v, judge_time(j, x->s), (unsigned long long)x->n,
                x->n == 1 ? "" : "s", judge_time(j, x->longest_s), again);
    const bool recompiles = x->again_s > x->s / 3;
    finding_advise(
        v, f,
        "%sCache compiled code between runs: set TORCHINDUCTOR_CACHE_DIR to a persistent disk and "
        "enable the FX graph cache; in JAX, set jax_compilation_cache_dir.",
        recompiles
            ? "Avoid recompilation: TORCH_LOGS=recompiles prints the reasons; pad inputs to a few "
              "shapes, or use torch.compile(dynamic=True) or torch._dynamo.mark_dynamic. "
            : "");
    f->refute = "the real run is much longer, so that compilation is a small share of it";
    FINDING_NUMBERS(v, f, (double)x->n, (double)x->again, x->s, share, x->longest_s);
    finding_lost(f, x->s, node->facts->n_gpus);
    finding_count(v, f, 1, x->n);
}

static void compile_judge(const struct judge *j, struct verdict *out)
{
    const double loop_s = judge_loop_s(j);
    double worst_s = 0;
    for (size_t i = 0; i < j->n_nodes; i++) {
        const struct node_state *t = j->nodes[i].state;
        struct compiled most = {.rank = NULL};
        for (size_t k = 0; k < t->n_ranks; k++) {
            const struct compiled x = compiled_by(j, t->ranks[k]);
            out->datapoints += x.n;
            most = x.s > most.s ? x : most;
        }
        worst_s = fmax(worst_s, most.s);
        if (most.rank && most.s > j->p[LEAST_S].v &&
            100 * most.s > j->p[COMPILE_THRESHOLD].v * loop_s)
            compile_find(j, out, &j->nodes[i], &most);
    }
    if (out->state == RULE_CLEAR && out->datapoints == 0)
        verdict_why(out, "nothing was compiled in the training loop");
    else if (out->state == RULE_CLEAR)
        verdict_why(out, "compilation took %s, %.1f %% of the training loop",
                    judge_time(j, worst_s), loop_s > 0 ? 100 * worst_s / loop_s : 0);
}

const struct rule rule_compile_time = {
    .name = "CompileTime",
    .title = "Compile time",
    .description = "Checks what share of the training loop is spent compiling graphs "
                   "(torch.compile, JAX), and whether graphs are recompiled repeatedly.",
    .recommendation = "Cache compiled code between runs and avoid recompilation.",
    RULE_PARAMS([COMPILE_THRESHOLD] = {"threshold", 10, 0, 100, PARAM_PERCENT,
                                       "maximum share of the training loop"},
                [LEAST_S] = {"least", 5, 0, 1e6, PARAM_SECONDS,
                             "a shorter total compile time is ignored"}),
    .labels = {{"compilations", "", "Compilations"},
               {"compilations_after_warmup", "", "Compilations after warm-up"},
               {"compile", "s", "Compile time"},
               {"share", "%", "Share of the training loop"},
               {"longest", "s", "Longest compilation"}},
    .needs = NEEDS_STEPS,
    RULE_STATE(struct node_state, .rank_size = sizeof(struct compile_rank), .event = compile_event,
               .memory_rank = compile_memory_rank),
    .judge = compile_judge,
};

/* ==== LoaderStart ====
 *
 * Workers of a data loader are started anew for each epoch, and the loop waits for
 * them and for their first batch. */

enum { START_THRESHOLD }; /* parameters */

/* KEPT: starts with their time, and longest waits for a batch, of a rank. */
enum { STARTS_LEAST = 2, KEPT = 2048 };

/* A step that begins so soon after a start waits for the first batch. */
static const int64_t SOON_NS = NS_PER_S / 10;

struct start_rank {
    struct rank_head head;
    uint64_t starts;
    int64_t start_ns;
    struct time_range *v; /* in order of time */
    size_t n, cap;
    uint64_t steps;
    int64_t wait_ns;
    struct longest waits;
};

struct start_state {
    struct node_state head;
    int64_t most_workers;
    bool persistent; /* all loaders that reported it */
    uint64_t reported;
};

static void start_event(void *state, const struct rule_view *c, const struct rule_event *v)
{
    struct start_state *t = state;
    if (v->id == EV_LOADER_WORKERS)
        t->most_workers = MAX_OF(t->most_workers, v->value);
    if (v->id == EV_LOADER_PERSISTENT)
        t->persistent = (t->reported++ == 0 || t->persistent) && v->value != 0;
    if (v->id != EV_LOADER_START || v->worker >= 0 || v->at.ns < c->from.ns)
        return;
    struct start_rank *r = state_event_rank(state, c, v);
    r->starts++;
    r->start_ns += v->dur_ns;
    if (r->n < KEPT)
        *VEC_ADD(r->v, r->n, r->cap) = (struct time_range){v->at, {v->at.ns + v->dur_ns}};
}

static void start_steps(void *state, const struct rule_view *c, const struct rule_rank *r,
                        const struct step *v, size_t n)
{
    struct start_rank *own = state_rank(state, c, r);
    const size_t data = step_part_of(EV_DATA);
    for (size_t i = 0; i < n; i++)
        if (step_is_steady(&v[i])) {
            own->steps++;
            own->wait_ns += v[i].part_ns[data];
            longest_add(&own->waits, KEPT, &v[i], v[i].part_ns[data]);
        }
}

static void start_memory_rank(void *rank, enum state_op op)
{
    struct start_rank *r = rank;
    STATE_VEC(op, r);
    longest_memory(&r->waits, op);
}

/* What the first batches took longer than others, seconds. */
static double first_waits(const struct judge *j, const struct start_rank *r)
{
    const double usual_ns = (double)r->wait_ns / (double)MAX_OF(r->steps, (uint64_t)1);
    double sum_ns = 0;
    size_t n, k = 0;
    if (r->n == 0)
        return 0;
    const struct long_step *w = longest_over(&r->waits, usual_ns, j->arena, &n);
    for (size_t i = 0; i < r->n; i++) {
        while (k < n && w[k].start_ns < r->v[i].start.ns)
            k++;
        if (k < n && w[k].start_ns <= r->v[i].end.ns + SOON_NS)
            sum_ns += (double)w[k++].dur_ns - usual_ns;
    }
    return sum_ns / 1e9;
}

static double start_s(const struct judge *j, const struct start_rank *r)
{
    return ns_to_s(r->start_ns) + first_waits(j, r);
}

static void start_find(const struct judge *j, struct verdict *v, const struct judged_node *node,
                       const struct start_rank *r)
{
    const struct start_state *t = node->state;
    const double s = start_s(j, r), share = 100 * s / judge_counted_s(j);
    struct finding *f = verdict_find(v, node->facts->id, rank_entity(j, r));
    finding_when(v, f, r->v, r->n);
    finding_say(v, f,
                "%llu starts of data loaders, with the wait for the first batch, took %s, %.1f %% "
                "of the training loop (threshold %g %%); average %s",
                (unsigned long long)r->starts, judge_time(j, s), share, j->p[START_THRESHOLD].v,
                judge_time(j, s / (double)r->starts));
    if (t->reported)
        finding_advise(v, f, "Set persistent_workers=True to keep the %lld workers between epochs.",
                       (long long)t->most_workers);
    f->refute = "the real run has longer epochs, so that starts are a small share of it";
    FINDING_NUMBERS(v, f, (double)r->starts, s, share, s / (double)r->starts);
    finding_lost(f, s, node->facts->n_gpus);
    finding_count(v, f, 1, r->starts);
}

/* Loaders without workers start nothing, and those with persistent workers only once. */
static bool starts_workers(const struct start_state *t)
{
    return t->reported == 0 || (t->most_workers > 0 && !t->persistent);
}

static void start_judge(const struct judge *j, struct verdict *out)
{
    const double loop_s = judge_counted_s(j);
    double worst_s = 0;
    for (size_t i = 0; i < j->n_nodes; i++) {
        const struct start_state *t = j->nodes[i].state;
        const struct start_rank *most = NULL;
        for (size_t k = 0; k < t->head.n_ranks; k++) {
            const struct start_rank *r = t->head.ranks[k];
            out->datapoints += r->starts;
            most = !most || start_s(j, r) > start_s(j, most) ? r : most;
        }
        const double s = most ? start_s(j, most) : 0;
        worst_s = fmax(worst_s, s);
        if (most && most->starts >= STARTS_LEAST && starts_workers(t) && judge_is_much(j, s) &&
            100 * s > j->p[START_THRESHOLD].v * loop_s && !(node_gpu_use(t) > GPU_BUSY))
            start_find(j, out, &j->nodes[i], most);
    }
    if (out->state == RULE_CLEAR && out->datapoints == 0)
        verdict_why(out, "no data loader was started in the training loop");
    else if (out->state == RULE_CLEAR)
        verdict_why(out, "starts of data loaders took %s, %.1f %% of the training loop",
                    judge_time(j, worst_s), loop_s > 0 ? 100 * worst_s / loop_s : 0);
}

const struct rule rule_loader_start = {
    .name = "LoaderStart",
    .title = "Loader start time",
    .description = "Checks what share of the training loop is spent starting data loaders anew "
                   "(usually each epoch) and waiting for their first batch.",
    .recommendation = "Keep the workers or the iterator of the data loader between epochs.",
    RULE_PARAMS([START_THRESHOLD] = {"threshold", 5, 0, 100, PARAM_PERCENT,
                                     "maximum share of the training loop"}),
    .labels = {{"starts", "", "Starts of loaders"},
               {"start", "s", "Time of starts and first batches"},
               {"share", "%", "Share of the training loop"},
               {"mean", "s", "Mean time per start"}},
    .needs = NEEDS_STEPS,
    RULE_STATE(struct start_state, KEEPS_BUSY_GPUS, .rank_size = sizeof(struct start_rank),
               .event = start_event, .memory_rank = start_memory_rank),
    .steps = start_steps,
    .judge = start_judge,
};
