/* SPDX-License-Identifier: Apache-2.0 */
/* record.c - the tables of record.h. */
#include "record/record.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

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

enum metric_id metric_find(const char *name)
{
    enum metric_id m = 0;
    while (m < METRIC_N && strcmp(metrics[m].name, name) != 0)
        m++;
    return m;
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

/* ---- losses ---- */

__attribute__((format(printf, 3, 0))) static struct loss
loss_make(enum loss_id id, struct loss_subject of, const char *fmt, va_list ap)
{
    struct loss l = {.id = id, .count = 1};
    l.metric = of.part ? METRIC_N : of.metric;
    snprintf(l.entity, sizeof l.entity, "%s", of.entity ? of.entity : "");
    snprintf(l.part, sizeof l.part, "%s", of.part ? of.part : "");
    record_put_text(l.why, fmt, ap);
    return l;
}

struct loss loss_of(enum loss_id id, struct loss_subject of, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const struct loss l = loss_make(id, of, fmt, ap);
    va_end(ap);
    return l;
}

/* The last word is a metric, or a part of an entity that hooks observe. All other texts are the
 * name of a part, which may have spaces. */
struct loss loss_from_text(enum loss_id id, const char *what, const char *why)
{
    char before[ENTITY_LEN] = "";
    const char *space = strrchr(what, ' '), *last = space ? space + 1 : what;
    const enum metric_id m = metric_find(last);
    if (space)
        snprintf(before, sizeof before, "%.*s", (int)MIN_OF(space - what, ENTITY_LEN - 1), what);
    if (m < METRIC_N && (!space || *before))
        return loss_of(id, (struct loss_subject){.entity = before, .metric = m}, "%s", why);
    if (id == LOSS_HOOK && *before)
        return loss_of(id, (struct loss_subject){.entity = before, .part = last}, "%s", why);
    return loss_of(id, LOST_PART(what), "%s", why);
}

const char *loss_what(const struct loss *l, char out[ENTITY_LEN])
{
    const char *name = l->metric < METRIC_N ? metrics[l->metric].name : l->part;
    const size_t n = strnlen(name, ENTITY_LEN - 1), room = ENTITY_LEN - 1 - n;
    const size_t before = *l->entity && room ? strnlen(l->entity, room - 1) : 0;
    memcpy(out, l->entity, before); /* an entity is cut rather than the name */
    if (before)
        out[before] = ' ';
    memcpy(out + before + (before > 0), name, n);
    out[before + (before > 0) + n] = '\0';
    return out;
}

const char *loss_why(const struct loss *l)
{
    return *l->why ? l->why : losses[l->id].help;
}

bool loss_is_metric(const struct loss *l, enum metric_id m)
{
    return m < METRIC_N && l->metric == m;
}

bool loss_is_part(const struct loss *l, const char *part)
{
    return l->metric == METRIC_N && !*l->entity && strcmp(l->part, part) == 0;
}

bool loss_same_subject(const struct loss *a, const struct loss *b)
{
    return a->id == b->id && a->metric == b->metric && strcmp(a->entity, b->entity) == 0 &&
           strcmp(a->part, b->part) == 0;
}

bool loss_same(const struct loss *a, const struct loss *b)
{
    return loss_same_subject(a, b) && strcmp(a->why, b->why) == 0;
}

/* ---- sinks ---- */

static struct sink *pass_next(struct sink *s)
{
    return ((struct sink_pass *)s)->next;
}

void sink_pass_row(struct sink *s, struct group *g, mono_ns t)
{
    pass_next(s)->ops->row(pass_next(s), g, t);
}

void sink_pass_loss(struct sink *s, const struct loss *l)
{
    pass_next(s)->ops->loss(pass_next(s), l);
}

void sink_pass_mark(struct sink *s, const struct mark *m)
{
    pass_next(s)->ops->mark(pass_next(s), m);
}

void sink_pass_events(struct sink *s, const struct track *t, const struct event *v, size_t n)
{
    pass_next(s)->ops->events(pass_next(s), t, v, n);
}

void sink_loss(struct sink *s, enum loss_id id, struct loss_subject of, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    struct loss l = loss_make(id, of, fmt, ap);
    va_end(ap);
    l.at = clock_mono();
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
