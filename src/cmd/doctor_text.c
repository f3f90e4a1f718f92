/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_text.c - `footplate doctor` for people. */
#include <math.h>
#include <stdio.h>

#include "base/human.h"
#include "base/progress.h"
#include "base/table.h"
#include "cmd/doctor.h"
#include "record/record.h"

static void doctor_text_put_title(const char *title)
{
    printf(term_color(stdout) ? "\n\033[1m%s\033[0m\n" : "\n%s\n", title);
}

static void doctor_text_put_gpus(const struct trial *t)
{
    char bytes[HUMAN_LEN];
    for (unsigned i = 0; i < t->n_gpus; i++)
        printf("%-10s%s, %s, driver %s\n", t->gpus[i].entity, t->gpus[i].name,
               human_bytes((double)t->gpus[i].memory_bytes, bytes, sizeof bytes),
               t->gpus[i].driver);
    if (t->n_gpus == 0)
        printf("GPU       no GPU found: %s\n", t->gpu_absent);
}

/* The latest value of a metric, whatever the entity; NAN: not measured. */
static double doctor_text_value_of(const struct trial *t, enum metric_id m)
{
    for (size_t i = 0; i < t->n_probes; i++)
        for (size_t k = 0; k < t->probes[i].n_series; k++)
            if (t->probes[i].series[k].metric == m)
                return t->probes[i].series[k].value;
    return NAN;
}

static void put_limits(const struct trial *t)
{
    char text[HUMAN_LEN];
    const double cpu = doctor_text_value_of(t, M_CGROUP_CPU_LIMIT),
                 mem = doctor_text_value_of(t, M_CGROUP_MEM_LIMIT);
    printf("limits    ");
    if (isnan(cpu))
        printf("no CPU limit, ");
    else
        printf("%.2f cores, ", cpu / 100);
    if (isnan(mem))
        printf("no memory limit (control group)\n");
    else
        printf("%s memory (control group)\n", human_bytes(mem, text, sizeof text));
}

static void doctor_text_put_place(const char *label, const struct place *p)
{
    char bytes[HUMAN_LEN];
    if (!p->ok)
        printf("%-10snot usable: %s\n", label, p->why);
    else if (isnan(p->free_bytes))
        printf("%-10s%s\n", label, p->path);
    else
        printf("%-10s%s, %s free\n", label, p->path,
               human_bytes(p->free_bytes, bytes, sizeof bytes));
}

static void put_machine(const struct checkup *c)
{
    const struct hostinfo *h = &c->trial.host;
    char bytes[HUMAN_LEN];
    printf("host      %s, %s\n", h->hostname, h->kernel);
    printf("CPU       %u core%s%s%s\n", h->cores, h->cores == 1 ? "" : "s",
           *h->cpu_model ? ", " : "", h->cpu_model);
    printf("memory    %s\n", human_bytes((double)h->memory_bytes, bytes, sizeof bytes));
    doctor_text_put_gpus(&c->trial);
    put_limits(&c->trial);
    printf("clock     %s, %.0f ns per read\n",
           *c->clock_source ? c->clock_source : "source not known", c->clock_read_ns);
    doctor_text_put_place("runs", &c->runs);
    doctor_text_put_place("control", &c->runtime);
    if (c->curl.code)
        printf("actions   no webhooks and no email: %s\n", c->curl.msg);
    else
        printf("actions   all available\n");
}

static const struct table_column probe_columns[] = {
    {"PROBE"},
    {"DESCRIPTION"},
    {"SERIES", .right = true},
    {"READ TIME", .right = true},
    {"MIN INTERVAL", .right = true},
    {0},
};

static void put_probes(const struct checkup *c)
{
    struct table t;
    char text[HUMAN_LEN];
    table_init(&t, c->arena, probe_columns);
    for (size_t i = 0; i < c->trial.n_probes; i++) {
        const struct trial_probe *p = &c->trial.probes[i];
        const double every_s = (double)p->probe->min_period_ns / (double)NS_PER_S;
        table_cell(&t, "%s", p->probe->name);
        table_cell(&t, "%s", p->probe->title);
        if (!p->opened) {
            table_rest(&t, "not measured: %s", p->why);
            continue;
        }
        table_cell(&t, "%zu", p->n_series);
        table_cell(&t, "%s", human_value(p->read_us / 1e6, "s", text, sizeof text));
        table_cell(&t, "%s", human_value(every_s, "s", text, sizeof text));
    }
    doctor_text_put_title("probes");
    table_print(&t, stdout, 0, term_color(stdout));
}

static const struct table_column value_columns[] = {
    {"METRIC"},
    {"SERIES", .right = true},
    {"EXAMPLE"},
    {"VALUE", .right = true},
    {"DESCRIPTION", .gives = true},
    {0},
};

static size_t doctor_text_count_of(const struct trial_probe *p, enum metric_id m)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n_series; i++)
        n += p->series[i].metric == m;
    return n;
}

static bool doctor_text_is_first(const struct trial_probe *p, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (p->series[k].metric == p->series[i].metric)
            return false;
    return true;
}

static void doctor_text_put_values(const struct checkup *c, bool all)
{
    struct table t;
    char text[HUMAN_LEN];
    table_init(&t, c->arena, value_columns);
    for (size_t i = 0; i < c->trial.n_probes; i++) {
        const struct trial_probe *p = &c->trial.probes[i];
        for (size_t k = 0; k < p->n_series; k++) {
            const struct metric *m = &metrics[p->series[k].metric];
            if (!all && !doctor_text_is_first(p, k))
                continue;
            table_cell(&t, "%s", m->name);
            table_cell(&t, "%zu", all ? 1 : doctor_text_count_of(p, p->series[k].metric));
            table_cell(&t, "%s", p->series[k].entity);
            table_cell(&t, "%s",
                       human_value(p->series[k].value, unit_name(m->unit), text, sizeof text));
            table_cell(&t, "%s", m->title);
        }
    }
    doctor_text_put_title("available metrics");
    table_print(&t, stdout, term_width(stdout), term_color(stdout));
}

static void doctor_text_put_losses(const struct checkup *c)
{
    char what[ENTITY_LEN];
    bool some = false;
    for (size_t i = 0; i < c->trial.n_probes; i++) {
        const struct trial_probe *p = &c->trial.probes[i];
        for (size_t k = 0; k < p->n_losses; k++) {
            const struct loss *l = &p->losses[k];
            if (!some)
                doctor_text_put_title("not available");
            some = true;
            printf("%s: %s\n", text_safe(c->arena, loss_what(l, what)),
                   text_safe(c->arena, loss_why(l)));
        }
    }
}

void doctor_text(const struct checkup *c, bool all)
{
    put_machine(c);
    put_probes(c);
    doctor_text_put_values(c, all);
    doctor_text_put_losses(c);
}
