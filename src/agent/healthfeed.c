/* SPDX-License-Identifier: Apache-2.0 */
/* healthfeed.c - see jobevents.h. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/jobevents.h"
#include "base/arena.h"
#include "base/mem.h"

enum {
    BATCH = 512,
    TEXT_BYTES = 8,
    NAMES_BYTES_MOST = 8 << 20, /* of a process */
};

#define LOST_MOST ((uint64_t)1 << 40) /* values that one event may count as lost */

struct health_feed {
    struct track track; /* of the batch; id is the statistic */
    struct event out[BATCH];
    size_t n_out;
    struct arena texts;
    size_t text_bytes;
    const char *names[RING_HEALTH_NAMES]; /* NULL: not received */
};

struct health_feed *health_feed_open(const struct track *like)
{
    struct health_feed *f = xcalloc(1, sizeof *f);
    f->track = *like;
    f->track.kind = TRACK_HEALTH;
    f->track.id = HEALTH_N; /* none yet */
    return f;
}

void health_feed_flush(struct health_feed *f, struct sink *sink)
{
    if (f && f->n_out)
        sink->ops->events(sink, &f->track, f->out, f->n_out);
    if (f)
        f->n_out = 0;
}

void health_feed_close(struct health_feed *f)
{
    if (!f)
        return;
    arena_free(&f->texts);
    free(f);
}

static void health_feed_lose(struct sink *sink, uint64_t count, const char *why)
{
    struct loss l = loss_of(LOSS_HEALTH, LOST_PART("health"), "%s", why);
    l.count = count;
    l.at = clock_mono();
    sink->ops->loss(sink, &l);
}

/* ---- names ---- */

/* The name is whole. The same text again changes nothing; another one takes its place, and events
 * with the old one are unchanged. */
static void health_feed_name(struct health_feed *f, const struct health_lane *lane,
                             struct sink *sink)
{
    char text[RING_HEALTH_NAME_LEN + 1];
    const char **name = &f->names[lane->number];
    ring_text_clean(text, RING_HEALTH_NAME_LEN, lane->text, lane->len);
    if (*name && strcmp(*name, text) == 0)
        return;
    if (f->text_bytes + strlen(text) > NAMES_BYTES_MOST) {
        *name = NULL;
        health_feed_lose(sink, 1, "the names of a process take too much memory");
        return;
    }
    f->text_bytes += strlen(text) + 1;
    *name = arena_strdup(&f->texts, text);
}

static void health_feed_text(struct health_feed *f, struct health_lane *lane,
                             const struct ring_event *v, struct sink *sink)
{
    const uint32_t number = v->name_id >> 16, part = v->name_id & 0xffff;
    char bytes[TEXT_BYTES];
    memcpy(bytes, &v->step, sizeof bytes);
    if (part == 0) {
        lane->number = number;
        lane->len = 0;
    }
    if (number == 0 || number != lane->number || part * TEXT_BYTES != lane->len ||
        lane->len + TEXT_BYTES > sizeof lane->text) {
        lane->number = 0;
        health_feed_lose(sink, 1, "a name was incomplete");
        return;
    }
    const size_t n = strnlen(bytes, TEXT_BYTES);
    memcpy(lane->text + lane->len, bytes, n);
    lane->len += (uint32_t)n;
    if (n == TEXT_BYTES)
        return;
    health_feed_name(f, lane, sink);
    lane->number = 0;
}

/* ---- groups and values ---- */

static uint8_t health_feed_group(const struct ring_event *v)
{
    return (uint8_t)(v->mode >> RING_HEALTH_MODE_BITS);
}

static void health_feed_step(struct health_lane *lane, const struct ring_event *v)
{
    const unsigned mode = v->mode & ((1u << RING_HEALTH_MODE_BITS) - 1);
    lane->open = true;
    lane->group = health_feed_group(v);
    lane->mode = mode < MODE_N ? (enum event_mode)mode : MODE_TRAIN;
    lane->link = v->step + 1; /* 0: of no step */
    lane->at = v->at;
}

/* The clock is the machine's; a time after the event itself is not valid. */
static void health_feed_at(struct health_lane *lane, const struct ring_event *v)
{
    if (lane->open && lane->group == health_feed_group(v) && v->number >= 0 &&
        v->number <= v->at.ns)
        lane->at.ns = v->number;
}

/* As float32, which is what the hooks measure: half of the bits are 0 then and cost nothing. Not
 * the scalars, whose numbers are the program's. */
static int64_t health_feed_bits(const struct ring_event *v, uint32_t stat)
{
    double real = v->kind == RING_HEALTH_REAL ? v->real : (double)v->number;
    int64_t bits;
    if (stat != HEALTH_SCALAR && fabs(real) <= (double)FLT_MAX)
        real = (double)(float)real;
    memcpy(&bits, &real, sizeof bits);
    return bits;
}

static void health_feed_put(struct health_feed *f, const struct health_lane *lane,
                            const struct ring_event *v, struct sink *sink)
{
    const uint32_t stat = v->name_id & 0xffff;
    const bool count = v->kind == RING_HEALTH_COUNT &&
                       (stat == HEALTH_SCALAR || health_words[stat].kind == EVENT_COUNT);
    if (f->n_out == BATCH || f->track.id != stat) {
        health_feed_flush(f, sink);
        f->track.id = stat;
        snprintf(f->track.name, sizeof f->track.name, "%s", health_words[stat].name);
    }
    f->out[f->n_out++] = (struct event){
        .at = lane->at,
        .value = count ? v->number : health_feed_bits(v, stat),
        .name = f->names[v->name_id >> 16],
        .link = lane->link,
        .kind = count ? EVENT_COUNT : EVENT_REAL,
        .mode = lane->mode,
        .category = CAT_OTHER,
    };
}

static void health_feed_value(struct health_feed *f, const struct health_lane *lane,
                              const struct ring_event *v, struct sink *sink)
{
    if (!lane->open || lane->group != health_feed_group(v))
        health_feed_lose(sink, 1, "the step of a value did not arrive");
    else if ((v->name_id & 0xffff) >= HEALTH_N)
        health_feed_lose(sink, 1, "an unknown statistic");
    else if (!f->names[v->name_id >> 16])
        health_feed_lose(sink, 1, "the name of a value did not arrive");
    else
        health_feed_put(f, lane, v, sink);
}

static const char *const health_lost_words[RING_HEALTH_LOST_N] = {
    [RING_HEALTH_FULL] = "values came faster than they could be recorded",
    [RING_HEALTH_MANY_NAMES] = "too many different names",
    [RING_HEALTH_BUDGET] = "left out to keep the cost of recording small",
    [RING_HEALTH_UNSUPPORTED] = "tensors of a kind that has no statistics",
    [RING_HEALTH_UNSAVED] = "tensors that were to be saved were not",
};

void health_feed_take(struct health_feed *f, struct health_lane *lane, const struct ring_event *v,
                      struct sink *sink)
{
    switch ((int)v->kind) {
    case RING_HEALTH_STEP:
        health_feed_step(lane, v);
        break;
    case RING_HEALTH_AT:
        health_feed_at(lane, v);
        break;
    case RING_HEALTH_TEXT:
        health_feed_text(f, lane, v, sink);
        break;
    case RING_HEALTH_REAL:
    case RING_HEALTH_COUNT:
        health_feed_value(f, lane, v, sink);
        break;
    case RING_HEALTH_LOST:
        health_feed_lose(sink, MIN_OF(v->step, LOST_MOST),
                         v->name_id < RING_HEALTH_LOST_N ? health_lost_words[v->name_id]
                                                         : "for an unknown reason");
        break;
    }
}
