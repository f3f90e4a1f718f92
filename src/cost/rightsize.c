/* SPDX-License-Identifier: Apache-2.0 */
/* rightsize.c - see rightsize.h. */
#include "cost/rightsize.h"

#include <math.h>
#include <string.h>

#include "base/human.h"
#include "base/mem.h"
#include "base/vec.h"

/* In percent of a resource: below this a run uses it little; more than that a proposal may not use
 * of it; and a proposal that saves less is not worth the move. */
static const double UNDER_USED = 70, FULL = 85, LEAST_SAVING = 10;

static const char *const names[RES_N] = {
    [RES_GPU] = "GPU",
    [RES_GPU_MEMORY] = "GPU memory",
    [RES_CPU] = "CPU",
    [RES_MEMORY] = "memory",
};

/* ---- the machine that a node is ---- */

static const double GIB = 1024.0 * 1024 * 1024;

static double rightsize_gib(int64_t bytes, double otherwise)
{
    return bytes > 0 ? (double)bytes / GIB : otherwise;
}

/* The speed of a GPU of that name; a table may list it under another machine. */
static double rightsize_tflops(const struct machines *t, const struct machine *m)
{
    for (size_t i = 0; isnan(m->gpu_tflops) && i < t->n; i++)
        if (machine_same_gpu(&t->v[i], m))
            return t->v[i].gpu_tflops;
    return m->gpu_tflops;
}

/* The one machine of the table that has the same cores, GPUs and memory; NULL: none, or several. A
 * kernel reserves some of the memory. */
static const struct machine *machine_by_hardware(const struct node_hardware *n,
                                                 const struct machines *t)
{
    const struct machine *found = NULL;
    const double memory = rightsize_gib(n->memory_bytes, NAN);
    for (size_t i = 0; i < t->n; i++) {
        const struct machine *m = &t->v[i];
        const bool same = m->cores == n->cores && m->gpus == (double)n->n_gpus &&
                          memory > 0.94 * m->memory_gib && memory <= m->memory_gib;
        if (!same || (n->gpu && *n->gpu && !machine_same_gpu(m, &(struct machine){.gpu = n->gpu})))
            continue;
        if (found)
            return NULL;
        found = m;
    }
    return found;
}

/* What was seen of the machine takes precedence over the table. */
struct machine machine_of_node(const struct node_hardware *n, const struct machines *t,
                               struct arena *a)
{
    const struct machine *known =
        *n->machine ? machines_find(t, n->machine) : machine_by_hardware(n, t);
    struct machine m = known ? *known
                             : (struct machine){.gpu = "",
                                                .gpu_memory_gib = NAN,
                                                .gpu_tflops = NAN,
                                                .cores = NAN,
                                                .memory_gib = NAN,
                                                .price_per_hour = NAN};
    if (!known)
        m.name = *n->machine ? n->machine : "this machine type";
    else if (!*n->machine)
        m.name = arena_printf(a, "%s (by cores and GPUs)", known->name);
    if (n->cores)
        m.cores = n->cores;
    m.memory_gib = rightsize_gib(n->memory_bytes, m.memory_gib);
    m.gpu_memory_gib = rightsize_gib(n->gpu_memory_bytes, m.gpu_memory_gib);
    if (n->gpu && *n->gpu)
        m.gpu = arena_strdup(a, n->gpu);
    if (!isnan(n->price_per_hour))
        m.price_per_hour = n->price_per_hour;
    m.gpu_tflops = rightsize_tflops(t, &m);
    return m;
}

/* What all nodes have and use together. */
struct fleet {
    const struct machines *table;
    const struct used_node *v;
    size_t n;
    double price_per_hour; /* NAN: one is not known */
};

static bool is_under_used(const struct fleet *f)
{
    return !FIND_ANY(i, f->n,
                     (f->v[i].machine.gpus > 0 && !(f->v[i].pct[RES_GPU] < UNDER_USED)) ||
                         !(f->v[i].pct[RES_CPU] < UNDER_USED));
}

/* ---- what another machine would be used ---- */

/* Machines with the same name are of one kind, even if their hardware is not known. */
static bool same_kind(const struct machine *a, const struct machine *b)
{
    return strcmp(a->name, b->name) == 0;
}

static bool same_gpus(const struct fleet *f, const struct machine *m)
{
    for (size_t i = 0; i < f->n; i++) {
        const struct machine *own = &f->v[i].machine;
        if (own->gpus > 0 && !same_kind(own, m) && !machine_same_gpu(own, m))
            return false;
    }
    return true;
}

/* Work of GPUs: counted in GPUs where they are of one kind, else by what each is worth. */
static double gpu_pct(const struct fleet *f, const struct machine *m, double n)
{
    const bool alike = same_gpus(f, m);
    double need = 0;
    for (size_t i = 0; i < f->n; i++) {
        const struct machine *own = &f->v[i].machine;
        if (own->gpus > 0)
            need += own->gpus * f->v[i].pct[RES_GPU] * (alike ? 1 : own->gpu_tflops);
    }
    if (need == 0)
        return NAN;
    return need / (n * m->gpus * (alike ? 1 : m->gpu_tflops));
}

/* Each GPU is assumed to use as much memory as the fullest one. NAN: one was not measured, or there
 * is none. */
static double gpu_memory_pct(const struct fleet *f, const struct machine *m)
{
    double most = 0;
    for (size_t i = 0; i < f->n; i++) {
        const struct machine *own = &f->v[i].machine;
        const double pct = f->v[i].pct[RES_GPU_MEMORY];
        if (!(own->gpus > 0))
            continue;
        if (isnan(pct))
            return NAN;
        const double gib = same_kind(own, m) ? 1 : own->gpu_memory_gib / m->gpu_memory_gib;
        most = fmax(most, isnan(gib) ? INFINITY : pct * gib); /* sizes not known fit nothing */
    }
    return most > 0 ? most : NAN;
}

static double sum_pct(const struct fleet *f, enum resource r, size_t field, double have)
{
    double need = 0;
    for (size_t i = 0; i < f->n; i++) {
        double own;
        memcpy(&own, (const unsigned char *)&f->v[i].machine + field, sizeof own);
        need += own * f->v[i].pct[r];
    }
    return need / have;
}

static struct sizing size_of(const struct fleet *f, const struct machine *m, size_t count)
{
    const double n = (double)count;
    struct sizing s = {.machine = m, .n = count, .price_per_hour = n * m->price_per_hour};
    s.pct[RES_GPU] = gpu_pct(f, m, n);
    s.pct[RES_GPU_MEMORY] = gpu_memory_pct(f, m);
    s.pct[RES_CPU] = sum_pct(f, RES_CPU, offsetof(struct machine, cores), n * m->cores);
    s.pct[RES_MEMORY] =
        sum_pct(f, RES_MEMORY, offsetof(struct machine, memory_gib), n * m->memory_gib);
    s.saving =
        isnan(f->price_per_hour) ? 1 - n / (double)f->n : 1 - s.price_per_hour / f->price_per_hour;
    return s;
}

static bool uses_gpus(const struct fleet *f)
{
    return FIND_ANY(i, f->n, f->v[i].machine.gpus > 0);
}

/* NAN is what was not measured of memory, or what is not known of GPUs: the one passes, the other
 * does not. */
static bool rightsize_fits(const struct fleet *f, const struct sizing *s)
{
    return (!uses_gpus(f) || (s->machine->gpus > 0 && s->pct[RES_GPU] <= FULL)) &&
           s->pct[RES_CPU] <= FULL && !(s->pct[RES_MEMORY] > FULL) &&
           !(s->pct[RES_GPU_MEMORY] > FULL);
}

/* ---- the best one ---- */

/* What saves more; of two, fewer machines. */
static void rightsize_offer(const struct fleet *f, const struct machine *m, struct sizing *best,
                            bool alike)
{
    if (alike && !same_gpus(f, m))
        return;
    for (size_t n = 1; n <= f->n; n++) {
        const struct sizing s = size_of(f, m, n);
        if (!rightsize_fits(f, &s) || !(s.saving * 100 >= LEAST_SAVING))
            continue;
        if (!best->machine || s.saving > best->saving ||
            (s.saving >= best->saving && s.n < best->n))
            *best = s;
        return; /* more of them cost more */
    }
}

/* Machines of the table have prices; without one for what is used now, only fewer of the same are
 * known to cost less. */
static struct sizing find_best(const struct fleet *f, bool alike)
{
    struct sizing best = {0};
    rightsize_offer(f, &f->v[0].machine, &best, alike);
    for (size_t i = 0; !isnan(f->price_per_hour) && i < f->table->n; i++)
        rightsize_offer(f, &f->table->v[i], &best, alike);
    return best;
}

/* ---- words ---- */

static const char *now_text(const struct fleet *f, struct arena *a)
{
    for (size_t i = 1; i < f->n; i++)
        if (strcmp(f->v[i].machine.name, f->v[0].machine.name) != 0)
            return arena_printf(a, "%zu machines", f->n);
    return arena_printf(a, "%zu x %s", f->n, f->v[0].machine.name);
}

static const char *price_text(const struct sizing *s, const struct right_size *r, double hours,
                              struct arena *a)
{
    if (isnan(r->price_per_hour))
        return arena_printf(a, "%.0f %% cheaper", s->saving * 100);
    char then[HUMAN_LEN], now[HUMAN_LEN];
    const char *cost =
        isnan(hours)
            ? ""
            : arena_printf(a, "; %s instead of %s for a run as long as this one",
                           human_price(s->price_per_hour * hours, r->currency, then, sizeof then),
                           human_price(r->price_per_hour * hours, r->currency, now, sizeof now));
    return arena_printf(a, "%g %s per hour instead of %g, %.0f %% less%s", s->price_per_hour,
                        r->currency, r->price_per_hour, s->saving * 100, cost);
}

static const char *use_text(const struct sizing *s, struct arena *a)
{
    const char *text = "";
    for (size_t k = 0; k < RES_N; k++)
        if (!isnan(s->pct[k]))
            text =
                arena_printf(a, "%s%s%.0f %% of %s", text, *text ? ", " : "", s->pct[k], names[k]);
    return text;
}

static const char *why_text(const struct fleet *f, const struct right_size *r, struct arena *a)
{
    const struct sizing *b = &r->best, *k = &r->alike;
    const char *text =
        arena_printf(a,
                     "%zu x %s would suffice instead of %s: %s. By the 95th percentiles of this "
                     "run, their expected use is %s",
                     b->n, b->machine->name, r->now, price_text(b, r, r->hours, a), use_text(b, a));
    if (!isnan(b->pct[RES_GPU]) && !same_gpus(f, b->machine))
        text = arena_printf(a,
                            "%s; their GPUs (%s) are a different model, compared by peak TFLOP/s: "
                            "test before you switch",
                            text, b->machine->gpu);
    if (isnan(b->pct[RES_MEMORY]) || (uses_gpus(f) && isnan(b->pct[RES_GPU_MEMORY])))
        text = arena_printf(a, "%s; %s was not measured, so check that it fits", text,
                            names[isnan(b->pct[RES_MEMORY]) ? RES_MEMORY : RES_GPU_MEMORY]);
    if (k->machine)
        text = arena_printf(a, "%s. With the same GPUs: %zu x %s, %s, expected use %s", text, k->n,
                            k->machine->name, price_text(k, r, NAN, a), use_text(k, a));
    return text;
}

const struct right_size *rightsize(const struct machines *t, const struct used_node *v, size_t n,
                                   double hours, struct arena *a)
{
    struct fleet f = {.table = t, .v = v, .n = n};
    for (size_t i = 0; i < n; i++)
        f.price_per_hour += v[i].machine.price_per_hour;
    if (n == 0 || !is_under_used(&f))
        return NULL;
    struct right_size *r = arena_new(a, struct right_size);
    *r = (struct right_size){.best = find_best(&f, false),
                             .price_per_hour = f.price_per_hour,
                             .currency = currency_name(v[0].currency),
                             .hours = hours};
    if (!r->best.machine)
        return NULL;
    if (!isnan(r->best.pct[RES_GPU]) && !same_gpus(&f, r->best.machine))
        r->alike = find_best(&f, true);
    r->now = now_text(&f, a);
    r->why = why_text(&f, r, a);
    return r;
}
