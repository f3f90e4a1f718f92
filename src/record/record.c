/* SPDX-License-Identifier: Apache-2.0 */
/* record.c - the tables behind record.h. */
#include "record/record.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define METRIC(id, name, unit, kind, count, step, hi, per, title)                                  \
    [M_##id] = {name, UNIT_##unit, KIND_##kind, count, step, hi, PER_##per, title},
const struct metric metrics[METRIC_N] = {
#include "record/metrics.def"
};
#undef METRIC

#define LOSS(id, name, help) [LOSS_##id] = {name, help},
const struct word losses[LOSS_N] = {
#include "record/losses.def"
};
#undef LOSS

#define MARK(id, name, number, help) [MARK_##id] = {name, number, help},
const struct mark_word marks[MARK_N] = {
#include "record/marks.def"
};
#undef MARK

static const char *const unit_names[UNIT_N] = {
    [UNIT_COUNT] = "",         [UNIT_PERCENT] = "%",
    [UNIT_BYTES] = "B",        [UNIT_BYTES_PER_SECOND] = "B/s",
    [UNIT_PER_SECOND] = "1/s", [UNIT_SECONDS] = "s",
    [UNIT_WATT] = "W",         [UNIT_MEGAHERTZ] = "MHz",
    [UNIT_CELSIUS] = "C",      [UNIT_BITS] = "bits",
};

const char *unit_name(enum unit u)
{
    return unit_names[u];
}

enum unit unit_find(const char *name)
{
    enum unit u = 0;
    while (u < UNIT_N && strcmp(unit_names[u], name) != 0)
        u++;
    return u;
}

enum metric_id metric_find(const char *name)
{
    enum metric_id m = 0;
    while (m < METRIC_N && strcmp(metrics[m].name, name) != 0)
        m++;
    return m;
}

bool loss_same(const struct loss *a, const struct loss *b)
{
    return a->id == b->id && strcmp(a->what, b->what) == 0 && strcmp(a->why, b->why) == 0;
}

/* A text that is too long ends with a whole word, so that no number in it becomes another. */
__attribute__((format(printf, 2, 0))) static void record_put_text(char text[TEXT_LEN],
                                                                  const char *fmt, va_list ap)
{
    static const char more[] = " ...";
    if (vsnprintf(text, TEXT_LEN, fmt, ap) < TEXT_LEN)
        return;
    size_t at = TEXT_LEN - sizeof more;
    while (at > 0 && text[at] != ' ')
        at--;
    if (at > 0)
        memcpy(text + at, more, sizeof more);
}

static struct sink *behind(struct sink *s)
{
    return ((struct sink_pass *)s)->behind;
}

void sink_pass_row(struct sink *s, struct group *g, mono_ns t)
{
    behind(s)->ops->row(behind(s), g, t);
}

void sink_pass_loss(struct sink *s, const struct loss *l)
{
    behind(s)->ops->loss(behind(s), l);
}

void sink_pass_mark(struct sink *s, const struct mark *m)
{
    behind(s)->ops->mark(behind(s), m);
}

void sink_pass_events(struct sink *s, const struct track *t, const struct event *v, size_t n)
{
    behind(s)->ops->events(behind(s), t, v, n);
}

void sink_loss(struct sink *s, enum loss_id id, const char *what, const char *fmt, ...)
{
    struct loss l = {.id = id, .count = 1, .at = clock_mono()};
    snprintf(l.what, sizeof l.what, "%s", what);
    va_list ap;
    va_start(ap, fmt);
    record_put_text(l.why, fmt, ap);
    va_end(ap);
    s->ops->loss(s, &l);
}

void sink_mark(struct sink *s, enum mark_id id, int64_t number, const char *fmt, ...)
{
    struct mark m = {.id = id, .number = number, .at = clock_mono()};
    va_list ap;
    va_start(ap, fmt);
    record_put_text(m.text, fmt, ap);
    va_end(ap);
    s->ops->mark(s, &m);
}
