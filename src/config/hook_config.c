/* SPDX-License-Identifier: Apache-2.0 */
/* hook_config.c - the configuration of the hooks in the job, and how it changes during the run. See
 * settings.h.
 *
 *     {"version":1, "generation":1, "job_start_ns":<CLOCK_MONOTONIC>,
 *      "detail":[WINDOW...], "detail_ranks":[0,1], "python":[WINDOW + "profiler", "timer"],
 *      "health":{...}}    see health_settings.c
 *
 * A WINDOW begins at "start_step" (a number), at "start_s" (seconds since job_start_ns, 0 or more)
 * or with "now":true, and lasts for "steps" or for "seconds". Without detail_ranks all ranks are
 * meant. What was over before the job began is left out. */
#include <string.h>

#include "base/json_write.h"
#include "config/settings.h"

/* ---- writing ---- */

/* The window as the job counts time: since its own start, never before it. False: it is over. */
static bool window_for_job(const struct window *w, const struct clock_tie *start,
                           struct window *out)
{
    *out = *w;
    if (w->start != START_WALL)
        return true;
    out->start = START_AFTER;
    out->at = w->at - start->wall.ns;
    if (out->at >= 0)
        return true;
    if (w->span_ns > 0)
        out->span_ns += out->at;
    out->at = 0;
    return w->span_ns == 0 || out->span_ns > 0;
}

/* w: of window_for_job */
static void put_window(struct jw *j, const struct window *w)
{
    if (w->start == START_STEP)
        jw_int(j, "start_step", w->at);
    else if (w->start == START_NOW)
        jw_bool(j, "now", true);
    else
        jw_num(j, "start_s", (double)w->at / 1e9);
    if (w->span_ns > 0)
        jw_num(j, "seconds", (double)w->span_ns / 1e9);
    else
        jw_int(j, "steps", w->steps);
}

static void hook_config_put_detail(struct jw *j, const struct window *w,
                                   const struct clock_tie *start)
{
    struct window at_job;
    if (!window_for_job(w, start, &at_job))
        return;
    jw_object(j, NULL);
    put_window(j, &at_job);
    jw_end(j);
}

static void put_timed(struct jw *j, const struct window *p)
{
    jw_object(j, NULL);
    put_window(j, p);
    jw_str(j, "profiler", python_profiler_names[p->profiler]);
    jw_str(j, "timer", python_timer_names[p->timer]);
    jw_end(j);
}

/* The third of a window that one timer gets; false: nothing is left for it. */
static bool third_of(const struct window *w, int k, struct window *out)
{
    *out = *w;
    if (w->span_ns > 0) {
        const int64_t from = w->span_ns * k / 3;
        out->at += from;
        out->span_ns = w->span_ns * (k + 1) / 3 - from;
        return out->span_ns > 0;
    }
    /* The first ones get what three does not divide. */
    const int64_t from = (w->steps * k + 2) / 3;
    out->at += from;
    out->steps = (w->steps * (k + 1) + 2) / 3 - from;
    return out->steps > 0;
}

/* The hooks know one timer for a window. One that begins now cannot be cut: it has no number. */
static void put_by_turns(struct jw *j, const struct window *p)
{
    struct window one = *p;
    const bool whole = p->start == START_NOW || (p->start == START_AFTER && p->span_ns == 0);
    for (int k = 0; k < (whole ? 1 : 3); k++) {
        if (!whole && !third_of(p, k, &one))
            continue;
        one.timer = (enum python_timer)(TIMER_TOTAL + k);
        put_timed(j, &one);
    }
}

static void put_python(struct jw *j, const struct window *p, const struct clock_tie *start)
{
    struct window at_job;
    if (!window_for_job(p, start, &at_job))
        return;
    if (p->timer == TIMER_EACH)
        put_by_turns(j, &at_job);
    else
        put_timed(j, &at_job);
}

static void put_ranks(struct jw *j, const struct rank_list *l)
{
    if (l->n == 0)
        return;
    jw_array(j, "detail_ranks");
    for (size_t i = 0; i < l->n; i++)
        jw_int(j, NULL, l->v[i]);
    jw_end(j);
}

struct buf settings_hook_config(const struct settings *s, uint64_t generation,
                                struct clock_tie job_start)
{
    struct buf b = {0};
    struct jw j = {.out = &b};
    jw_object(&j, NULL);
    jw_int(&j, "version", 1);
    jw_int(&j, "generation", (int64_t)generation);
    jw_int(&j, "job_start_ns", job_start.mono.ns);
    jw_array(&j, "detail");
    for (size_t i = 0; i < s->detail.n; i++)
        hook_config_put_detail(&j, &s->detail.v[i], &job_start);
    jw_end(&j);
    put_ranks(&j, &s->detail_ranks);
    jw_array(&j, "python");
    for (size_t i = 0; i < s->python.n; i++)
        put_python(&j, &s->python.v[i], &job_start);
    jw_end(&j);
    health_put_settings(&j, s);
    jw_end(&j);
    return b;
}

/* ---- changing ---- */

int settings_detail_parse(const char *text, struct window_list *out, struct err *e)
{
    struct window_list l = {0};
    if (strcmp(text, "off") != 0)
        TRY(window_list_parse(&l, text, WINDOWS_OF_BOTH, false, e));
    *out = l;
    return 0;
}

/* Whether a job that reads its windows anew would begin this one a second time. One that is running
 * continues. */
static bool is_served(const struct window *w, const struct clock_tie *start, mono_ns now)
{
    const int64_t elapsed = mono_diff(now, start->mono);
    const int64_t at = w->start == START_WALL ? w->at - start->wall.ns : w->at;
    if (w->start == START_STEP)
        return false; /* its number is past then */
    return w->start == START_NOW || at + w->span_ns <= elapsed;
}

static void forget_served(struct window_list *l, const struct clock_tie *start, mono_ns now)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++)
        if (!is_served(&l->v[i], start, now))
            l->v[n++] = l->v[i];
    l->n = n;
}

int settings_detail_change(struct settings *s, const struct window_list *wanted,
                           struct clock_tie job_start, mono_ns now, struct err *e)
{
    struct window_list to = wanted->n > 0 ? s->detail : (struct window_list){0};
    forget_served(&to, &job_start, now);
    if (to.n + wanted->n > WINDOWS_MOST)
        return err_set(e, ERR_USAGE, "more than %d detail windows; detail=off removes all",
                       WINDOWS_MOST);
    for (size_t i = 0; i < wanted->n; i++) {
        struct window w = wanted->v[i];
        if (w.start == START_AFTER)
            w.at += mono_diff(now, job_start.mono);
        to.v[to.n++] = w;
    }
    s->detail = to;
    forget_served(&s->python, &job_start, now);
    return 0;
}
