/* SPDX-License-Identifier: Apache-2.0 */
/* test_ops_modules.c - device time of the backward pass, for the modules of the forward pass. */
#include "query/ops.h"
#include "tracekit.h"

enum { FROM = 1, TO = 3 }; /* values of the two ends of an arrow */

struct table {
    struct arena arena;
    struct op_row *v;
    size_t n;
};

static struct table modules_of(struct kit *k)
{
    struct table t = {0};
    struct ops *o = ops_open(OPS_BY_MODULE);
    kit_sort(k);
    ops_process(o, NULL);
    for (size_t i = 0; i < k->n; i++)
        ops_track(o, &k->tracks[i].track, k->tracks[i].v, k->tracks[i].n);
    ops_process_end(o);
    ops_rows(o, &t.arena, &t.v, &t.n);
    ops_close(o);
    return t;
}

/* Device time of a module, itself and with what is in it; -1 when it has none. */
static int64_t device_self(const struct table *t, const char *name, int64_t *total)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->v[i].device == OP_GPU && strcmp(t->v[i].name, name) == 0) {
            *total = t->v[i].total_ns;
            return t->v[i].self_ns;
        }
    return -1;
}

static void arrow(struct kit_track *t, int64_t at, uint64_t link, int64_t end)
{
    struct event *e = kit_event(t, at, at, CAT_OP, "fwdbwd");
    e->kind = EVENT_MARK;
    e->link = link;
    e->value = end;
}

/* Net_0 holds Linear_0, whose operator has arrow 5 to what runs backward for it. */
static void forward(struct kit_track *t)
{
    kit_event(t, 0, 100, CAT_PYTHON, "nn.Module: Net_0");
    kit_event(t, 10, 40, CAT_PYTHON, "nn.Module: Linear_0");
    kit_event(t, 15, 35, CAT_OP, "aten::addmm");
    arrow(t, 15, 5, FROM);
    kit_link(t, 20, 25, CAT_RUNTIME, "cudaLaunchKernel", 11);
}

static void backward(struct kit_track *t)
{
    kit_event(t, 200, 300, CAT_OP, "autograd::engine::evaluate_function: AddmmBackward0");
    kit_event(t, 210, 260, CAT_OP, "AddmmBackward0");
    arrow(t, 210, 5, TO);
    kit_link(t, 220, 225, CAT_RUNTIME, "cudaLaunchKernel", 12);
    kit_link(t, 270, 275, CAT_RUNTIME, "cudaLaunchKernel", 13); /* behind it, still its own */
    kit_event(t, 310, 350, CAT_OP, "autograd::engine::evaluate_function: AccumulateGrad");
    kit_link(t, 320, 325, CAT_RUNTIME, "cudaLaunchKernel", 14);
}

static void kernels(struct kit *k)
{
    struct kit_track *s = kit_stream(k, 0, 7);
    kit_link(s, 1000, 1400, CAT_KERNEL, "a", 11);
    kit_link(s, 1500, 1530, CAT_KERNEL, "b", 12);
    kit_link(s, 1600, 1607, CAT_KERNEL, "c", 13);
    kit_link(s, 1700, 1702, CAT_KERNEL, "d", 14);
}

static void check_shares(struct kit *k)
{
    struct table t = modules_of(k);
    int64_t total;
    CHECK_INT(device_self(&t, "Linear_0", &total), 437);
    CHECK_INT(total, 437);
    CHECK_INT(device_self(&t, "Net_0", &total), 0);
    CHECK_INT(total, 437);
    CHECK_INT(device_self(&t, "(no module)", &total), 2);
    arena_free(&t.arena);
}

TEST(what_the_backward_pass_launched_counts_for_the_module_of_the_forward_operator)
{
    struct kit k;
    kit_open(&k);
    forward(kit_thread(&k, 1));
    backward(kit_thread(&k, 2));
    kernels(&k);
    check_shares(&k);
}

TEST(it_does_not_matter_which_of_the_threads_comes_first)
{
    struct kit k;
    kit_open(&k);
    backward(kit_thread(&k, 2));
    forward(kit_thread(&k, 1));
    kernels(&k);
    check_shares(&k);
}

TEST(an_arrow_whose_begin_is_not_there_leads_to_no_module)
{
    struct kit k;
    kit_open(&k);
    backward(kit_thread(&k, 2));
    kernels(&k);
    struct table t = modules_of(&k);
    int64_t total;
    CHECK_INT(t.n, 1);
    CHECK_INT(device_self(&t, "(no module)", &total), 439);
    arena_free(&t.arena);
}

TEST(a_module_that_runs_within_the_backward_pass_counts_before_the_arrow)
{
    struct kit k;
    kit_open(&k);
    forward(kit_thread(&k, 1));
    struct kit_track *t = kit_thread(&k, 2);
    backward(t);
    kit_event(t, 215, 230, CAT_PYTHON, "nn.Module: Recomputed_0");
    kernels(&k);
    struct table x = modules_of(&k);
    int64_t total;
    CHECK_INT(device_self(&x, "Recomputed_0", &total), 30);
    CHECK_INT(device_self(&x, "Linear_0", &total), 407);
    arena_free(&x.arena);
}

TEST(arrows_of_one_process_mean_nothing_to_the_next)
{
    struct kit a, b;
    struct table t = {0};
    struct kit *const both[] = {&a, &b};
    kit_open(&a);
    forward(kit_thread(&a, 1));
    kernels(&a);
    kit_open(&b);
    backward(kit_thread(&b, 2));
    kernels(&b);
    struct ops *o = ops_open(OPS_BY_MODULE);
    for (size_t p = 0; p < 2; p++) {
        kit_sort(both[p]);
        ops_process(o, NULL);
        for (size_t i = 0; i < both[p]->n; i++)
            ops_track(o, &both[p]->tracks[i].track, both[p]->tracks[i].v, both[p]->tracks[i].n);
        ops_process_end(o);
    }
    ops_rows(o, &t.arena, &t.v, &t.n);
    ops_close(o);
    int64_t total;
    CHECK_INT(device_self(&t, "Linear_0", &total), 400);
    CHECK_INT(device_self(&t, "(no module)", &total), 39 + 439);
    arena_free(&t.arena);
}

/* ---- ranges of our own windows ---- */

/* As the hooks write them: "module: PATH (CLASS)", around each module's forward pass. */
static void forward_ranges(struct kit_track *t, enum event_category c)
{
    kit_event(t, 0, 100, c, "module: net (Net)");
    kit_event(t, 10, 40, c, "module: net.encoder.0 (Linear)");
    kit_event(t, 15, 35, CAT_OP, "aten::addmm");
    arrow(t, 15, 5, FROM);
    kit_link(t, 20, 25, CAT_RUNTIME, "cudaLaunchKernel", 11);
}

TEST(module_ranges_of_our_own_windows_are_modules_whatever_category_they_have)
{
    const enum event_category categories[] = {CAT_USER, CAT_OP};
    for (size_t i = 0; i < 2; i++) {
        struct kit k;
        kit_open(&k);
        forward_ranges(kit_thread(&k, 1), categories[i]);
        backward(kit_thread(&k, 2));
        kernels(&k);
        struct table t = modules_of(&k);
        int64_t total;
        CHECK_INT(device_self(&t, "net.encoder.0 (Linear)", &total), 437);
        CHECK_INT(device_self(&t, "net (Net)", &total), 0);
        CHECK_INT(total, 437);
        CHECK_INT(device_self(&t, "(no module)", &total), 2);
        arena_free(&t.arena);
    }
}

TEST(a_span_around_the_backward_pass_does_not_take_it_from_the_modules)
{
    struct kit k;
    kit_open(&k);
    struct kit_track *t = kit_thread(&k, 1); /* as with one thread for all */
    forward_ranges(t, CAT_USER);
    kit_event(t, 190, 400, CAT_USER, "training_step");
    backward(t);
    kernels(&k);
    struct table m = modules_of(&k);
    int64_t total;
    CHECK_INT(device_self(&m, "net.encoder.0 (Linear)", &total), 437);
    CHECK_INT(device_self(&m, "training_step", &total), 2);
    arena_free(&m.arena);
}
