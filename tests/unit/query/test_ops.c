/* SPDX-License-Identifier: Apache-2.0 */
/* Operators from small traces. */
#include "base/mem.h"
#include "query/ops.h"
#include "query/trace.h"
#include "tracekit.h"

struct table {
    struct arena arena;
    struct op_row *v;
    size_t n;
};

static void feed(struct ops *o, struct kit *k)
{
    kit_sort(k);
    ops_process(o, NULL);
    for (size_t i = 0; i < k->n; i++)
        ops_track(o, &k->tracks[i].track, k->tracks[i].v, k->tracks[i].n);
    ops_process_end(o);
}

static struct table table_of(struct kit *k, enum ops_by by)
{
    struct table t = {0};
    struct ops *o = ops_open(by);
    feed(o, k);
    ops_rows(o, &t.arena, &t.v, &t.n);
    ops_close(o);
    return t;
}

static const struct op_row *row(const struct table *t, enum op_device d, const char *name)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->v[i].device == d && strcmp(t->v[i].name, name) == 0)
            return &t->v[i];
    test_fail(__FILE__, __LINE__, "no row '%s'", name);
}

static void check(const struct table *t, const char *name, uint64_t calls, int64_t self,
                  int64_t total)
{
    const struct op_row *r = row(t, OP_CPU, name);
    CHECK_INT(r->calls, calls);
    CHECK_INT(r->self_ns, self);
    CHECK_INT(r->total_ns, total);
}

TEST(self_time_is_without_what_is_inside)
{
    struct kit k;
    kit_open(&k);
    struct kit_track *t = kit_thread(&k, 1);
    kit_event(t, 0, 100, CAT_OP, "outer");
    kit_event(t, 10, 40, CAT_OP, "middle");
    kit_event(t, 20, 30, CAT_OP, "inner");
    kit_event(t, 50, 60, CAT_OP, "inner");
    kit_event(t, 200, 230, CAT_OP, "outer");
    struct table x = table_of(&k, OPS_BY_NAME);
    check(&x, "outer", 2, 60 + 30, 130);
    check(&x, "middle", 1, 20, 30);
    check(&x, "inner", 2, 20, 20);
    CHECK_INT(x.n, 3);
    arena_free(&x.arena);
}

TEST(rows_are_ranked_by_self_time_and_shares_add_up)
{
    struct kit k;
    kit_open(&k);
    struct kit_track *t = kit_thread(&k, 1);
    kit_event(t, 0, 100, CAT_OP, "outer");
    kit_event(t, 10, 90, CAT_OP, "inner");
    kit_event(kit_stream(&k, 0, 7), 0, 5, CAT_KERNEL, "k");
    struct table x = table_of(&k, OPS_BY_NAME);
    CHECK_INT(x.n, 3);
    CHECK_STR(x.v[0].name, "inner");
    CHECK_STR(x.v[1].name, "outer");
    NEAR(x.v[0].share, 0.8, 1e-12);
    NEAR(x.v[1].share, 0.2, 1e-12);
    NEAR(x.v[2].share, 1.0, 1e-12);
    arena_free(&x.arena);
}

TEST(recursion_counts_once_in_the_total)
{
    struct kit k;
    kit_open(&k);
    struct kit_track *t = kit_thread(&k, 1);
    kit_event(t, 0, 100, CAT_OP, "f");
    kit_event(t, 10, 90, CAT_OP, "f");
    kit_event(t, 20, 80, CAT_OP, "g");
    kit_event(t, 30, 70, CAT_OP, "f");
    struct table x = table_of(&k, OPS_BY_NAME);
    check(&x, "f", 3, 40 + 40, 100);
    check(&x, "g", 1, 20, 60);
    arena_free(&x.arena);
}

TEST(spans_that_overlap_without_nesting_count_every_moment_once)
{
    struct kit k;
    kit_open(&k);
    struct kit_track *t = kit_thread(&k, 1);
    kit_event(t, 0, 50, CAT_OP, "a");
    kit_event(t, 30, 80, CAT_OP, "b");
    kit_event(t, 60, 65, CAT_OP, "c");
    kit_event(t, 70, 100, CAT_OP, "d");
    struct table x = table_of(&k, OPS_BY_NAME);
    check(&x, "a", 1, 30, 50);
    check(&x, "b", 1, 35, 50);
    check(&x, "c", 1, 5, 5);
    check(&x, "d", 1, 30, 30);
    arena_free(&x.arena);
}

TEST(the_time_of_an_outer_span_goes_on_when_a_broken_one_inside_ends_late)
{
    struct kit k;
    kit_open(&k);
    struct kit_track *t = kit_thread(&k, 1);
    kit_event(t, 0, 100, CAT_OP, "outer");
    kit_event(t, 10, 20, CAT_OP, "short");
    kit_event(t, 15, 40, CAT_OP, "late");
    struct table x = table_of(&k, OPS_BY_NAME);
    check(&x, "outer", 1, 10 + 60, 100);
    check(&x, "short", 1, 5, 10);
    check(&x, "late", 1, 25, 25);
    arena_free(&x.arena);
}

TEST(spans_without_duration_are_counted)
{
    struct kit k;
    kit_open(&k);
    struct kit_track *t = kit_thread(&k, 1);
    kit_event(t, 0, 10, CAT_OP, "f");
    kit_event(t, 0, 0, CAT_OP, "nothing");
    kit_event(t, 10, 10, CAT_OP, "nothing");
    struct table x = table_of(&k, OPS_BY_NAME);
    check(&x, "nothing", 2, 0, 0);
    check(&x, "f", 1, 10, 10);
    arena_free(&x.arena);
}

TEST(self_times_of_random_spans_add_up_to_their_union)
{
    unsigned seed = 5;
    for (int round = 0; round < 500; round++) {
        struct kit k;
        unsigned char moments[300] = {0};
        int64_t self = 0, busy = 0;
        kit_open(&k);
        struct kit_track *t = kit_thread(&k, 1);
        for (int i = 0; i < 40; i++) {
            seed = seed * 1664525u + 1013904223u;
            const unsigned begin = (seed >> 8) % 250, dur = (seed >> 20) % 40;
            static const char *const names[] = {"a", "b", "c", "d"};
            kit_event(t, begin, begin + dur, CAT_OP, names[(seed >> 5) % 4]);
            memset(moments + begin, 1, dur);
        }
        struct table x = table_of(&k, OPS_BY_NAME);
        for (size_t i = 0; i < x.n; i++)
            self += x.v[i].self_ns;
        for (size_t i = 0; i < sizeof moments; i++)
            busy += moments[i];
        CHECK_INT(self, busy);
        arena_free(&x.arena);
    }
}

TEST(device_time_counts_for_the_operator_around_the_launch)
{
    struct kit k;
    kit_open(&k);
    struct kit_track *t = kit_thread(&k, 1);
    kit_event(t, 0, 100, CAT_OP, "aten::linear");
    kit_event(t, 10, 50, CAT_OP, "aten::addmm");
    kit_link(t, 20, 25, CAT_RUNTIME, "cudaLaunchKernel", 11);
    kit_link(t, 60, 65, CAT_RUNTIME, "cudaLaunchKernel", 12);
    kit_link(t, 200, 205, CAT_RUNTIME, "cudaLaunchKernel", 13);
    struct kit_track *s = kit_stream(&k, 0, 7);
    kit_link(s, 1000, 1400, CAT_KERNEL, "void gemm<4>(int)", 11);
    kit_link(s, 1400, 1420, CAT_KERNEL, "void gemm<4>(int)", 11); /* a graph: one launch, more */
    kit_link(s, 1500, 1530, CAT_MEMCPY, "Memcpy HtoD", 12);
    kit_link(s, 1600, 1601, CAT_MEMSET, "Memset", 13);
    kit_link(s, 1700, 1705, CAT_KERNEL, "lost", 99);
    struct table x = table_of(&k, OPS_BY_NAME);
    const struct op_row *addmm = row(&x, OP_CPU, "aten::addmm");
    const struct op_row *linear = row(&x, OP_CPU, "aten::linear");
    const struct op_row *gemm = row(&x, OP_GPU, "gemm<4>");
    CHECK_INT(addmm->device_self_ns, 420);
    CHECK_INT(addmm->device_total_ns, 420);
    CHECK_INT(linear->device_self_ns, 30);
    CHECK_INT(linear->device_total_ns, 450);
    CHECK_INT(row(&x, OP_CPU, "cudaLaunchKernel")->device_self_ns, 1);
    CHECK_STR(gemm->full, "void gemm<4>(int)");
    CHECK_INT(gemm->calls, 2);
    CHECK_INT(gemm->self_ns, 420);
    CHECK_INT(row(&x, OP_GPU, "lost")->self_ns, 5);
    arena_free(&x.arena);
}

TEST(a_track_in_pieces_gives_the_same_table)
{
    struct kit k;
    struct table whole, pieces = {0};
    kit_open(&k);
    struct kit_track *t = kit_thread(&k, 1), *s = kit_stream(&k, 0, 7);
    kit_event(t, 0, 100, CAT_OP, "outer");
    kit_event(t, 10, 50, CAT_OP, "inner");
    kit_link(t, 20, 25, CAT_RUNTIME, "launch", 11);
    kit_link(s, 1000, 1400, CAT_KERNEL, "one", 11);
    kit_link(s, 1400, 1420, CAT_KERNEL, "two", 11);
    whole = table_of(&k, OPS_BY_NAME);
    struct ops *o = ops_open(OPS_BY_NAME);
    ops_process(o, NULL);
    for (size_t i = 0; i < k.n; i++) {
        ops_track_begin(o, &k.tracks[i].track);
        for (size_t e = 0; e < k.tracks[i].n; e++)
            ops_events(o, &k.tracks[i].v[e], 1);
        ops_track_end(o);
    }
    ops_process_end(o);
    ops_rows(o, &pieces.arena, &pieces.v, &pieces.n);
    ops_close(o);
    CHECK_INT(pieces.n, 5);
    CHECK_INT(whole.n, 5);
    check(&pieces, "outer", 1, 60, 100);
    for (size_t i = 0; i < whole.n; i++) {
        CHECK_STR(pieces.v[i].name, whole.v[i].name);
        CHECK_INT(pieces.v[i].self_ns, whole.v[i].self_ns);
        CHECK_INT(pieces.v[i].device_total_ns, whole.v[i].device_total_ns);
    }
    arena_free(&whole.arena);
    arena_free(&pieces.arena);
}

TEST(recursion_counts_device_time_once_in_the_total)
{
    struct kit k;
    kit_open(&k);
    struct kit_track *t = kit_thread(&k, 1);
    kit_event(t, 0, 100, CAT_OP, "f");
    kit_event(t, 10, 50, CAT_OP, "f");
    kit_link(t, 20, 25, CAT_RUNTIME, "cudaLaunchKernel", 11);
    kit_link(kit_stream(&k, 0, 7), 1000, 1400, CAT_KERNEL, "k", 11);
    struct table x = table_of(&k, OPS_BY_NAME);
    CHECK_INT(row(&x, OP_CPU, "f")->device_self_ns, 400);
    CHECK_INT(row(&x, OP_CPU, "f")->device_total_ns, 400);
    arena_free(&x.arena);
}

TEST(a_launch_that_names_its_operator_counts_for_that_one)
{
    struct kit k;
    kit_open(&k);
    struct kit_track *t = kit_thread(&k, 1);
    kit_event(t, 0, 100, CAT_OP, "outer")->parent = 500;
    kit_event(t, 10, 50, CAT_OP, "inner")->parent = 501;
    struct event *launch = kit_event(t, 20, 20, CAT_RUNTIME, "cudaLaunchKernel");
    launch->link = 11;
    launch->parent = 500;
    kit_link(kit_stream(&k, 0, 7), 1000, 1400, CAT_KERNEL, "k", 11);
    struct table x = table_of(&k, OPS_BY_NAME);
    CHECK_INT(row(&x, OP_CPU, "outer")->device_self_ns, 400);
    CHECK_INT(row(&x, OP_CPU, "inner")->device_self_ns, 0);
    arena_free(&x.arena);
}

TEST(steps_python_functions_and_annotations_of_devices_are_no_operators)
{
    struct kit k;
    kit_open(&k);
    struct kit_track *t = kit_thread(&k, 1);
    kit_step(t, 0, 100, 3);
    kit_event(t, 0, 90, CAT_PYTHON, "train.py(3): main");
    kit_event(t, 10, 20, CAT_OP, "f");
    kit_event(kit_stream(&k, 0, 7), 0, 50, CAT_USER, "ProfilerStep#3");
    struct table x = table_of(&k, OPS_BY_NAME);
    CHECK_INT(x.n, 1);
    CHECK_STR(x.v[0].name, "f");
    arena_free(&x.arena);
}

TEST(by_module_time_and_device_time_count_for_the_innermost_module)
{
    struct kit k;
    kit_open(&k);
    struct kit_track *t = kit_thread(&k, 1);
    kit_event(t, 0, 100, CAT_PYTHON, "nn.Module: Net_0");
    kit_event(t, 5, 95, CAT_PYTHON, "net.py(9): forward");
    kit_event(t, 10, 40, CAT_PYTHON, "nn.Module: Linear_0");
    kit_event(t, 15, 35, CAT_OP, "aten::addmm");
    kit_link(t, 20, 25, CAT_RUNTIME, "cudaLaunchKernel", 11);
    kit_link(t, 50, 55, CAT_RUNTIME, "cudaLaunchKernel", 12);
    kit_link(t, 150, 155, CAT_RUNTIME, "cudaLaunchKernel", 13);
    struct kit_track *s = kit_stream(&k, 0, 7);
    kit_link(s, 1000, 1400, CAT_KERNEL, "a", 11);
    kit_link(s, 1500, 1530, CAT_KERNEL, "b", 12);
    kit_link(s, 1600, 1607, CAT_KERNEL, "c", 13);
    struct table x = table_of(&k, OPS_BY_MODULE);
    check(&x, "Net_0", 1, 70, 100);
    check(&x, "Linear_0", 1, 30, 30);
    const struct op_row *net = row(&x, OP_GPU, "Net_0"), *linear = row(&x, OP_GPU, "Linear_0");
    CHECK_INT(net->self_ns, 30);
    CHECK_INT(net->total_ns, 430);
    CHECK_INT(net->calls, 1);
    CHECK_INT(linear->self_ns, 400);
    CHECK_STR(linear->full, "nn.Module: Linear_0");
    CHECK_INT(row(&x, OP_GPU, "(no module)")->self_ns, 7);
    CHECK_INT(x.n, 5);
    arena_free(&x.arena);
}

TEST(threads_and_ranks_add_up_and_links_of_one_rank_mean_nothing_to_another)
{
    struct kit a, b;
    struct table x = {0};
    struct ops *o = ops_open(OPS_BY_NAME);
    kit_open(&a);
    kit_open(&b);
    struct kit_track *first = kit_thread(&a, 1), *second = kit_thread(&a, 2);
    kit_event(first, 0, 10, CAT_OP, "f");
    kit_event(second, 5, 25, CAT_OP, "f");
    kit_link(second, 6, 7, CAT_RUNTIME, "launch", 1);
    struct kit_track *other = kit_thread(&b, 1);
    kit_event(other, 0, 40, CAT_OP, "f");
    kit_link(kit_stream(&b, 0, 7), 50, 60, CAT_KERNEL, "k", 1);
    feed(o, &a);
    feed(o, &b);
    ops_rows(o, &x.arena, &x.v, &x.n);
    ops_close(o);
    check(&x, "f", 3, 69, 70);
    CHECK_INT(row(&x, OP_CPU, "f")->device_total_ns, 0);
    arena_free(&x.arena);
}

TEST(a_trace_without_events_has_no_rows)
{
    struct kit k;
    kit_open(&k);
    kit_thread(&k, 1);
    kit_stream(&k, 0, 7);
    struct table x = table_of(&k, OPS_BY_NAME);
    CHECK_INT(x.n, 0);
    arena_free(&x.arena);
}

TEST(nesting_of_a_hundred_thousand_and_as_many_names_are_fine)
{
    enum { DEEP = 100000 };
    struct run_event *v = xcalloc(DEEP, sizeof *v);
    char(*names)[16] = xcalloc(DEEP, sizeof *names);
    struct run_track track = {.track = {.kind = TRACK_THREAD}};
    struct table x = {0};
    for (int i = 0; i < DEEP; i++) {
        snprintf(names[i], sizeof names[i], "op%d", i);
        v[i].at.ns = i;
        v[i].event = (struct event){
            .dur_ns = 2 * DEEP - 2 * i, .kind = EVENT_SPAN, .category = CAT_OP, .name = names[i]};
    }
    struct ops *o = ops_open(OPS_BY_NAME);
    ops_process(o, NULL);
    ops_track(o, &track, v, DEEP);
    ops_process_end(o);
    ops_rows(o, &x.arena, &x.v, &x.n);
    ops_close(o);
    CHECK_INT(x.n, DEEP);
    check(&x, "op0", 1, 2, 2 * DEEP);
    check(&x, "op99999", 1, 2, 2);
    free(v);
    free(names);
    arena_free(&x.arena);
}

/* ---- the parts ---- */

TEST(a_name_has_one_number_whatever_its_address)
{
    struct op_names t;
    char a[] = "one", b[] = "one", c[] = "two";
    op_names_open(&t);
    const uint32_t first = op_names_id(&t, a);
    CHECK_INT(op_names_id(&t, b), first);
    CHECK(op_names_id(&t, c) != first);
    c[0] = a[0], c[1] = a[1], c[2] = a[2]; /* the memory is used anew */
    op_names_turn(&t);
    CHECK_INT(op_names_id(&t, c), first);
    CHECK_INT(t.n, 2);
    op_names_close(&t);
}

TEST(launches_are_found_whatever_their_links_look_like)
{
    static const uint64_t steps[] = {1, 7, 512, 4096, 1u << 20, (uint64_t)1 << 40};
    for (size_t s = 0; s < COUNT_OF(steps); s++) {
        struct launches l = {0};
        for (uint32_t i = 1; i <= 20000; i++)
            launches_add(&l, &(struct launch){.link = i * steps[s], .owner = i});
        CHECK(launches_find(&l, steps[s]) == NULL); /* not indexed yet */
        launches_index(&l);
        for (uint32_t i = 1; i <= 20000; i++)
            CHECK_INT(launches_find(&l, i * steps[s])->owner, i);
        CHECK(launches_find(&l, 20001 * steps[s]) == NULL);
        CHECK(launches_find(&l, 0) == NULL);
        launches_free(&l);
    }
}

/* Sorted but for neighbours, in intervals of some length, and in no order at all; links twice. */
TEST(launches_are_found_in_whatever_order_they_were_made)
{
    enum { CALLS = 3000 };
    static const uint32_t lengths[] = {CALLS, 500, 100, 7, 1};
    for (size_t s = 0; s < COUNT_OF(lengths); s++) {
        struct launches l = {0};
        uint64_t links[CALLS];
        uint32_t first[2 * CALLS + 9] = {0}, draw = 1;
        for (uint32_t i = 0; i < CALLS; i++) {
            draw = draw * 1664525u + 1013904223u;
            const uint32_t at = i % lengths[s] * (CALLS / lengths[s]) + i / lengths[s];
            links[i] = 1 + 2 * (uint64_t)(at / 2) + (draw >> 8) % 8;
            launches_add(&l, &(struct launch){.link = links[i], .owner = i + 1});
            first[links[i]] = first[links[i]] ? first[links[i]] : i + 1;
        }
        launches_index(&l);
        for (uint32_t i = 0; i < CALLS; i++) {
            CHECK_INT(launches_find(&l, links[CALLS - 1 - i])->owner, first[links[CALLS - 1 - i]]);
            CHECK_INT(launches_find(&l, links[i])->owner, first[links[i]]);
        }
        for (uint64_t link = 1; link < COUNT_OF(first); link++)
            CHECK((launches_find(&l, link) == NULL) == (first[link] == 0));
        launches_free(&l);
    }
}

TEST(of_two_launches_with_one_link_the_first_counts)
{
    struct launches l = {0};
    launches_add(&l, &(struct launch){.link = 5, .owner = 1});
    launches_add(&l, &(struct launch){.link = 5, .owner = 2});
    launches_index(&l);
    CHECK_INT(launches_find(&l, 5)->owner, 1);
    launches_free(&l);
}

/* ---- what is no operator ---- */

TEST(spans_of_hooks_are_no_operators_but_an_annotation_of_the_same_name_is_one)
{
    struct kit k;
    kit_open(&k);
    struct kit_track *t = kit_thread(&k, 1);
    kit_event(t, 0, 100, CAT_PHASE, "forward");
    kit_event(t, 100, 150, CAT_LOADER, "data");
    kit_event(t, 150, 160, CAT_MEMCPY, "h2d");
    struct table none = table_of(&k, OPS_BY_NAME);
    CHECK_INT(none.n, 0);
    arena_free(&none.arena);
    kit_event(t, 200, 300, CAT_USER, "forward");
    struct table some = table_of(&k, OPS_BY_NAME);
    CHECK_INT(some.n, 1);
    check(&some, "forward", 1, 100, 100);
    arena_free(&some.arena);
}

TEST(ranges_of_modules_take_no_time_from_operators)
{
    struct kit k;
    kit_open(&k);
    struct kit_track *t = kit_thread(&k, 1);
    kit_event(t, 0, 100, CAT_USER, "module: net (Net)");
    kit_event(t, 10, 40, CAT_OP, "aten::mm");
    struct table names = table_of(&k, OPS_BY_NAME);
    CHECK_INT(names.n, 1);
    check(&names, "aten::mm", 1, 30, 30);
    arena_free(&names.arena);
}
