/* SPDX-License-Identifier: Apache-2.0 */
/* What a detail window cost, and what hooks add to a breakdown. Times below are in ms. */
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "query/breakdown.h"
#include "query/detail.h"
#include "query/recordkit.h"
#include "test.h"

enum { PID = 77, USUAL = 31, SLOW = 61, STALL = 400, KERNELS = 28, FIRST = 20, RECORDED = 3 };

static const int64_t MS = NS_PER_S / 1000;

static void add(struct writer *w, const struct track *t, const struct event *e)
{
    struct sink *s = writer_sink(w);
    s->ops->events(s, t, e, 1);
}

static void add_count(struct writer *w, int64_t at, const char *name, int64_t value)
{
    const struct track t = {.kind = TRACK_THREAD, .pid = PID, .id = PID};
    add(w, &t,
        &(struct event){
            .at = {at}, .kind = EVENT_COUNT, .category = CAT_MEMORY, .name = name, .value = value});
}

/* A step of `ms`, and the time after it. */
static int64_t add_step(struct writer *w, int64_t at, int64_t ms)
{
    char text[64];
    snprintf(text, sizeof text, "D%lld F%lld B%lld O%lld", (long long)MS, (long long)(5 * MS),
             (long long)(5 * MS), (long long)((ms - 11) * MS));
    return recordkit_thread(w, PID, PID, at, text);
}

/* As the profiler records it: the host launches all of a step's kernels in its first ms. */
static void add_recorded(struct writer *w, int64_t at, int64_t number)
{
    const struct track host = {.kind = TRACK_THREAD, .pid = PID, .id = PID};
    const struct track gpu = {.kind = TRACK_DEVICE, .pid = PID, .id = 7};
    const uint64_t link = (uint64_t)number + 1;
    add(w, &host,
        &(struct event){.at = {at},
                        .dur_ns = SLOW * MS,
                        .kind = EVENT_STEP,
                        .category = CAT_USER,
                        .name = "ProfilerStep",
                        .value = number});
    add(w, &host,
        &(struct event){.at = {at + MS},
                        .dur_ns = MS,
                        .kind = EVENT_SPAN,
                        .category = CAT_RUNTIME,
                        .name = "cudaLaunchKernel",
                        .link = link});
    add(w, &gpu,
        &(struct event){.at = {at + 3 * MS},
                        .dur_ns = KERNELS * MS,
                        .kind = EVENT_SPAN,
                        .category = CAT_KERNEL,
                        .name = "sgemm",
                        .link = link});
}

/* The profiler has begun when the step before is about to end. */
static void add_early(struct writer *w, int64_t at)
{
    const struct track host = {.kind = TRACK_THREAD, .pid = PID, .id = PID};
    add(w, &host,
        &(struct event){.at = {at - 2 * MS},
                        .dur_ns = MS,
                        .kind = EVENT_SPAN,
                        .category = CAT_OP,
                        .name = "aten::zero_"});
}

/* 60 steps of 31 ms; three from step 20 on are recorded and take 61, the last one stalls. */
static const char *record(bool window)
{
    const char *run = kit_run(window ? "w" : "r", "r", "r", KIT_START);
    struct recordkit k = recordkit_open(run, "a");
    struct writer *w = window ? recordkit_beside(&k, "trace-77-0") : NULL;
    struct err e;
    int64_t at = NS_PER_S;
    for (int64_t i = 0; i < 60; i++) {
        const bool slow = window && i >= FIRST && i < FIRST + RECORDED;
        if (slow && i == FIRST)
            add_early(w, at);
        if (slow)
            add_recorded(w, at, i);
        at = add_step(k.events, at, slow ? SLOW : USUAL);
        if (slow && i == FIRST + RECORDED - 1)
            at += STALL * MS;
        add_count(k.events, at, "cuda.allocated", 1000);
        add_count(k.events, at, "cuda.reserved", 7000);
        add_count(k.events, at, "cuda.peak", i < 9 ? 4000 : 6000);
    }
    if (w)
        OK(writer_close(w, &e));
    recordkit_close(&k, 0, at + NS_PER_S, "finished");
    return run;
}

struct opened {
    struct run *run;
    struct arena arena;
    struct breakdown b;
};

static struct opened open_breakdown(const char *path)
{
    struct opened o = {0};
    struct err e;
    OK(run_open(&o.run, path, &e));
    OK(breakdown_read(o.run, &(struct trace_ask){0}, &o.arena, &o.b, &e));
    return o;
}

static void close_breakdown(struct opened *o)
{
    run_close(o->run);
    arena_free(&o->arena);
}

TEST(the_steps_of_a_window_are_compared_with_the_usual_ones)
{
    struct run *run;
    struct arena a = {0};
    struct detail_cost *v;
    struct detail_range *ranges;
    struct rank_steps *ranks;
    size_t n, n_ranges, n_ranks;
    struct err e;
    OK(run_open(&run, record(true), &e));
    OK(detail_ranges(run, &a, &ranges, &n_ranges, &e));
    OK(steps_read(run, &a, &ranks, &n_ranks, &e));
    detail_costs_of(ranks, n_ranks, ranges, n_ranges, &a, &v, &n);
    CHECK_INT(n, 1);
    CHECK_INT(v[0].rank, 0);
    CHECK_INT(v[0].first_step, FIRST);
    CHECK_INT(v[0].n_steps, RECORDED);
    NEAR(v[0].step_s, SLOW * 1e-3, 1e-6);
    NEAR(v[0].usual_step_s, USUAL * 1e-3, 1e-6);
    NEAR(v[0].stall_s, STALL * 1e-3, 1e-6);
    arena_free(&a);
    run_close(run);
}

TEST(idle_time_is_given_for_usual_steps_too)
{
    struct opened o = open_breakdown(record(true));
    CHECK_INT(o.b.n_windows, 1);
    const struct window_row *w = &o.b.windows[0];
    NEAR(w->busy_s, KERNELS * 1e-3, 1e-6);
    NEAR(w->idle_share, 1 - (double)KERNELS / SLOW, 1e-3);
    NEAR(w->usual_idle_share, 1 - (double)KERNELS / USUAL, 1e-3);
    CHECK_STR(window_sentence(w, &o.arena),
              "the steps in the detail window took 61 ms each, other steps 31 ms: detailed "
              "recording slowed the host, so idle time is overstated; with 28 ms of device work in "
              "a usual step, the device is idle 10 %, not 54 %; starting and stopping the profiler "
              "took another 400 ms");
    CHECK_INT(o.b.n_groups, 1);
    CHECK_INT(o.b.groups[0].group, GROUP_MATMUL);
    CHECK_INT(o.b.groups[0].ops, RECORDED);
    close_breakdown(&o);
}

TEST(the_peak_of_memory_is_the_allocators_with_a_window_and_without)
{
    for (int window = 0; window < 2; window++) {
        struct opened o = open_breakdown(record(window));
        CHECK_INT(breakdown_has_detail(&o.b), window);
        CHECK_INT(o.b.n_memory, 1);
        const struct memory_row *m = &o.b.memory[0];
        CHECK(m->curve.allocator_peak);
        CHECK_INT(m->curve.peak_bytes, 6000);
        CHECK_INT(m->curve.highest_bytes, 1000);
        CHECK_INT(m->curve.reserved_peak_bytes, 7000);
        CHECK_INT(m->peak_step, 10); /* read when step 9 had ended, as step 10 began */
        CHECK_INT(m->curve.n, 60);
        close_breakdown(&o);
    }
}
