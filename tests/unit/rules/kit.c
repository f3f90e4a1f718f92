/* SPDX-License-Identifier: Apache-2.0 */
/* kit.c - see kit.h. */
#include "kit.h"

#include "base/buf.h"
#include "base/mem.h"

#define START_NS  (INT64_C(1700000000) * NS_PER_S)
#define PERIOD_NS (500 * NS_PER_MS)

static struct arena life; /* of the test: each has a process of its own */

static const char *const gpu_names[KIT_GPUS] = {"gpu0", "gpu1", "gpu2", "gpu3"};

unsigned kit_noise(size_t i, unsigned below)
{
    uint64_t x = (uint64_t)i + UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (unsigned)((x ^ (x >> 31)) % below);
}

/* ---- columns ---- */

struct film {
    const struct kit_node *node;
    size_t n; /* sweeps that were made */
    int64_t period_ns;
    wall_ns *at;
    float *v[NODE_SIGNAL_N];
    float *gpu[KIT_GPUS][GPU_SIGNAL_N];
};

static void fill_nan(struct moment *m)
{
    for (size_t k = 0; k < NODE_SIGNAL_N; k++)
        m->v[k] = NAN;
    for (size_t g = 0; g < KIT_GPUS; g++)
        for (size_t k = 0; k < GPU_SIGNAL_N; k++)
            m->gpu[g][k] = NAN;
}

static void film_put(struct film *f, int64_t at_ns, const struct moment *m)
{
    f->at[f->n].ns = at_ns;
    for (size_t k = 0; k < NODE_SIGNAL_N; k++)
        f->v[k][f->n] = m->v[k];
    for (size_t g = 0; g < f->node->gpus; g++)
        for (size_t k = 0; k < GPU_SIGNAL_N; k++)
            f->gpu[g][k][f->n] = m->gpu[g][k];
    f->n++;
}

static struct film film_of(const struct kit_node *n, struct arena *a)
{
    struct film f = {.node = n, .period_ns = n->period_ns ? n->period_ns : PERIOD_NS};
    f.at = arena_array(a, wall_ns, MAX_OF(n->sweeps, 1));
    for (size_t k = 0; k < NODE_SIGNAL_N; k++)
        f.v[k] = arena_array(a, float, MAX_OF(n->sweeps, 1));
    for (size_t g = 0; g < n->gpus; g++)
        for (size_t k = 0; k < GPU_SIGNAL_N; k++)
            f.gpu[g][k] = arena_array(a, float, MAX_OF(n->sweeps, 1));
    for (size_t i = 0; i < n->sweeps; i++) {
        struct moment m = {.skip = false};
        fill_nan(&m);
        n->course(i, &m);
        if (!m.skip)
            film_put(&f, START_NS + (int64_t)i * f.period_ns, &m);
    }
    return f;
}

static void feed(struct engine *g, size_t node, const struct film *f, size_t from, size_t to)
{
    struct gpu_sweeps gpus[KIT_GPUS];
    struct sweeps s = {.n = to - from,
                       .at = f->at + from,
                       .period_ns = f->period_ns,
                       .gpus = gpus,
                       .n_gpus = f->node->gpus};
    for (size_t k = 0; k < NODE_SIGNAL_N; k++)
        s.v[k] = f->v[k] + from;
    for (size_t i = 0; i < f->node->gpus; i++) {
        gpus[i].entity = gpu_names[i];
        for (size_t k = 0; k < GPU_SIGNAL_N; k++)
            gpus[i].v[k] = f->gpu[i][k] + from;
    }
    engine_sweeps(g, node, &s);
}

/* ---- engines ---- */

struct show {
    const struct kit *k;
    struct film *films;
    struct rule_params params;
    wall_ns end;
    size_t dice;
};

static size_t throw(struct show * s, size_t below)
{
    return kit_noise(++s->dice, (unsigned)MAX_OF(below, 1));
}

/* Pieces of 1 to 1/8 of all, small ones more often. */
static void feed_pieces(struct show *s, struct engine *g, size_t node, const struct film *f,
                        size_t from, size_t to)
{
    while (from < to) {
        const size_t most = throw(s, 2) ? 8 : f->n / 8 + 1;
        const size_t n = s->k->seed ? 1 + throw(s, most) : to - from;
        const size_t until = MIN_OF(from + n, to);
        feed(g, node, f, from, until);
        from = until;
    }
}

static struct node_facts facts_of(const struct film *f)
{
    return (struct node_facts){.id = f->node->id,
                               .cores = f->node->cores,
                               .n_gpus = f->node->gpus,
                               .memory_bytes = f->node->memory_bytes,
                               .price_per_hour = NAN,
                               .machine = "",
                               .first = {START_NS},
                               .period_ns = f->period_ns};
}

/* One of `of` engines: its share of the nodes. */
static struct engine *see_part(struct show *s, size_t part, size_t of)
{
    struct engine *g = engine_open(&s->params);
    engine_window(g, (wall_ns){s->k->no_steps ? 0 : START_NS + s->k->loop_after_ns}, (wall_ns){0});
    for (size_t i = part; i < s->k->n_nodes; i += of) {
        const struct film *f = &s->films[i];
        const struct node_facts facts = facts_of(f);
        const size_t node = engine_node(g, &facts);
        const struct step step = {.start = {START_NS}, .dur_ns = NS_PER_S, .batch = f->node->batch};
        if (f->node->batch)
            engine_steps(g, node, &(struct rule_rank){0, 0, 1}, &step, 1);
        feed_pieces(s, g, node, f, 0, f->n);
    }
    return g;
}

static struct engine *see_all(struct show *s)
{
    enum { MOST = 8 };
    const size_t of = MIN_OF(MAX_OF(s->k->engines, 1), (size_t)MOST);
    struct engine *part[MOST];
    for (size_t i = 0; i < of; i++)
        part[i] = see_part(s, i, of);
    for (size_t n = of; n > 1; n--) { /* two of them become one */
        const size_t a = throw(s, n), b = (a + 1 + throw(s, n - 1)) % n;
        engine_merge(part[a], part[b]);
        engine_close(part[b]);
        part[b] = part[n - 1];
    }
    return part[0];
}

static size_t id_of(const char *rule)
{
    for (size_t i = 0; i < RULE_N; i++)
        if (strcmp(rules[i]->name, rule) == 0)
            return i;
    test_fail(__FILE__, __LINE__, "no rule %s", rule);
}

const struct verdict *kit_verdict(const struct kit *k, const char *rule)
{
    struct arena *a = &life;
    struct err e;
    struct show s = {.k = k, .dice = k->seed * 1000};
    struct verdicts *all = arena_new(a, struct verdicts);
    s.films = arena_array(a, struct film, k->n_nodes);
    for (size_t i = 0; i < k->n_nodes; i++) {
        s.films[i] = film_of(&k->nodes[i], a);
        s.end.ns = MAX_OF(s.end.ns, START_NS + (int64_t)k->nodes[i].sweeps * s.films[i].period_ns);
    }
    rule_params_init(&s.params, a);
    for (size_t i = 0; k->set && k->set[i]; i++)
        OK(rule_params_set(&s.params, k->set[i], &e));
    struct engine *g = see_all(&s);
    const struct run_facts run = {.ended = !k->goes_on,
                                  .has_steps = !k->no_steps,
                                  .job_start = {START_NS},
                                  .job_end = s.end,
                                  .loop_start = {START_NS + k->loop_after_ns},
                                  .loop_end = s.end};
    engine_judge(g, &run, a, all);
    engine_close(g);
    return &all->v[id_of(rule)];
}

/* ---- text ---- */

static void put_finding(struct buf *b, const struct finding *f)
{
    buf_printf(b, "finding %s %s %lld %lld\n  %s\n  %s\n  lost %a %a\n", f->node, f->entity,
               (long long)f->start.ns, (long long)f->end.ns, f->message, f->advice ? f->advice : "",
               f->lost_s, f->lost_gpu_s);
    for (size_t i = 0; i < f->n_ranges; i++)
        buf_printf(b, "  range %lld %lld\n", (long long)f->ranges[i].start.ns,
                   (long long)f->ranges[i].end.ns);
    for (size_t i = 0; i < f->n_numbers; i++)
        buf_printf(b, "  %s %a %s\n", f->numbers[i].name, f->numbers[i].v, f->numbers[i].unit);
}

static void put_plot(struct buf *b, const struct plot *p)
{
    buf_printf(b, "plot %s\n", p->title);
    for (size_t i = 0; i < p->n_edges; i++)
        buf_printf(b, " %a", p->edges[i]);
    for (size_t i = 0; i < p->n_rows; i++) {
        buf_printf(b, "\n  %s", p->rows[i].label);
        for (size_t k = 0; k < p->rows[i].n; k++)
            buf_printf(b, " %a", p->rows[i].v[k]);
    }
    buf_printf(b, "\n");
}

const char *kit_text(const struct verdict *v)
{
    struct buf b = {0};
    buf_printf(&b, "%s: %s\ncounts %llu %llu %llu last %lld\nlost %a %a %a\n",
               rule_state_names[v->state], v->why, (unsigned long long)v->triggered,
               (unsigned long long)v->violations, (unsigned long long)v->datapoints,
               (long long)v->last_triggered.ns, v->lost_s, v->lost_share, v->lost_gpu_s);
    for (size_t i = 0; i < v->n_findings; i++)
        put_finding(&b, &v->findings[i]);
    for (size_t i = 0; i < v->n_remarks; i++)
        buf_printf(&b, "remark %s\n", v->remarks[i]);
    for (size_t i = 0; i < v->n_plots; i++)
        put_plot(&b, &v->plots[i]);
    buf_u8(&b, 0);
    char *text = arena_strdup(v->arena, (const char *)b.p);
    buf_free(&b);
    return text;
}

void kit_cuts_do_not_matter(const struct kit *k, const char *rule)
{
    const char *whole = kit_text(kit_verdict(k, rule));
    for (unsigned seed = 1; seed <= 12; seed++) {
        struct kit cut = *k;
        cut.seed = seed;
        cut.engines = seed % 2 ? 1 : seed / 2 + 1;
        const char *pieces = kit_text(kit_verdict(&cut, rule));
        if (strcmp(whole, pieces) != 0)
            test_fail(__FILE__, __LINE__, "seed %u, %zu engines: in one piece\n%s\ncut\n%s", seed,
                      cut.engines, whole, pieces);
    }
}

double kit_number(const struct finding *f, const char *name)
{
    for (size_t i = 0; i < f->n_numbers; i++)
        if (strcmp(f->numbers[i].name, name) == 0)
            return f->numbers[i].v;
    return NAN;
}

const struct plot_row *kit_row(const struct verdict *v, const char *title, const char *label)
{
    for (size_t i = 0; i < v->n_plots; i++)
        for (size_t k = 0; strcmp(v->plots[i].title, title) == 0 && k < v->plots[i].n_rows; k++)
            if (strcmp(v->plots[i].rows[k].label, label) == 0)
                return &v->plots[i].rows[k];
    test_fail(__FILE__, __LINE__, "no row %s in %s", label, title);
}
