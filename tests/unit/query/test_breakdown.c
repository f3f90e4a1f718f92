/* SPDX-License-Identifier: Apache-2.0 */
/* Breakdowns of small traces, with numbers worked out by hand from docs/breakdowns.md. */
#include "query/breakdown.h"
#include "tracekit.h"

struct result {
    struct arena arena;
    struct breakdown b;
};

static void break_track(struct breaking *b, const struct kit_track *t)
{
    breakdown_track_begin(b, &t->track);
    breakdown_events(b, t->v, t->n);
    breakdown_track_end(b);
}

static struct result result_of(struct kit *k)
{
    struct result r = {0};
    struct breaking *b = breakdown_open();
    kit_sort(k);
    breakdown_process(b, &k->process);
    for (size_t i = 0; i < k->n; i++)
        break_track(b, &k->tracks[i]);
    breakdown_process_end(b);
    breakdown_result(b, &r.arena, &r.b);
    breakdown_close(b);
    return r;
}

/* The same, with every event by itself. */
static struct result result_in_pieces(struct kit *k)
{
    struct result r = {0};
    struct breaking *b = breakdown_open();
    kit_sort(k);
    breakdown_process(b, &k->process);
    for (size_t i = 0; i < k->n; i++) {
        breakdown_track_begin(b, &k->tracks[i].track);
        for (size_t e = 0; e < k->tracks[i].n; e++)
            breakdown_events(b, &k->tracks[i].v[e], 1);
        breakdown_track_end(b);
    }
    breakdown_process_end(b);
    breakdown_result(b, &r.arena, &r.b);
    breakdown_close(b);
    return r;
}

static void check_roles(const struct step_row *s, const int64_t want[ROLE_N])
{
    int64_t sum = 0;
    for (enum role r = 0; r < ROLE_N; r++) {
        if (s->role_ns[r] != want[r])
            test_fail(__FILE__, __LINE__, "%s is %lld, not %lld", role_name(r),
                      (long long)s->role_ns[r], (long long)want[r]);
        sum += s->role_ns[r];
    }
    CHECK_INT(sum, s->end - s->begin);
}

TEST(a_track_in_pieces_gives_the_same_breakdown)
{
    struct kit k;
    kit_open(&k);
    struct kit_track *t = kit_thread(&k, 1), *s = kit_stream(&k, 0, 7);
    kit_step(t, 0, 1000, 4);
    kit_link(t, 10, 20, CAT_RUNTIME, "launch", 1);
    kit_link(t, 30, 40, CAT_RUNTIME, "launch", 2);
    kit_link(s, 100, 200, CAT_KERNEL, "k", 1);
    kit_link(s, 250, 300, CAT_MEMCPY, "Memcpy HtoD", 2);
    struct result whole = result_of(&k), pieces = result_in_pieces(&k);
    CHECK_INT(pieces.b.n_steps, 1);
    CHECK_INT(pieces.b.n_streams, 1);
    check_roles(&pieces.b.steps[0], whole.b.steps[0].role_ns);
    CHECK_INT(pieces.b.streams[0].ops, 2);
    CHECK_INT(pieces.b.streams[0].other_wait_ns, whole.b.streams[0].other_wait_ns);
    CHECK_INT(pieces.b.devices[0].busy_ns, 150);
    arena_free(&whole.arena);
    arena_free(&pieces.arena);
}

/* ---- steps ---- */

TEST(every_moment_of_a_step_counts_for_the_first_role_that_has_it)
{
    struct kit k;
    kit_open(&k);
    struct kit_track *t = kit_thread(&k, 1), *s = kit_stream(&k, 0, 7);
    kit_step(t, 0, 1000, 5);
    kit_event(t, 0, 900, CAT_OP, "aten::all");
    kit_event(t, 100, 300, CAT_USER, "enumerate(DataLoader)#_Iter.__next__");
    kit_link(t, 200, 400, CAT_RUNTIME, "cudaLaunchKernel", 1);
    kit_event(t, 350, 500, CAT_OP, "nccl:all_reduce");
    kit_link(s, 450, 600, CAT_MEMSET, "Memset", 1);
    kit_link(s, 550, 700, CAT_MEMCPY, "Memcpy HtoD", 1);
    kit_link(s, 650, 800, CAT_KERNEL, "gemm", 1);
    kit_link(s, 750, 850, CAT_KERNEL, "ncclKernel_AllReduce", 1);
    struct result r = result_of(&k);
    CHECK_INT(r.b.n_steps, 1);
    CHECK_INT(r.b.steps[0].step, 5);
    CHECK_INT(r.b.steps[0].device_ops, 4);
    check_roles(&r.b.steps[0], (int64_t[ROLE_N]){[ROLE_KERNEL] = 150, /* 650-800 */
                                                 [ROLE_MEMCPY] = 100, /* 550-650 */
                                                 [ROLE_MEMSET] = 100, /* 450-550 */
                                                 [ROLE_COMM] = 150,   /* 350-450, 800-850 */
                                                 [ROLE_RUNTIME] = 150,
                                                 [ROLE_LOADER] = 100,
                                                 [ROLE_CPU] = 150, /* 0-100, 850-900 */
                                                 [ROLE_OTHER] = 100});
    arena_free(&r.arena);
}

TEST(a_step_ends_with_the_last_operation_it_launched_and_the_next_begins_there)
{
    struct kit k;
    kit_open(&k);
    struct kit_track *t = kit_thread(&k, 1), *s = kit_stream(&k, 0, 7);
    kit_step(t, 0, 100, 1);
    kit_link(t, 10, 20, CAT_RUNTIME, "launch", 1);
    kit_step(t, 110, 300, 2);
    kit_link(t, 120, 130, CAT_RUNTIME, "launch", 2);
    kit_link(s, 50, 150, CAT_KERNEL, "a", 1);
    kit_link(s, 160, 170, CAT_KERNEL, "b", 2);
    struct result r = result_of(&k);
    CHECK_INT(r.b.n_steps, 2);
    CHECK_INT(r.b.steps[0].begin, 0);
    CHECK_INT(r.b.steps[0].end, 150);
    CHECK_INT(r.b.steps[1].begin, 150);
    CHECK_INT(r.b.steps[1].end, 300);
    CHECK_INT(r.b.steps[1].role_ns[ROLE_KERNEL], 10);
    arena_free(&r.arena);
}

TEST(only_a_call_that_lies_in_the_step_as_a_whole_belongs_to_it)
{
    struct kit k;
    kit_open(&k);
    struct kit_track *t = kit_thread(&k, 1), *s = kit_stream(&k, 0, 7);
    kit_step(t, 100, 200, 1);
    kit_link(t, 90, 120, CAT_RUNTIME, "launch", 1);  /* begins before */
    kit_link(t, 100, 200, CAT_RUNTIME, "launch", 2); /* just fits */
    kit_link(t, 190, 201, CAT_RUNTIME, "launch", 3); /* ends behind */
    kit_link(s, 210, 220, CAT_KERNEL, "b", 2);
    kit_link(s, 230, 240, CAT_KERNEL, "a", 1);
    kit_link(s, 250, 260, CAT_KERNEL, "c", 3);
    kit_link(s, 270, 280, CAT_KERNEL, "unknown", 4);
    struct result r = result_of(&k);
    CHECK_INT(r.b.steps[0].device_ops, 1);
    CHECK_INT(r.b.steps[0].end, 220);
    arena_free(&r.arena);
}

TEST(work_from_before_the_first_step_delays_its_begin)
{
    struct kit k;
    kit_open(&k);
    struct kit_track *t = kit_thread(&k, 1), *s = kit_stream(&k, 0, 7);
    kit_step(t, 100, 300, 1);
    kit_link(t, 110, 120, CAT_RUNTIME, "launch", 1);
    kit_event(s, 50, 130, CAT_KERNEL, "earlier"); /* of a launch that the trace does not have */
    kit_link(s, 140, 150, CAT_KERNEL, "first", 1);
    kit_event(s, 145, 180, CAT_KERNEL, "later");
    struct result r = result_of(&k);
    CHECK_INT(r.b.steps[0].begin, 130);
    CHECK_INT(r.b.steps[0].end, 300);
    arena_free(&r.arena);
}

static size_t steps_cached(const int ops[], int n)
{
    struct kit k;
    uint64_t link = 1;
    kit_open(&k);
    struct kit_track *t = kit_thread(&k, 1), *s = kit_stream(&k, 0, 7);
    for (int i = 0; i < n; i++) {
        kit_step(t, 1000 * i, 1000 * i + 900, i);
        for (int o = 0; o < ops[i]; o++, link++) {
            kit_link(t, 1000 * i + o, 1000 * i + o + 1, CAT_RUNTIME, "launch", link);
            kit_link(s, 1000 * i + 10 * o + 20, 1000 * i + 10 * o + 25, CAT_KERNEL, "k", link);
        }
    }
    struct result r = result_of(&k);
    const size_t kept = r.b.n_steps;
    CHECK_INT(kept + r.b.dropped_steps, n);
    arena_free(&r.arena);
    return kept;
}

TEST(last_steps_whose_device_operations_were_not_all_seen_are_left_out)
{
    CHECK_INT(steps_cached((int[]){10, 10, 10}, 3), 3);
    CHECK_INT(steps_cached((int[]){10, 10, 8}, 3), 3);
    CHECK_INT(steps_cached((int[]){10, 10, 7}, 3), 2);
    CHECK_INT(steps_cached((int[]){10, 10, 0}, 3), 2);
    CHECK_INT(steps_cached((int[]){10, 5, 0}, 3), 1);
    CHECK_INT(steps_cached((int[]){10, 1, 10}, 3), 3);
    CHECK_INT(steps_cached((int[]){10}, 1), 1);
    CHECK_INT(steps_cached((int[]){0, 0, 0}, 3), 3); /* no device at all: nothing was cut */
}

TEST(steps_without_a_device_are_as_the_host_says)
{
    struct kit k;
    kit_open(&k);
    struct kit_track *t = kit_thread(&k, 1);
    kit_step(t, 0, 100, 1);
    kit_step(t, 110, 200, 2);
    kit_event(t, 20, 80, CAT_OP, "aten::mm");
    kit_event(t, 30, 40, CAT_PYTHON, "train.py(1): f"); /* plays no role */
    struct result r = result_of(&k);
    CHECK_INT(r.b.n_steps, 2);
    check_roles(&r.b.steps[0], (int64_t[ROLE_N]){[ROLE_CPU] = 60, [ROLE_OTHER] = 40});
    check_roles(&r.b.steps[1], (int64_t[ROLE_N]){[ROLE_OTHER] = 90});
    arena_free(&r.arena);
}

TEST(steps_of_which_nobody_told_the_operators_are_not_broken_down)
{
    struct kit k;
    kit_open(&k);
    struct kit_track *t = kit_thread(&k, 1);
    kit_step(t, 0, 100, 1);
    t->v[0].event.category = CAT_PHASE; /* as hooks and programs say their steps */
    kit_event(t, 0, 20, CAT_LOADER, "data");
    kit_event(t, 20, 60, CAT_PHASE, "forward");
    kit_event(t, 60, 70, CAT_USER, "augment");
    kit_event(t, 70, 80, CAT_COMM, "comm.all_reduce");
    struct result r = result_of(&k);
    CHECK_INT(r.b.n_steps, 0);
    arena_free(&r.arena);
}

TEST(kernels_that_a_collective_launched_are_communication_in_a_step)
{
    struct kit k;
    kit_open(&k);
    struct kit_track *t = kit_thread(&k, 1), *s = kit_stream(&k, 0, 7);
    kit_step(t, 0, 100, 1);
    kit_event(t, 10, 20, CAT_OP, "c10d::allreduce_")->parent = 40;
    kit_event(t, 21, 30, CAT_OP, "aten::mm")->parent = 41;
    kit_event(s, 40, 50, CAT_KERNEL, "copy_for_the_collective")->parent = 40;
    kit_event(s, 60, 65, CAT_KERNEL, "gemm")->parent = 41;
    struct event *own = kit_event(s, 70, 72, CAT_KERNEL, "gemm");
    own->parent = own->link = 40; /* a link in place of an operator */
    struct result r = result_of(&k);
    CHECK_INT(r.b.steps[0].role_ns[ROLE_COMM], 10 + 10);
    CHECK_INT(r.b.steps[0].role_ns[ROLE_KERNEL], 5 + 2);
    CHECK_INT(r.b.devices[0].comm_ns, 0); /* of devices the name alone decides */
    arena_free(&r.arena);
}

TEST(a_sentence_names_what_takes_most_of_the_step)
{
    struct kit k;
    kit_open(&k);
    struct kit_track *t = kit_thread(&k, 1);
    kit_step(t, 0, 100, 12);
    kit_event(t, 0, 61, CAT_LOADER, "enumerate(DataLoader)#_Iter.__next__");
    struct result r = result_of(&k);
    CHECK_INT(r.b.steps[0].critical, ROLE_LOADER);
    CHECK_STR(step_sentence(&r.b.steps[0], &r.arena), "step 12: 61 % waiting for the data loader");
    arena_free(&r.arena);
}

/* ---- devices ---- */

TEST(device_times_follow_their_definitions_over_all_streams)
{
    struct kit k;
    kit_open(&k);
    struct kit_track *s = kit_stream(&k, 3, 7), *c = kit_stream(&k, 3, 20);
    kit_event(s, 100, 200, CAT_KERNEL, "gemm");
    kit_event(s, 250, 300, CAT_KERNEL, "gemm");
    kit_event(s, 300, 310, CAT_MEMSET, "Memset (Device)");
    kit_event(c, 150, 270, CAT_KERNEL, "ncclDevKernel_AllReduce");
    kit_event(c, 290, 340, CAT_MEMCPY, "Memcpy HtoD");
    kit_event(c, 400, 410, CAT_KERNEL, "void at::ncclKernel(int)");
    kit_event(c, 0, 900, CAT_SYNC, "Stream Sync");
    kit_event(c, 0, 900, CAT_USER, "## forward ##");
    struct result r = result_of(&k);
    CHECK_INT(r.b.n_devices, 1);
    const struct device_row *d = &r.b.devices[0];
    CHECK_INT(d->device, 3);
    CHECK_INT(d->end - d->begin, 310);
    CHECK_INT(d->busy_ns, 240 + 10);
    CHECK_INT(d->idle_ns, 60);
    CHECK_INT(d->compute_ns, 150);
    CHECK_INT(d->non_compute_ns, 100);
    CHECK_INT(d->comm_ns, 130);
    CHECK_INT(d->comm_overlap_ns, 50 + 20);
    CHECK_INT(d->computation_ns, 160);
    CHECK_INT(d->exposed_comm_ns, 60);
    CHECK_INT(d->exposed_memcpy_ns, 30);
    arena_free(&r.arena);
}

/* Steps 4 and 5, then step 90: what ran between them nobody knows, but for the end of a kernel. */
TEST(the_time_between_two_windows_is_no_idle_time)
{
    struct kit k;
    kit_open(&k);
    struct kit_track *t = kit_thread(&k, 1), *s = kit_stream(&k, 0, 7);
    kit_step(t, 0, 100, 4);
    kit_step(t, 120, 200, 5);
    kit_step(t, 10000, 10100, 90);
    kit_link(t, 10, 20, CAT_RUNTIME, "launch", 1);
    kit_link(t, 190, 195, CAT_RUNTIME, "launch", 2);
    kit_link(t, 10010, 10020, CAT_RUNTIME, "launch", 3);
    kit_link(s, 50, 60, CAT_KERNEL, "k", 1);
    kit_link(s, 196, 230, CAT_KERNEL, "k", 2);
    kit_link(s, 10050, 10080, CAT_KERNEL, "k", 3);
    struct result r = result_of(&k);
    CHECK_INT(r.b.n_steps, 3);
    const struct device_row *d = &r.b.devices[0];
    CHECK_INT(d->begin, 50);
    CHECK_INT(d->end - d->begin, (230 - 50) + (10080 - 10000));
    CHECK_INT(d->busy_ns, 10 + 34 + 30);
    CHECK_INT(d->idle_ns, 180 + 80 - 74);
    arena_free(&r.arena);
}

TEST(devices_and_ranks_are_kept_apart)
{
    struct kit k;
    kit_open(&k);
    k.process.rank = 4;
    kit_event(kit_stream(&k, 1, 7), 0, 10, CAT_KERNEL, "a");
    kit_event(kit_stream(&k, 0, 7), 5, 25, CAT_KERNEL, "a");
    kit_event(kit_stream(&k, 1, 8), 20, 30, CAT_KERNEL, "a");
    kit_stream(&k, 9, 1); /* nothing on it */
    struct result r = result_of(&k);
    CHECK_INT(r.b.n_devices, 2);
    CHECK_INT(r.b.devices[0].device, 0);
    CHECK_INT(r.b.devices[0].compute_ns, 20);
    CHECK_INT(r.b.devices[1].device, 1);
    CHECK_INT(r.b.devices[1].compute_ns, 20);
    CHECK_INT(r.b.devices[1].idle_ns, 10);
    CHECK_INT(r.b.devices[1].of.rank, 4);
    CHECK_INT(r.b.n_streams, 3);
    CHECK_INT(r.b.n_steps, 0);
    arena_free(&r.arena);
}

TEST(a_copy_that_communication_hides_is_not_exposed)
{
    struct kit k;
    kit_open(&k);
    kit_event(kit_stream(&k, 0, 7), 0, 100, CAT_KERNEL, "ncclDevKernel_AllReduce");
    kit_event(kit_stream(&k, 0, 8), 50, 130, CAT_MEMCPY, "Memcpy HtoD");
    struct result r = result_of(&k);
    CHECK_INT(r.b.devices[0].exposed_memcpy_ns, 30);
    arena_free(&r.arena);
}

/* ---- streams ---- */

TEST(a_launch_that_began_before_the_stream_stood_still_is_no_host_wait)
{
    struct kit k;
    kit_open(&k);
    struct kit_track *t = kit_thread(&k, 1), *s = kit_stream(&k, 0, 7);
    kit_link(t, 0, 10, CAT_RUNTIME, "launch", 1);
    kit_link(t, 90, 150, CAT_RUNTIME, "launch", 2);
    kit_link(s, 20, 100, CAT_KERNEL, "a", 1);
    kit_link(s, 160, 200, CAT_KERNEL, "b", 2);
    struct result r = result_of(&k);
    CHECK_INT(r.b.streams[0].host_wait_ns, 0);
    CHECK_INT(r.b.streams[0].other_wait_ns, 60);
    arena_free(&r.arena);
}

TEST(gaps_of_a_stream_have_the_cause_that_their_launch_tells)
{
    struct kit k;
    kit_open(&k);
    struct kit_track *t = kit_thread(&k, 1), *s = kit_stream(&k, 0, 7);
    kit_link(t, 0, 10, CAT_RUNTIME, "launch", 1);
    kit_link(t, 150, 160, CAT_RUNTIME, "launch", 2);
    kit_link(t, 165, 170, CAT_RUNTIME, "launch", 3);
    kit_link(t, 172, 175, CAT_RUNTIME, "launch", 4);
    kit_link(s, 20, 100, CAT_KERNEL, "a", 1);
    kit_link(s, 180, 200, CAT_KERNEL, "b", 2);  /* launched behind the end of a: 80 */
    kit_link(s, 229, 300, CAT_KERNEL, "c", 3);  /* 29 ns: its own pace */
    kit_link(s, 330, 340, CAT_KERNEL, "d", 4);  /* 30 ns: something else */
    kit_link(s, 335, 350, CAT_KERNEL, "e", 4);  /* no gap */
    kit_link(s, 360, 370, CAT_KERNEL, "f", 77); /* 10 ns, launch not known */
    struct result r = result_of(&k);
    CHECK_INT(r.b.n_streams, 1);
    const struct stream_row *x = &r.b.streams[0];
    CHECK_INT(x->ops, 6);
    CHECK_INT(x->host_wait_ns, 80);
    CHECK_INT(x->kernel_wait_ns, 29 + 10);
    CHECK_INT(x->other_wait_ns, 30);
    CHECK_INT(x->launches, 5);
    arena_free(&r.arena);
}

TEST(launch_delays_short_operations_and_the_queue_are_counted)
{
    struct kit k;
    kit_open(&k);
    struct kit_track *t = kit_thread(&k, 1), *s = kit_stream(&k, 0, 7);
    kit_link(t, 0, 10, CAT_RUNTIME, "launch", 1);
    kit_link(t, 10, 20, CAT_RUNTIME, "launch", 2);
    kit_link(t, 20, 30, CAT_RUNTIME, "launch", 3);
    kit_link(t, 100, 110, CAT_RUNTIME, "launch", 4);
    kit_link(s, 15, 50, CAT_KERNEL, "a", 1);   /* delay 5 */
    kit_link(s, 50, 59, CAT_KERNEL, "b", 2);   /* delay 30, short */
    kit_link(s, 60, 70, CAT_KERNEL, "c", 3);   /* delay 30, just not short */
    kit_link(s, 200, 220, CAT_KERNEL, "d", 4); /* delay 90 */
    struct result r = result_of(&k);
    const struct stream_row *x = &r.b.streams[0];
    CHECK_INT(x->short_ops, 1);
    CHECK_INT(x->delay_p50_ns, 30);
    CHECK_INT(x->delay_mean_ns, (5 + 30 + 30 + 90) / 4);
    CHECK_INT(x->delay_max_ns, 90);
    CHECK_INT(x->queue_max, 2);
    NEAR(x->queue_mean, (15 + 40 + 40 + 100) / 200.0, 1e-12);
    arena_free(&r.arena);
}

TEST(the_middle_delay_is_that_of_the_sorted_ones)
{
    unsigned seed = 9;
    for (int n = 1; n < 30; n++) {
        struct kit k;
        int64_t delays[30];
        kit_open(&k);
        struct kit_track *t = kit_thread(&k, 1), *s = kit_stream(&k, 0, 7);
        for (int i = 0; i < n; i++) {
            seed = seed * 1664525u + 1013904223u;
            delays[i] = (seed >> 10) % 20;
            kit_link(t, 100 * i, 100 * i + 10, CAT_RUNTIME, "launch", (uint64_t)i + 1);
            kit_link(s, 100 * i + 10 + delays[i], 100 * i + 50, CAT_KERNEL, "k", (uint64_t)i + 1);
        }
        struct result r = result_of(&k);
        const int64_t middle = r.b.streams[0].delay_p50_ns;
        int below = 0, upto = 0;
        for (int i = 0; i < n; i++) {
            below += delays[i] < middle;
            upto += delays[i] <= middle;
        }
        CHECK(below <= (n - 1) / 2 && upto > (n - 1) / 2);
        arena_free(&r.arena);
    }
}

/* ---- memory ---- */

static struct event *memory(struct kit_track *t, int64_t at, enum event_kind kind, const char *name,
                            int64_t bytes, const char *args)
{
    struct event *e = kit_event(t, at, at, CAT_MEMORY, name);
    e->kind = kind;
    e->value = bytes;
    e->args = args;
    return e;
}

TEST(the_memory_curve_is_what_the_allocator_says_is_in_use)
{
    struct kit k;
    kit_open(&k);
    struct kit_track *t = kit_thread(&k, 1), *s = kit_stream(&k, 2, UINT32_MAX);
    memory(t, 10, EVENT_MARK, "[memory]", 100, "device=gpu2");
    memory(s, 10, EVENT_COUNT, "cuda.allocated", 1100, NULL);
    memory(s, 10, EVENT_COUNT, "cuda.reserved", 2000, NULL);
    memory(s, 20, EVENT_COUNT, "cuda.allocated", 1500, NULL);
    memory(s, 20, EVENT_COUNT, "cuda.reserved", 1900, NULL);
    memory(s, 30, EVENT_COUNT, "cuda.allocated", 1000, NULL);
    struct result r = result_of(&k);
    CHECK_INT(r.b.n_memory, 1);
    const struct memcurve *c = &r.b.memory[0].curve;
    CHECK_INT(c->device, 2);
    CHECK(c->exact);
    CHECK_INT(c->n, 3);
    CHECK_INT(c->peak_bytes, 1500);
    CHECK_INT(c->peak_at, 20);
    CHECK_INT(c->points[2].bytes, 1000);
    CHECK_INT(c->reserved_peak_bytes, 2000);
    CHECK_INT(r.b.n_devices, 0);
    arena_free(&r.arena);
}

TEST(without_totals_the_memory_curve_is_a_sum_and_says_so)
{
    struct kit k;
    kit_open(&k);
    struct kit_track *a = kit_thread(&k, 1), *b = kit_thread(&k, 2);
    memory(a, 10, EVENT_MARK, "[memory]", 100, "device=cpu");
    memory(a, 30, EVENT_MARK, "[memory]", -400, "device=cpu"); /* 300 are from before */
    memory(b, 20, EVENT_MARK, "[memory]", 50, "device=cpu");
    memory(b, 25, EVENT_MARK, "[memory]", 7, "device=gpu0");
    memory(b, 26, EVENT_MARK, "[memory]", 7, NULL);
    struct result r = result_of(&k);
    CHECK_INT(r.b.n_memory, 2);
    const struct memcurve *cpu = &r.b.memory[0].curve, *gpu = &r.b.memory[1].curve;
    CHECK_INT(cpu->device, MEM_CPU);
    CHECK(!cpu->exact);
    CHECK_INT(cpu->points[0].bytes, 350);
    CHECK_INT(cpu->peak_bytes, 400);
    CHECK_INT(cpu->peak_at, 20);
    CHECK_INT(cpu->points[2].bytes, 0);
    CHECK_INT(cpu->reserved_peak_bytes, -1);
    CHECK_INT(gpu->device, 0);
    CHECK_INT(gpu->peak_bytes, 7);
    arena_free(&r.arena);
}

TEST(memory_that_overflows_does_no_harm)
{
    struct kit k;
    kit_open(&k);
    struct kit_track *t = kit_thread(&k, 1);
    memory(t, 10, EVENT_MARK, "[memory]", INT64_MIN, "device=cpu");
    memory(t, 20, EVENT_MARK, "[memory]", INT64_MIN, "device=cpu");
    memory(t, 30, EVENT_MARK, "[memory]", INT64_MAX, "device=gpux");
    struct result r = result_of(&k);
    CHECK_INT(r.b.n_memory, 1);
    arena_free(&r.arena);
}

TEST(several_processes_give_their_rows_one_after_the_other)
{
    struct breaking *b = breakdown_open();
    struct result r = {0};
    for (int64_t rank = 0; rank < 2; rank++) {
        struct kit k;
        kit_open(&k);
        k.process.rank = rank;
        struct kit_track *t = kit_thread(&k, 1), *s = kit_stream(&k, 0, 7);
        kit_step(t, 0, 100, 10 + rank);
        if (rank == 0)
            kit_link(t, 0, 10, CAT_RUNTIME, "launch", 1);
        kit_link(s, 20, 30, CAT_KERNEL, "k", 1);
        breakdown_process(b, &k.process);
        for (size_t i = 0; i < k.n; i++)
            break_track(b, &k.tracks[i]);
        breakdown_process_end(b);
    }
    breakdown_result(b, &r.arena, &r.b);
    breakdown_close(b);
    CHECK_INT(r.b.n_steps, 2);
    CHECK_INT(r.b.steps[0].device_ops, 1);
    CHECK_INT(r.b.steps[1].of.rank, 1);
    CHECK_INT(r.b.steps[1].step, 11);
    CHECK_INT(r.b.steps[1].device_ops, 0); /* the launch was the other rank's */
    CHECK_INT(r.b.n_devices, 2);
    arena_free(&r.arena);
}
