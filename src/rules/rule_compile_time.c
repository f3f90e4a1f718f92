/* SPDX-License-Identifier: Apache-2.0 */
/* CompileTime: too much of the training loop goes into compiling graphs. Warm-up is not left out:
 * that is where most of it lies. What is compiled before the first step belongs to initialization.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "rules/per_entity.h"

enum { THRESHOLD, LEAST_S }; /* parameters */

struct compile_rank {
    struct rank_head head;
    struct time_range *v; /* in order of time; compilations that lie in each other are one */
    size_t n, cap;
};

/* ---- seeing ---- */

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

/* ---- judging ---- */

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
                share, j->p[THRESHOLD].v, judge_time(j, x->s), (unsigned long long)x->n,
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
        if (most.rank && most.s > j->p[LEAST_S].v && 100 * most.s > j->p[THRESHOLD].v * loop_s)
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
    RULE_PARAMS([THRESHOLD] = {"threshold", 10, 0, 100, PARAM_PERCENT,
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
