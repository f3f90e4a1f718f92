/* SPDX-License-Identifier: Apache-2.0 */
#include "query/general.h"
#include "query/recordkit.h"
#include "test.h"

enum { MOST = 24 };

/* "checkpoints 3x 9/6 of 100 by 2": spans, time, the longest, how long it was heard, threads. */
static const char *general_text(const char *run, size_t most)
{
    static char out[1024];
    struct arena a = {0};
    struct run *r;
    struct general g;
    struct err e;
    size_t len = 0;
    OK(run_open(&r, run, &e));
    OK(general_read(r, most, &a, &g, &e));
    out[0] = '\0';
    for (size_t i = 0; i < g.n; i++) {
        const struct general_row *x = &g.rows[i];
        len += (size_t)snprintf(out + len, sizeof out - len, "%s%s %llux %.0f/%.0f of %.0f by %zu",
                                i ? ", " : "", x->what, (unsigned long long)x->count,
                                x->total_s * 1e9, x->longest_s * 1e9, x->lived_s * 1e9, x->threads);
        NEAR(x->share, x->total_s / x->lived_s, 1e-12);
    }
    if (g.left_out)
        snprintf(out + len, sizeof out - len, " and %zu", g.left_out);
    run_close(r);
    arena_free(&a);
    return out;
}

static const char *recorded(const char *name, const char *text)
{
    const char *run = kit_run(name, "r", "r", KIT_START);
    struct recordkit k = recordkit_open(run, "a");
    recordkit_thread(k.events, 7, 7, 1000, text);
    recordkit_close(&k, 0, NS_PER_S, "finished");
    return run;
}

TEST(kinds_of_spans_are_summed_up_the_longest_first_and_passes_are_left_out)
{
    const char *run =
        recorded("r", "L4000 D5000 H2000 F30000 B40000 O1000 D9000 H1000 C6000 X1000");
    CHECK_STR(general_text(run, MOST),
              "waiting for data 2x 14000/9000 of 99000 by 1, collectives 1x 6000/6000 of 99000 by "
              "1, starting loaders 1x 4000/4000 of 99000 by 1, copies to and from devices 2x "
              "3000/2000 of 99000 by 1, compilation 1x 1000/1000 of 99000 by 1");
}

TEST(a_span_of_the_programs_own_has_its_name)
{
    CHECK_STR(general_text(recorded("r", "U7000 F3000"), MOST),
              "augment 1x 7000/7000 of 10000 by 1");
}

TEST(a_span_inside_another_of_its_kind_counts_once_inside_another_kind_for_itself)
{
    CHECK_STR(general_text(recorded("r", "K9000(C3000(C1000)) .1000 C5000"), MOST),
              "checkpoints 1x 9000/9000 of 15000 by 1, collectives 3x 8000/5000 of 15000 by 1");
}

TEST(threads_of_all_processes_count_and_so_does_how_long_each_was_heard)
{
    const char *run = kit_run("r", "r", "r", KIT_START);
    struct recordkit k = recordkit_open(run, "a");
    recordkit_thread(k.events, 7, 7, 0, "K9000 F1000");
    recordkit_thread(k.events, 7, 8, 2000, "K2000"); /* at the same time, in the same process */
    recordkit_thread(k.events, 8, 8, 0, "F20000 K1000 F9000");
    recordkit_thread(k.events, 9, 9, 0, "F50000"); /* told of none */
    recordkit_close(&k, 0, NS_PER_S, "finished");
    CHECK_STR(general_text(run, MOST), "checkpoints 3x 12000/9000 of 50000 by 3");
}

TEST(only_the_longest_are_kept_and_the_others_counted)
{
    CHECK_STR(general_text(recorded("r", "D5000 H2000 K1000"), 1),
              "waiting for data 1x 5000/5000 of 8000 by 1 and 2");
}

TEST(detail_windows_and_runs_that_said_nothing_have_none)
{
    const char *run = kit_run("r", "r", "r", KIT_START);
    struct recordkit k = recordkit_open(run, "a");
    struct writer *detail = recordkit_beside(&k, "trace-7-0");
    struct err e;
    recordkit_thread(detail, 7, 7, 0, "K9000 C1000 U1000");
    OK(writer_close(detail, &e));
    recordkit_close(&k, 0, NS_PER_S, "finished");
    CHECK_STR(general_text(run, MOST), "");
}
