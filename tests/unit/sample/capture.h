/* SPDX-License-Identifier: Apache-2.0 */
/* capture.h - a sink that remembers, a probe on a bench, and folders that play the machine. */
#ifndef CAPTURE_H
#define CAPTURE_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "record/group.h"
#include "sample/probe.h"
#include "test.h"

enum { CAPTURE_VALUES = 20000, CAPTURE_NOTES = 64 };

struct captured {
    enum metric_id metric;
    char entity[ENTITY_LEN];
    double value;
    mono_ns t;
};

struct capture {
    struct sink sink; /* first: the callbacks get its address */
    struct captured v[CAPTURE_VALUES];
    size_t n, rows;
    struct loss losses[CAPTURE_NOTES];
    size_t n_losses;
    struct mark marks[CAPTURE_NOTES];
    size_t n_marks;
};

static inline void capture_row(struct sink *s, struct group *g, mono_ns t)
{
    struct capture *c = (struct capture *)s;
    c->rows++;
    for (slot_id i = 0; i < g->n; i++) {
        if (!g->slots[i].used || g->cells[i] == CELL_MISSING)
            continue;
        if (c->n == CAPTURE_VALUES) /* keep the later half */
            memmove(c->v, c->v + CAPTURE_VALUES / 2, (c->n /= 2) * sizeof c->v[0]);
        struct captured *v = &c->v[c->n++];
        v->metric = g->slots[i].metric;
        v->value = (double)g->cells[i] * g->slots[i].step;
        v->t = t;
        memcpy(v->entity, g->slots[i].entity, sizeof v->entity);
    }
}

static inline void capture_loss(struct sink *s, const struct loss *l)
{
    struct capture *c = (struct capture *)s;
    if (c->n_losses < CAPTURE_NOTES)
        c->losses[c->n_losses++] = *l;
}

static inline void capture_mark(struct sink *s, const struct mark *m)
{
    struct capture *c = (struct capture *)s;
    if (c->n_marks < CAPTURE_NOTES)
        c->marks[c->n_marks++] = *m;
}

static const struct sink_ops capture_ops = {
    .row = capture_row, .loss = capture_loss, .mark = capture_mark};

/* The latest value, or NULL. */
static inline const struct captured *captured_last(const struct capture *c, enum metric_id m,
                                                   const char *entity)
{
    for (size_t i = c->n; i-- > 0;)
        if (c->v[i].metric == m && strcmp(c->v[i].entity, entity) == 0)
            return &c->v[i];
    return NULL;
}

static inline size_t captured_count(const struct capture *c, enum metric_id m, const char *entity)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++)
        n += c->v[i].metric == m && (!entity || strcmp(c->v[i].entity, entity) == 0);
    return n;
}

static inline double captured_value(const struct capture *c, enum metric_id m, const char *entity)
{
    const struct captured *v = captured_last(c, m, entity);
    if (!v)
        test_fail(__FILE__, __LINE__, "there is no %s of %s", metrics[m].name, entity);
    return v->value;
}

static inline size_t captured_losses(const struct capture *c, enum loss_id id, const char *what)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n_losses; i++)
        n += c->losses[i].id == id &&
             strcmp(loss_what(&c->losses[i], (char[ENTITY_LEN]){0}), what) == 0;
    return n;
}

/* A probe with its state and what it said. */
struct bench {
    const struct probe *probe;
    void *state;
    struct capture *got;
    struct probe_env env;
};

static inline int bench_open(struct bench *b, const struct probe *p, const struct probe_env *env,
                             int64_t period_ns, struct err *e)
{
    *b = (struct bench){.probe = p, .env = *env};
    b->state = calloc(1, p->state_size);
    b->got = calloc(1, sizeof *b->got);
    b->got->sink.ops = &capture_ops;
    return p->open(b->state, &b->env, period_ns, e);
}

static inline void bench_read(struct bench *b)
{
    b->probe->read(b->state, &b->got->sink);
}

static inline void bench_forget(struct bench *b)
{
    b->got->n = b->got->rows = b->got->n_losses = b->got->n_marks = 0;
}

static inline void bench_close(struct bench *b)
{
    b->probe->close(b->state);
    free(b->state);
    free(b->got);
}

static inline void sleep_ms(long ms)
{
    const struct timespec ts = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&ts, NULL);
}

/* The folders of the machine in use; a test has one at a time. */
static char machine_proc[256], machine_sys[256];

/* A machine in tests/data/procfs. */
static inline struct probe_env machine(const char *name)
{
    snprintf(machine_proc, sizeof machine_proc, "%s/procfs/%s/proc", FP_TEST_DATA, name);
    snprintf(machine_sys, sizeof machine_sys, "%s/procfs/%s/sys", FP_TEST_DATA, name);
    return (struct probe_env){.proc = machine_proc, .sys = machine_sys};
}

/* An empty machine in the test's folder, to be filled with machine_put. */
static inline struct probe_env machine_made(void)
{
    snprintf(machine_proc, sizeof machine_proc, "%s/proc", test_tmpdir());
    snprintf(machine_sys, sizeof machine_sys, "%s/sys", test_tmpdir());
    mkdir(machine_proc, 0755);
    mkdir(machine_sys, 0755);
    return (struct probe_env){.proc = machine_proc, .sys = machine_sys};
}

/* Writes a file in place, as the kernel's files change, making its folders. */
static inline void machine_put(const char *folder, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *p = path + strlen(folder) + 1; *p; p++)
        if (*p == '/') {
            *p = '\0';
            mkdir(path, 0755);
            *p = '/';
        }
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f) != 0)
        test_fail(__FILE__, __LINE__, "cannot write %s", path);
}

/* A fixture's text; the caller frees it. */
static inline char *fixture(const char *name, size_t *n)
{
    char path[512];
    snprintf(path, sizeof path, "%s/procfs/%s", FP_TEST_DATA, name);
    FILE *f = fopen(path, "r");
    if (!f)
        test_fail(__FILE__, __LINE__, "no fixture %s", path);
    char *text = malloc(1 << 20);
    *n = fread(text, 1, 1 << 20, f);
    fclose(f);
    return text;
}

#endif
