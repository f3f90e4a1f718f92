/* SPDX-License-Identifier: Apache-2.0 */
/* bench_health.c - a long synthetic training with health data, and what its first pictures cost;
 * each part prints a JSON object.
 *
 * Usage: bench_health make FOLDER STEPS TENSORS    a loss and a learning rate per step, a sample of
 *                                                  all tensors every 50 steps
 *        bench_health ask FOLDER REPEATS           index, curve of the loss, heat map; each in a
 * run that is opened anew */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "query/health.h"
#include "query/run.h"
#include "record/event.h"
#include "store/writer.h"

enum { EVERY = 50, STEP_MS = 50, COLUMNS = 500, POINTS = 1000, PID = 77 };

static void health_die(const struct err *e)
{
    fprintf(stderr, "bench_health: %s\n", e->msg);
    exit(1);
}

static double health_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- making ---- */

static uint64_t health_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    return *seed ^= *seed << 17;
}

/* Noise as of a norm from batch to batch: a factor of 0.8 to 1.25. */
static double health_noise(uint64_t *seed)
{
    return exp(0.22 * (2 * (double)(health_random(seed) >> 11) / 9007199254740992.0 - 1));
}

static int64_t health_bits(double v)
{
    const double rounded = (double)(float)v;
    int64_t bits;
    memcpy(&bits, &rounded, sizeof bits);
    return bits;
}

static void health_put(struct writer *w, enum health_id stat, const struct event *v, size_t n)
{
    struct track t = {.kind = TRACK_HEALTH, .pid = PID, .id = stat};
    struct sink *s = writer_sink(w);
    snprintf(t.process, sizeof t.process, "python train.py");
    snprintf(t.name, sizeof t.name, "%s", health_words[stat].name);
    s->ops->events(s, &t, v, n);
}

static void health_put_step(struct writer *w, mono_ns at, uint64_t step, uint64_t *seed)
{
    const double loss = (0.1 + 2.2 * exp(-(double)step / 2e5)) * health_noise(seed);
    const double lr = 1e-3 * (0.5 + 0.5 * cos((double)step / 1e6 * 3.14159265));
    const struct event v[] = {
        {.at = at,
         .kind = EVENT_REAL,
         .name = "loss",
         .value = health_bits(loss),
         .link = step + 1},
        {.at = at, .kind = EVENT_REAL, .name = "lr", .value = health_bits(lr), .link = step + 1},
    };
    health_put(w, HEALTH_SCALAR, v, COUNT_OF(v));
}

static void health_put_sample(struct writer *w, mono_ns at, uint64_t step, char (*names)[64],
                              size_t tensors, uint64_t *seed)
{
    static const enum health_id stats[] = {HEALTH_GRADIENT_L2, HEALTH_WEIGHT_L2,
                                           HEALTH_UPDATE_RATIO};
    struct event *v = xcalloc(tensors, sizeof *v);
    for (size_t k = 0; k < COUNT_OF(stats); k++) {
        for (size_t i = 0; i < tensors; i++)
            v[i] = (struct event){.at = at,
                                  .kind = EVENT_REAL,
                                  .name = names[i],
                                  .value = health_bits((double)(1 + i) * health_noise(seed)),
                                  .link = step + 1};
        health_put(w, stats[k], v, tensors);
    }
    free(v);
}

static void health_file(const char *dir, const char *name, const char *text)
{
    char path[PATH_LEN];
    struct err e;
    if (path_join(path, &e, "%s/%s", dir, name) || file_replace(path, text, strlen(text), &e))
        health_die(&e);
}

static struct writer *health_make_run(const char *dir, int64_t ns, struct writer **events)
{
    char path[PATH_LEN], text[512];
    struct err e;
    struct writer *w;
    const int64_t start = clock_wall().ns;
    if (dir_make(dir, &e) || path_join(path, &e, "%s/node-n1", dir) || dir_make(path, &e))
        health_die(&e);
    snprintf(
        text, sizeof text,
        "{\"format\":\"footplate-run\",\"format_version\":1,\"id\":\"health\",\"name\":\"health\","
        "\"command\":[\"synth\"],\"labels\":{},\"start_ns\":%" PRId64 "}",
        start);
    health_file(dir, "run.json", text);
    snprintf(text, sizeof text,
             "{\"format_version\":1,\"id\":\"n1\",\"session\":1,\"status\":\"finished\",\"start_"
             "ns\":%" PRId64 ",\"end_ns\":%" PRId64 ",\"exit_status\":0}",
             start, start + ns);
    health_file(dir, "node-n1/node.json", text);
    if (writer_open_bulk(&w, path, 0, clock_tie_now(), &e) ||
        writer_open_beside(events, w, "events", &e))
        health_die(&e);
    return w;
}

static int health_make(const char *dir, uint64_t steps, size_t tensors)
{
    struct writer *events, *w = health_make_run(dir, (int64_t)steps * STEP_MS * NS_PER_MS, &events);
    char(*names)[64] = xcalloc(tensors, sizeof *names);
    const mono_ns t0 = clock_mono();
    uint64_t seed = 88172645463325252u;
    struct err e;
    struct writer_stats st;
    for (size_t i = 0; i < tensors; i++)
        snprintf(names[i], sizeof names[i], "model.layers.%zu.attention.weight", i);
    for (uint64_t s = 0; s < steps; s++) {
        const mono_ns at = mono_add(t0, (int64_t)s * STEP_MS * NS_PER_MS);
        health_put_step(events, at, s, &seed);
        if (s % EVERY == 0)
            health_put_sample(events, at, s, names, tensors, &seed);
        if (s % 200 == 0 && writer_flush(events, false, &e))
            health_die(&e);
    }
    if (writer_flush(events, true, &e))
        health_die(&e);
    writer_get_stats(events, &st);
    const uint64_t values = 2 * steps + (steps + EVERY - 1) / EVERY * tensors * 3;
    if (writer_close(events, &e) || writer_close(w, &e))
        health_die(&e);
    printf("{\"values\":%" PRIu64 ",\"events\":%" PRIu64 "}\n", values, st.events);
    free(names);
    return 0;
}

/* ---- asking ---- */

static void health_ask_index(struct run *r, struct arena *a)
{
    struct health_index x;
    struct err e;
    if (health_index(r, a, &x, &e))
        health_die(&e);
}

static void health_ask_curve(struct run *r, struct arena *a)
{
    const struct health_curve_ask ask = {.rank = -1, .name = "loss", .mode = -1, .points = POINTS};
    struct health_curve c;
    struct err e;
    if (health_curve(r, &ask, a, &c, &e))
        health_die(&e);
}

static void health_ask_matrix(struct run *r, struct arena *a)
{
    const struct health_matrix_ask ask = {
        .rank = -1, .stat = HEALTH_GRADIENT_L2, .columns = COLUMNS};
    struct health_matrix m;
    struct err e;
    if (health_matrix(r, &ask, a, &m, &e))
        health_die(&e);
}

static const struct {
    const char *name;
    void (*ask)(struct run *r, struct arena *a);
} questions[] = {
    {"index_s", health_ask_index}, {"loss_s", health_ask_curve}, {"heat_map_s", health_ask_matrix}};

static int health_ask(const char *dir, unsigned long repeats)
{
    printf("{");
    for (size_t i = 0; i < COUNT_OF(questions); i++) {
        double best = INFINITY;
        for (unsigned long k = 0; k < repeats; k++) {
            struct arena a = {0};
            struct run *r;
            struct err e;
            const double begin = health_seconds();
            if (run_open(&r, dir, &e))
                health_die(&e);
            questions[i].ask(r, &a);
            run_close(r);
            arena_free(&a);
            best = fmin(best, health_seconds() - begin);
        }
        printf("%s\"%s\":%.4f", i ? "," : "", questions[i].name, best);
    }
    printf("}\n");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "make") == 0)
        return health_make(argv[2], strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10));
    if (argc == 4 && strcmp(argv[1], "ask") == 0)
        return health_ask(argv[2], strtoul(argv[3], NULL, 10));
    fprintf(stderr, "usage: bench_health make FOLDER STEPS TENSORS | ask FOLDER REPEATS\n");
    return 2;
}
