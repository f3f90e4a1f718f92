/* SPDX-License-Identifier: Apache-2.0 */
/* settings_sane.h - what must hold for settings, whatever they were read from. Aborts. */
#ifndef FUZZ_SETTINGS_SANE_H
#define FUZZ_SETTINGS_SANE_H

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "config/settings.h"

static inline void must(bool holds)
{
    if (!holds)
        abort();
}

static inline void check_window(const struct window *w)
{
    must(w->start != START_STEP || (w->at >= 0 && w->at <= WINDOW_STEP_MOST));
    must(w->start != START_AFTER || (w->at >= 0 && w->at <= WINDOW_AFTER_MOST_NS));
    must(w->start != START_WALL || w->at >= WINDOW_WALL_LEAST_S * NS_PER_S);
    must(w->span_ns == 0 ? w->steps >= 1 && w->steps <= WINDOW_STEPS_MOST : w->steps == 0);
    must(w->span_ns >= 0 && w->span_ns <= WINDOW_SPAN_MOST_NS);
}

/* What is printed is what would be read. */
static inline void check_prints(const struct settings *s, struct arena *a)
{
    const struct origin o = {FROM_FILE, "again"};
    struct settings back;
    struct err e;
    settings_init(&back, a);
    for (size_t i = 0; i < SETTING_N; i++) {
        struct buf one = {0}, two = {0};
        if (i == SETTING_LABEL || i == SETTING_ACTIONS || i == SETTING_CUSTOM)
            continue; /* a comma may be in a label; of maps not all is printed */
        settings_table[i].print(s, (enum setting_id)i, &one);
        buf_u8(&one, 0);
        if (one.len > 1) {
            must(settings_apply(&back, (enum setting_id)i, (const char *)one.p, &o, &e) == 0);
            settings_table[i].print(&back, (enum setting_id)i, &two);
            buf_u8(&two, 0);
            must(strcmp((const char *)one.p, (const char *)two.p) == 0);
        }
        buf_free(&one);
        buf_free(&two);
    }
}

static inline void check_settings(const struct settings *s, struct arena *a)
{
    const struct clock_tie start = {{1}, {1700000000 * NS_PER_S}};
    must(s->interval_ns >= INTERVAL_MIN_NS && s->interval_ns <= INTERVAL_MAX_NS);
    must(s->detail.n <= WINDOWS_MOST && s->python.n <= WINDOWS_MOST);
    must(s->detail_ranks.n <= RANKS_MOST && s->problems.n <= REMARKS_MOST);
    for (size_t i = 0; i < s->detail.n; i++)
        check_window(&s->detail.v[i]);
    for (size_t i = 0; i < s->python.n; i++)
        check_window(&s->python.v[i]);
    struct buf b = settings_hook_config(s, 1, start);
    json_t *tree = json_loadb((const char *)b.p, b.len, 0, NULL);
    must(json_is_object(tree));
    json_decref(tree);
    buf_free(&b);
    check_prints(s, a);
}

#endif
