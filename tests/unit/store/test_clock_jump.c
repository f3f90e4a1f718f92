/* SPDX-License-Identifier: Apache-2.0 */
/* A wall clock that is set while two files are written; the clock is the test's own. */
#include "base/mem.h"
#include "store/eventkit.h"
#include "test.h"

static struct clock_tie now = {{5 * NS_PER_S}, {1000 * NS_PER_S}};

struct clock_tie __wrap_clock_tie_now(void);

struct clock_tie __wrap_clock_tie_now(void)
{
    return now;
}

static void flush(struct kit_pair *w)
{
    struct err e;
    OK(writer_flush(w->events, false, &e));
    OK(writer_flush(w->metrics, false, &e));
}

static void pass(int64_t mono, int64_t wall)
{
    now.mono.ns += mono;
    now.wall.ns += wall;
}

TEST(a_jump_of_the_clock_is_followed_in_both_files_and_marked_in_one)
{
    struct kit_pair w = kit_open_pair(kit_path("node-a"));
    const struct track t = kit_track(0);
    struct event v = {.at = now.mono, .kind = EVENT_MARK, .name = "x"};
    static const char *const files[] = {"metrics.fp", "events.fp"};
    flush(&w);
    pass(NS_PER_S, NS_PER_S + 500 * NS_PER_S);
    v.at = now.mono;
    kit_tell(writer_sink(w.events), &t, &v);
    flush(&w);
    kit_close_pair(&w);
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        struct store *s;
        struct err e;
        OK(store_open(&s, kit_path("node-a/%s", files[i]), &e));
        CHECK_INT(store_wall(s, 5500000).ns, 1000 * NS_PER_S + 500 * NS_PER_MS);
        CHECK_INT(store_wall(s, 6000000).ns, 1501 * NS_PER_S);
        CHECK_INT(s->n_marks, i == 0);
        store_close(s);
    }
}
