/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_bench.c - see gpu_bench.h. */
#include "gpu_bench.h"

#include <stdatomic.h>

#include "base/mem.h"
#include "test.h"

mono_ns __wrap_clock_mono(void);

static _Atomic int64_t bench_ns = 1000 * NS_PER_S;

mono_ns __wrap_clock_mono(void)
{
    return (mono_ns){atomic_load(&bench_ns)};
}

void clock_set_ms(int64_t ms)
{
    atomic_store(&bench_ns, ms * NS_PER_MS);
}

void clock_add_ms(int64_t ms)
{
    atomic_fetch_add(&bench_ns, ms * NS_PER_MS);
}

static struct bench *bench_of(struct sink *s)
{
    return (struct bench *)(void *)((char *)s - offsetof(struct bench, sink));
}

static void take_row(struct sink *s, struct group *g, mono_ns t)
{
    struct bench *b = bench_of(s);
    pthread_mutex_lock(&b->lock);
    for (slot_id i = 0; i < g->n; i++) {
        if (!g->slots[i].used || g->cells[i] == CELL_MISSING)
            continue;
        CHECK(b->n < SEEN_MOST);
        b->seen[b->n].metric = g->slots[i].metric;
        b->seen[b->n].value = (double)g->cells[i] * g->slots[i].step;
        b->seen[b->n].at = t;
        b->seen[b->n].period_ns = g->period_ns;
        memcpy(b->seen[b->n++].entity, g->slots[i].entity, ENTITY_LEN);
    }
    pthread_mutex_unlock(&b->lock);
}

static void take_loss(struct sink *s, const struct loss *l)
{
    struct bench *b = bench_of(s);
    pthread_mutex_lock(&b->lock);
    CHECK(b->losses < TOLD_MOST);
    b->loss[b->losses++] = *l;
    pthread_mutex_unlock(&b->lock);
}

static void take_mark(struct sink *s, const struct mark *m)
{
    struct bench *b = bench_of(s);
    pthread_mutex_lock(&b->lock);
    CHECK(b->marks < TOLD_MOST);
    b->mark[b->marks++] = *m;
    pthread_mutex_unlock(&b->lock);
}

static const struct sink_ops ops = {.row = take_row, .loss = take_loss, .mark = take_mark};

void bench_open(struct bench *b)
{
    memset(b, 0, sizeof *b);
    b->sink.ops = &ops;
    pthread_mutex_init(&b->lock, NULL);
    pidset_init(&b->pids);
    b->env = (struct probe_env){.proc = "/nonexistent/proc",
                                .sys = "/nonexistent/sys",
                                .pids = &b->pids,
                                .nvml_absent = "no NVIDIA driver ( this is a test"};
}

static const char *play_path(const char *play)
{
    char *path = test_printf("%s/play", test_tmpdir());
    FILE *f = fopen(path, "w");
    CHECK(f != NULL && fputs(play, f) >= 0 && fclose(f) == 0);
    return path;
}

void bench_play(struct bench *b, const char *library, const char *play)
{
    struct err e;
    const bool is_text = strchr(play, '\n') != NULL;
    const char *path = is_text ? play_path(play) : play;
    bench_open(b);
    CHECK(setenv("FOOTPLATE_NVML_PLAY", path, 1) == 0);
    OK(nvml_open(&b->env.nvml, library, &e));
    if (is_text)
        free((void *)(uintptr_t)path);
}

void bench_probe(struct bench *b, const struct probe *p, int64_t period_ms)
{
    struct err e;
    b->probe = p;
    b->state = xcalloc(1, p->state_size);
    OK(p->open(b->state, &b->env, period_ms * NS_PER_MS, &e));
}

void bench_read(struct bench *b)
{
    b->probe->read(b->state, &b->sink);
}

void bench_end(struct bench *b)
{
    b->probe->end(b->state, &b->sink);
}

void bench_close(struct bench *b)
{
    if (b->probe)
        b->probe->close(b->state);
    free(b->state);
    nvml_close(b->env.nvml);
    pidset_free(&b->pids);
}

unsigned values(const struct bench *b, enum metric_id m, const char *entity)
{
    unsigned n = 0;
    for (unsigned i = 0; i < b->n; i++)
        n += b->seen[i].metric == m && strcmp(b->seen[i].entity, entity) == 0;
    return n;
}

double last(const struct bench *b, enum metric_id m, const char *entity)
{
    for (unsigned i = b->n; i-- > 0;)
        if (b->seen[i].metric == m && strcmp(b->seen[i].entity, entity) == 0)
            return b->seen[i].value;
    test_fail(__FILE__, __LINE__, "%s has no %s", entity, metrics[m].name);
}

unsigned losses_with(const struct bench *b, enum loss_id id, const char *what, const char *why)
{
    unsigned n = 0;
    for (unsigned i = 0; i < b->losses; i++)
        n += b->loss[i].id == id && strstr(loss_what(&b->loss[i], (char[ENTITY_LEN]){0}), what) &&
             strstr(b->loss[i].why, why);
    return n;
}

unsigned marks_with(const struct bench *b, enum mark_id id, const char *text)
{
    unsigned n = 0;
    for (unsigned i = 0; i < b->marks; i++)
        n += b->mark[i].id == id && strstr(b->mark[i].text, text);
    return n;
}
