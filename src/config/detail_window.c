/* SPDX-License-Identifier: Apache-2.0 */
/* detail_window.c - see detail_window.h. */
#include "config/detail_window.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"

enum { FIELD_LEN = 40, FIELDS_MOST = 4, DECIMALS = 9 };

const char *const python_profiler_names[PROFILER_N] = {
    [PROFILER_CPROFILE] = "cprofile",
    [PROFILER_SAMPLING] = "sampling",
};

const char *const python_timer_names[TIMER_N] = {
    [TIMER_TOTAL] = "total_time",
    [TIMER_CPU] = "cpu_time",
    [TIMER_OFF_CPU] = "off_cpu_time",
    [TIMER_EACH] = "default",
};

/* ---- parts of a window ---- */

/* One window's text, cut at its colons. */
struct detail_window_fields {
    size_t n;
    char v[FIELDS_MOST][FIELD_LEN];
};

static int detail_window_split(struct detail_window_fields *f, const char *text, size_t len,
                               size_t most, struct err *e)
{
    *f = (struct detail_window_fields){0};
    for (size_t at = 0; at <= len;) {
        const char *colon = memchr(text + at, ':', len - at);
        const size_t n = colon ? (size_t)(colon - text) - at : len - at;
        if (f->n == most || n >= FIELD_LEN)
            return err_set(e, ERR_USAGE, "'%.*s' is too long for a detail window",
                           (int)MIN_OF(len, (size_t)60), text);
        memcpy(f->v[f->n++], text + at, n);
        at += n + 1;
    }
    return 0;
}

static bool is_digits(const char *s)
{
    return *s && s[strspn(s, "0123456789")] == 0;
}

/* A whole number from lo to hi. */
static int detail_window_read_whole(const char *what, const char *s, int64_t lo, int64_t hi,
                                    int64_t *out, struct err *e)
{
    int64_t v = 0;
    bool fits = is_digits(s);
    for (const char *p = s; fits && *p; p++) {
        v = v * 10 + (*p - '0');
        fits = v <= hi;
    }
    if (!fits || v < lo)
        return err_set(e, ERR_USAGE, "%s: '%s' is not a number from %" PRId64 " to %" PRId64, what,
                       s, lo, hi);
    *out = v;
    return 0;
}

/* A duration with its unit: "10" could be seconds as well as milliseconds or steps. */
static int detail_window_read_time(const char *what, const char *s, int64_t lo, int64_t hi,
                                   int64_t *out, struct err *e)
{
    if (*s && s[strspn(s, "0123456789.")] == 0)
        return err_set(e, ERR_USAGE, "%s: '%s' has no unit (example: %ss)", what, s, s);
    int64_t ns;
    TRY(duration_parse_within(what, s, lo, hi, &ns, e));
    *out = (ns + NS_PER_US / 2) / NS_PER_US * NS_PER_US; /* what print_time writes exactly */
    return 0;
}

/* "1700000000.25" */
static int read_epoch(const char *s, int64_t *out, struct err *e)
{
    char whole[FIELD_LEN];
    const size_t n = strspn(s, "0123456789");
    const char *fraction = s[n] == '.' ? s + n + 1 : s + n;
    int64_t seconds = 0, ns = 0;
    snprintf(whole, sizeof whole, "%.*s", (int)n, s);
    if ((s[n] && s[n] != '.') || strlen(fraction) > DECIMALS || (*fraction && !is_digits(fraction)))
        return err_set(e, ERR_USAGE, "'%s' is not a time in seconds since the epoch", s);
    TRY(detail_window_read_whole("seconds since the epoch", whole, WINDOW_WALL_LEAST_S,
                                 WINDOW_WALL_MOST_S, &seconds, e));
    for (int i = 0; i < DECIMALS; i++)
        ns = ns * 10 + (*fraction ? *fraction++ - '0' : 0);
    *out = seconds * NS_PER_S + ns;
    return 0;
}

/* ---- one window ---- */

bool window_is_timed(const struct window *w)
{
    return w->start == START_AFTER || w->start == START_WALL ||
           (w->start == START_NOW && w->span_ns > 0);
}

static int read_start(struct window *w, const char *s, enum window_kinds kinds, struct err *e)
{
    if (strcmp(s, "now") == 0) {
        w->start = START_NOW;
        return 0;
    }
    if (*s == '+') {
        w->start = START_AFTER;
        return detail_window_read_time("start", s + 1, 0, WINDOW_AFTER_MOST_NS, &w->at, e);
    }
    if (*s == '@' || (kinds == WINDOWS_OF_TIMES && *s && !s[strspn(s, "0123456789.")])) {
        w->start = START_WALL;
        return read_epoch(*s == '@' ? s + 1 : s, &w->at, e);
    }
    if (kinds == WINDOWS_OF_TIMES)
        return err_set(e, ERR_USAGE,
                       "'%s' is not a start time (examples: +60s for 60 s after the start, or "
                       "seconds since the epoch)",
                       s);
    if (!is_digits(s))
        return err_set(e, ERR_USAGE, "'%s' is not a start step; write START:COUNT, for example 5:2",
                       s);
    w->start = START_STEP;
    return detail_window_read_whole("start", s, 0, WINDOW_STEP_MOST, &w->at, e);
}

/* s: "": not given */
static int read_length(struct window *w, const char *s, struct err *e)
{
    const bool time =
        w->start == START_AFTER || w->start == START_WALL || (w->start == START_NOW && *s);
    if (!*s) {
        w->steps = 1;
        return 0;
    }
    if (time && !(w->start == START_NOW && is_digits(s)))
        return detail_window_read_time("length", s, NS_PER_US, WINDOW_SPAN_MOST_NS, &w->span_ns, e);
    return detail_window_read_whole("number of steps", s, 1, WINDOW_STEPS_MOST, &w->steps, e);
}

static int detail_window_read(struct window *out, const struct detail_window_fields *f,
                              enum window_kinds kinds, struct err *e)
{
    struct window w = {0};
    TRY(read_start(&w, f->v[0], kinds, e));
    TRY(read_length(&w, f->n > 1 ? f->v[1] : "", e));
    if (kinds == WINDOWS_OF_STEPS && window_is_timed(&w))
        return err_set(e, ERR_USAGE, "'%s' is a time, not a step", f->v[0]);
    if (kinds == WINDOWS_OF_TIMES && !window_is_timed(&w))
        return err_set(e, ERR_USAGE, "'now' needs a duration (example: now:10s)");
    *out = w;
    return 0;
}

/* ---- lists ---- */

/* Index of the word, or -1 with a sentence. "": the first one. */
static int detail_window_choose(const char *what, const char *word, const char *const *names,
                                size_t n, struct err *e)
{
    struct nearest near = nearest_to(word);
    if (!*word)
        return 0;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(names[i], word) == 0)
            return (int)i;
        nearest_offer(&near, names[i]);
    }
    if (near.best)
        err_set(e, ERR_USAGE, "unknown %s '%s' (did you mean '%s'?)", what, word, near.best);
    else
        err_set(e, ERR_USAGE, "unknown %s '%s'; use %s or %s", what, word, names[0], names[1]);
    return -1;
}

static int detail_window_read_python(struct window *w, const struct detail_window_fields *f,
                                     struct err *e)
{
    const int profiler =
        detail_window_choose("profiler", f->v[2], python_profiler_names, PROFILER_N, e);
    if (profiler < 0)
        return e->code;
    const int timer = detail_window_choose("timer", f->v[3], python_timer_names, TIMER_N, e);
    if (timer < 0)
        return e->code;
    if (profiler == PROFILER_SAMPLING && timer != TIMER_TOTAL)
        return err_set(e, ERR_USAGE, "sampling supports only the timer total_time, not '%s'",
                       f->v[3]);
    w->profiler = (enum python_profiler)profiler;
    w->timer = (enum python_timer)timer;
    return 0;
}

/* Cuts the next of a list; false at its end. */
static bool next_part(const char **at, const char **part, size_t *len)
{
    if (!*at)
        return false;
    const char *comma = strchr(*at, ',');
    *part = *at + strspn(*at, " ");
    *len = comma ? (size_t)(comma - *part) : strlen(*part);
    while (*len > 0 && (*part)[*len - 1] == ' ')
        --*len;
    *at = comma ? comma + 1 : NULL;
    return true;
}

int window_list_parse(struct window_list *l, const char *text, enum window_kinds kinds, bool python,
                      struct err *e)
{
    struct window_list to = *l;
    const char *part;
    size_t len;
    while (next_part(&text, &part, &len)) {
        struct detail_window_fields f;
        if (to.n == WINDOWS_MOST)
            return err_set(e, ERR_USAGE, "more than %d detail windows", WINDOWS_MOST);
        TRY(detail_window_split(&f, part, len, python ? FIELDS_MOST : 2, e));
        TRY(detail_window_read(&to.v[to.n], &f, kinds, e));
        if (python)
            TRY(detail_window_read_python(&to.v[to.n], &f, e));
        to.n++;
    }
    *l = to;
    return 0;
}

/* ---- printing ---- */

static void detail_window_print_time(struct buf *out, int64_t ns)
{
    if (ns % NS_PER_S == 0)
        buf_printf(out, "%" PRId64 "s", ns / NS_PER_S);
    else if (ns % NS_PER_MS == 0)
        buf_printf(out, "%" PRId64 "ms", ns / NS_PER_MS);
    else
        buf_printf(out, "%" PRId64 "us", ns / NS_PER_US);
}

static void print_epoch(struct buf *out, int64_t ns)
{
    buf_printf(out, "@%" PRId64, ns / NS_PER_S);
    if (ns % NS_PER_S == 0)
        return;
    buf_printf(out, ".%09" PRId64, ns % NS_PER_S);
    while (out->p[out->len - 1] == '0')
        out->len--;
}

void window_print(struct buf *out, const struct window *w)
{
    switch (w->start) {
    case START_STEP:
        buf_printf(out, "%" PRId64, w->at);
        break;
    case START_AFTER:
        buf_u8(out, '+');
        detail_window_print_time(out, w->at);
        break;
    case START_WALL:
        print_epoch(out, w->at);
        break;
    case START_NOW:
        buf_printf(out, "now");
        break;
    }
    const bool timed = w->start == START_AFTER || w->start == START_WALL;
    if (w->span_ns > 0) {
        buf_u8(out, ':');
        detail_window_print_time(out, w->span_ns);
    } else if (!timed) {
        buf_printf(out, ":%" PRId64, w->steps);
    }
}

void python_window_print(struct buf *out, const struct window *w)
{
    const bool bare = window_is_timed(w) && w->span_ns == 0;
    window_print(out, w);
    buf_printf(out, "%s:%s", bare ? ":" : "", python_profiler_names[w->profiler]);
    if (w->profiler == PROFILER_CPROFILE)
        buf_printf(out, ":%s", python_timer_names[w->timer]);
}
