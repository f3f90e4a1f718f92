/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_doctor.c - what can be measured on this machine, what a reading costs, and why the rest
 * cannot be measured. Reads every probe a few times and writes nothing to disk. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "agent/control.h"
#include "base/arena.h"
#include "base/file.h"
#include "base/human.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/table.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "net/curl.h"
#include "query/run.h"
#include "record/record.h"
#include "run/run_info.h"
#include "sample/hostinfo.h"
#include "sample/probe.h"

struct trial_series {
    enum metric_id metric;
    char entity[ENTITY_LEN];
    double value; /* the latest */
};

struct trial_probe {
    const struct probe *probe;
    bool opened;
    char why[512]; /* why it was not */
    struct trial_series *series;
    size_t n_series, series_cap;
    struct loss *losses; /* each once */
    size_t n_losses, losses_cap;
    double read_us; /* mean of all readings but the first, which opens files; NAN: too few */
};

struct trial {
    struct hostinfo host;
    struct gpu_info gpus[GPU_MOST];
    unsigned n_gpus;
    char gpu_absent[512]; /* why there is none, when there is none */
    struct trial_probe *probes;
    size_t n_probes;
};

/* ---- reading the probes ---- */

enum { READINGS = 4 };

static const int64_t GAP_NS = 150 * NS_PER_MS;

/* The sink of one probe. */
struct trial_collect {
    struct sink sink; /* first: the sink is the trial_collect */
    struct trial_probe *to;
    struct arena *arena;
};

static struct trial_collect *trial_collect_of(struct sink *s)
{
    return (struct trial_collect *)(void *)s;
}

static struct trial_series *trial_find_series(struct trial_collect *c, const struct slot *s)
{
    struct trial_probe *p = c->to;
    for (size_t i = 0; i < p->n_series; i++)
        if (p->series[i].metric == s->metric && strcmp(p->series[i].entity, s->entity) == 0)
            return &p->series[i];
    struct trial_series *fresh = ARENA_ADD(c->arena, p->series, p->n_series, p->series_cap);
    *fresh = (struct trial_series){.metric = s->metric};
    memcpy(fresh->entity, s->entity, sizeof fresh->entity);
    return fresh;
}

static void trial_take_row(struct sink *s, struct group *g, mono_ns t)
{
    (void)t;
    for (uint32_t i = 0; i < g->n; i++)
        if (g->slots[i].used && g->cells[i] != CELL_MISSING)
            trial_find_series(trial_collect_of(s), &g->slots[i])->value =
                (double)g->cells[i] * g->slots[i].step;
}

static void trial_take_loss(struct sink *s, const struct loss *l)
{
    struct trial_collect *c = trial_collect_of(s);
    struct trial_probe *p = c->to;
    for (size_t i = 0; i < p->n_losses; i++)
        if (loss_same_subject(&p->losses[i], l))
            return;
    *ARENA_ADD(c->arena, p->losses, p->n_losses, p->losses_cap) = *l;
}

static void trial_take_mark(struct sink *s, const struct mark *m)
{
    (void)s;
    (void)m;
}

static const struct sink_ops trial_collect_ops = {
    .row = trial_take_row, .loss = trial_take_loss, .mark = trial_take_mark};

static void **trial_open_all(struct trial *t, const struct probe_env *env, struct arena *a)
{
    void **states = arena_array(a, void *, t->n_probes + 1);
    for (size_t i = 0; i < t->n_probes; i++) {
        struct trial_probe *p = &t->probes[i];
        struct err e = {0};
        p->probe = probes[i];
        p->read_us = NAN;
        states[i] = arena_alloc(a, 1, MAX_OF(p->probe->state_size, (size_t)1));
        p->opened =
            p->probe->open(states[i], env, MAX_OF(GAP_NS, p->probe->min_period_ns), &e) == 0;
        snprintf(p->why, sizeof p->why, "%s", p->opened ? "" : e.msg);
    }
    return states;
}

static void trial_read_all(struct trial *t, void **states, int round, struct arena *a)
{
    for (size_t i = 0; i < t->n_probes; i++) {
        struct trial_probe *p = &t->probes[i];
        if (!p->opened)
            continue;
        struct trial_collect c = {{&trial_collect_ops}, p, a};
        const mono_ns before = clock_mono();
        p->probe->read(states[i], &c.sink);
        const double us = (double)mono_diff(clock_mono(), before) / (double)NS_PER_US;
        if (round > 0)
            p->read_us = (isnan(p->read_us) ? 0 : p->read_us) + us / (READINGS - 1);
    }
}

static void trial_close_all(struct trial *t, void **states)
{
    for (size_t i = 0; i < t->n_probes; i++)
        if (t->probes[i].opened)
            t->probes[i].probe->close(states[i]);
}

static void trial_read_probes(struct trial *t, const struct probe_env *env, struct arena *a)
{
    while (probes[t->n_probes])
        t->n_probes++;
    t->probes = arena_array(a, struct trial_probe, t->n_probes + 1);
    void **states = trial_open_all(t, env, a);
    const struct timespec gap = {0, (long)GAP_NS};
    for (int round = 0; round < READINGS; round++) {
        if (round > 0)
            nanosleep(&gap, NULL);
        trial_read_all(t, states, round, a);
    }
    trial_close_all(t, states);
}

static void trial_run(struct trial *out, const char *proc, const char *sys, struct arena *a)
{
    *out = (struct trial){0};
    struct err e = {0};
    struct nvml_lib *nvml = NULL;
    struct pidset *pids = arena_new(a, struct pidset);
    if (nvml_open(&nvml, NULL, &e) != 0)
        nvml = NULL;
    hostinfo_read(&out->host, proc, sys);
    out->n_gpus = gpu_list(out->gpus, nvml, sys);
    if (out->n_gpus == 0)
        snprintf(out->gpu_absent, sizeof out->gpu_absent, "%s", e.msg);
    pidset_init(pids);
    const struct probe_env env = {
        .proc = proc,
        .sys = sys,
        .root_pid = getpid(),
        .self_pid = getpid(),
        .pids = pids,
        .nvml = nvml,
        .nvml_absent = nvml ? NULL : e.msg,
    };
    trial_read_probes(out, &env, a);
    pidset_free(pids);
    nvml_close(nvml);
}

/* ---- the findings ---- */

/* A folder that recording needs. */
struct doctor_place {
    char path[PATH_LEN];
    bool ok;
    char why[512];     /* why it is not */
    double free_bytes; /* NAN: not known */
};

struct checkup {
    struct trial trial;
    struct doctor_place runs, runtime;
    struct err curl; /* why actions cannot use TLS; code 0: they can */
    char clock_source[64];
    double clock_read_ns;
    struct arena *arena;
};

/* ---- JSON ---- */

#define ROWS_FILE "cmd/doctor_rows.def"
#include "base/row_expand.h"

/* ---- text ---- */

static void doctor_put_gpus(const struct trial *t, struct arena *a)
{
    for (unsigned i = 0; i < t->n_gpus; i++)
        printf("%-10s%s, %s, driver %s\n", t->gpus[i].entity, t->gpus[i].name,
               bytes_text(a, (double)t->gpus[i].memory_bytes), t->gpus[i].driver);
    if (t->n_gpus == 0)
        printf("GPU       no GPU found: %s\n", t->gpu_absent);
}

/* The latest value of a metric, whatever the entity; NAN: not measured. */
static double doctor_value_of(const struct trial *t, enum metric_id m)
{
    for (size_t i = 0; i < t->n_probes; i++)
        for (size_t k = 0; k < t->probes[i].n_series; k++)
            if (t->probes[i].series[k].metric == m)
                return t->probes[i].series[k].value;
    return NAN;
}

static void doctor_put_limits(const struct trial *t, struct arena *a)
{
    const double cpu = doctor_value_of(t, M_CGROUP_CPU_LIMIT),
                 mem = doctor_value_of(t, M_CGROUP_MEM_LIMIT);
    printf("limits    %s, %s memory%s (control group)\n",
           isnan(cpu) ? "no CPU limit" : arena_printf(a, "%.2f cores", cpu / 100),
           isnan(mem) ? "no" : bytes_text(a, mem), isnan(mem) ? " limit" : "");
}

static void doctor_put_place(const char *label, const struct doctor_place *p, struct arena *a)
{
    if (!p->ok)
        printf("%-10snot usable: %s\n", label, p->why);
    else if (isnan(p->free_bytes))
        printf("%-10s%s\n", label, p->path);
    else
        printf("%-10s%s, %s free\n", label, p->path, bytes_text(a, p->free_bytes));
}

static void doctor_put_machine(const struct checkup *c)
{
    const struct hostinfo *h = &c->trial.host;
    printf("host      %s, %s\n", h->hostname, h->kernel);
    printf("CPU       %u core%s%s%s\n", h->cores, h->cores == 1 ? "" : "s",
           *h->cpu_model ? ", " : "", h->cpu_model);
    printf("memory    %s\n", bytes_text(c->arena, (double)h->memory_bytes));
    doctor_put_gpus(&c->trial, c->arena);
    doctor_put_limits(&c->trial, c->arena);
    printf("clock     %s, %.0f ns per read\n",
           *c->clock_source ? c->clock_source : "source not known", c->clock_read_ns);
    doctor_put_place("runs", &c->runs, c->arena);
    doctor_put_place("control", &c->runtime, c->arena);
    if (c->curl.code)
        printf("actions   no webhooks and no email: %s\n", c->curl.msg);
    else
        printf("actions   all available\n");
}

static void doctor_put_probes(const struct checkup *c)
{
    struct table t;
    table_init(&t, c->arena, "PROBE|DESCRIPTION|>SERIES|>READ TIME|>MIN INTERVAL");
    for (size_t i = 0; i < c->trial.n_probes; i++) {
        const struct trial_probe *p = &c->trial.probes[i];
        const double every_s = (double)p->probe->min_period_ns / (double)NS_PER_S;
        CELL_TEXTS(&t, p->probe->name, p->probe->title);
        if (!p->opened) {
            table_rest(&t, "not measured: %s", p->why);
            continue;
        }
        table_cell(&t, "%zu", p->n_series);
        CELL_VALUES(&t, "s", p->read_us / 1e6, every_s);
    }
    output_title("probes");
    table_print(&t, stdout, 0, term_color(stdout));
}

/* How many series of the metric come before number `end`. */
static size_t doctor_count_of(const struct trial_probe *p, enum metric_id m, size_t end)
{
    return SUM_OF(i, end, p->series[i].metric == m);
}

static void doctor_put_values(const struct checkup *c, bool all)
{
    struct table t;
    table_init(&t, c->arena, "METRIC|>SERIES|EXAMPLE|>VALUE|~DESCRIPTION");
    for (size_t i = 0; i < c->trial.n_probes; i++) {
        const struct trial_probe *p = &c->trial.probes[i];
        for (size_t k = 0; k < p->n_series; k++) {
            const struct metric *m = &metrics[p->series[k].metric];
            if (!all && doctor_count_of(p, p->series[k].metric, k) > 0)
                continue;
            table_cell(&t, "%s", m->name);
            table_cell(&t, "%zu", all ? 1 : doctor_count_of(p, p->series[k].metric, p->n_series));
            table_cell(&t, "%s", p->series[k].entity);
            cell_value(&t, p->series[k].value, unit_name(m->unit));
            table_cell(&t, "%s", m->title);
        }
    }
    output_title("available metrics");
    output_table(&t);
}

static void doctor_put_losses(const struct checkup *c)
{
    bool some = false;
    char what[ENTITY_LEN];
    for (size_t i = 0; i < c->trial.n_probes; i++) {
        const struct trial_probe *p = &c->trial.probes[i];
        for (size_t k = 0; k < p->n_losses; k++) {
            const struct loss *l = &p->losses[k];
            if (!some)
                output_title("not available");
            some = true;
            printf("%s: %s\n", text_safe(c->arena, loss_what(l, what)),
                   text_safe(c->arena, loss_why(l)));
        }
    }
}

/* ---- the command ---- */

enum { O_JSON, O_ALL, O_DIR };

static const struct opt options[] = {
    [O_JSON] = {OPT_ROW_JSON},
    [O_ALL] = {"all", 'a', NULL, OPT_FLAG, .help = "Show every series, not only one per metric."},
    [O_DIR] = {OPT_ROW_DIR},
    {0},
};

/* The folder itself, or the nearest one above it that exists: that is where it would be made. */
static void doctor_nearest_folder(char *path)
{
    while (access(path, F_OK) != 0 && errno == ENOENT) {
        char *slash = strrchr(path, '/');
        if (!slash) {
            path[0] = '.';
            path[1] = '\0';
            return;
        }
        slash[slash == path ? 1 : 0] = '\0';
    }
}

static void doctor_check_runs(struct doctor_place *p, const char *dir)
{
    char where[PATH_LEN];
    struct statvfs fs;
    snprintf(p->path, sizeof p->path, "%s", runs_folder(dir));
    snprintf(where, sizeof where, "%s", p->path);
    doctor_nearest_folder(where);
    p->ok = access(where, W_OK | X_OK) == 0;
    if (!p->ok)
        snprintf(p->why, sizeof p->why, "cannot write to '%.400s': %s", where, strerror(errno));
    p->free_bytes = NAN;
    if (statvfs(where, &fs) == 0)
        p->free_bytes = (double)fs.f_bavail * (double)fs.f_frsize;
}

/* The socket that a recorder would open, opened. */
static void doctor_check_runtime(struct doctor_place *p)
{
    struct control c;
    struct err e = {0};
    char id[32];
    snprintf(id, sizeof id, "doctor-%d", (int)getpid());
    p->free_bytes = NAN;
    p->ok = control_open(&c, id, "doctor", &e) == 0;
    if (!p->ok) {
        snprintf(p->why, sizeof p->why, "%s", e.msg);
        return;
    }
    snprintf(p->path, sizeof p->path, "%s", c.path);
    char *slash = strrchr(p->path, '/');
    if (slash)
        *slash = '\0';
    control_close(&c);
}

static void doctor_check_clock(struct checkup *c)
{
    enum { READS = 1000 };
    struct err e = {0};
    char *text = NULL;
    size_t n = 0;
    const char *file = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    if (file_read(file, sizeof c->clock_source, c->arena, &text, &n, &e) == 0)
        snprintf(c->clock_source, sizeof c->clock_source, "%.*s", (int)strcspn(text, "\n"), text);
    const mono_ns start = clock_mono();
    mono_ns last = start;
    for (int i = 0; i < READS; i++)
        last = clock_mono();
    c->clock_read_ns = (double)mono_diff(last, start) / READS;
}

static int cmd_doctor_run(const struct cmd_args *args, struct err *e)
{
    (void)e;
    struct checkup *c = arena_new(args->arena, struct checkup);
    c->arena = args->arena;
    doctor_check_runs(&c->runs, args->opt[O_DIR].text);
    doctor_check_runtime(&c->runtime);
    doctor_check_clock(c);
    (void)!curl_is_there(&c->curl);
    trial_run(&c->trial, "/proc", "/sys", c->arena);
    if (args->opt[O_JSON].given) {
        output_row(&row_Doctor, c, c->arena);
    } else {
        doctor_put_machine(c);
        doctor_put_probes(c);
        doctor_put_values(c, args->opt[O_ALL].given);
        doctor_put_losses(c);
    }
    return c->runs.ok ? EXIT_FINE : EXIT_FAILED;
}

const struct cmd cmd_doctor = {
    .name = "doctor",
    .summary = "check what can be measured on this machine",
    .options = options,
    .help = CMD_HELP("Opens every probe, reads it a few times and shows the values, the cost of "
                     "one reading, and the reason for every metric that is not available on this "
                     "machine. Takes about half a second and records nothing."),
    .exit_codes = "0 if runs can be recorded, 1 if the run folder is not writable, 2 if the "
                  "command line is invalid.",
    .run = cmd_doctor_run,
};
