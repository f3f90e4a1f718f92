/* SPDX-License-Identifier: Apache-2.0 */
/* kineto_learn.c - how the events of a trace look, so that those that look alike need not be read
 * byte by byte (kineto_read.c).
 *
 * All of it is looked at closely here, once: what is learnt is JSON beyond doubt, and says what is
 * kept of it and nothing else. */
#include <string.h>

#include "base/json_plain.h"
#include "base/mem.h"
#include "import/kineto.h"

/* Where each is written in its own way, learning would never end. */
enum { ARROWS_READ_MOST = 64, EVENTS_READ_MOST = 2000, NUMBER_MOST = 15 };

void kineto_learn_arrow(struct kineto *k)
{
    if (k->arrows_read >= ARROWS_READ_MOST || !k->scan.hold || k->event.duplicates)
        return;
    struct json_shape *shape = &k->arrows[k->arrows_learnt % COUNT_OF(k->arrows)];
    k->arrows_learnt += json_shape_learn(shape, k->scan.hold + k->inside, k->scan.p);
    k->arrows_read++;
}

/* To the value of a member with that key. */
static const uint8_t *value_of(const uint8_t *p, const uint8_t *to, const char *key)
{
    struct json_text found;
    p = plain_key(p, to, &found);
    return p && json_text_is(&found, key, strlen(key)) ? p : NULL;
}

/* Behind it stands something else, at the latest the quotes that end the window. */
static const uint8_t *number(const uint8_t *p, int64_t *out)
{
    const uint8_t *q = p;
    int64_t v = 0;
    while (q && *q >= '0' && *q <= '9' && q - p < NUMBER_MOST)
        v = 10 * v + (*q++ - '0');
    if (q == p || (*p == '0' && q > p + 1))
        return NULL;
    *out = v;
    return q;
}

/* Phase and category, with which an event begins. */
static void learn_start(struct kineto *k)
{
    struct json_text ph = {0}, cat = {0};
    const uint8_t *from = k->scan.hold + k->inside, *const to = k->scan.p;
    const uint8_t *p = plain_text(value_of(from, to, "ph"), to, &ph);
    p = plain_text(value_of(plain_byte(p, to, ','), to, "cat"), to, &cat);
    if (!p || *p != ',' || ph.len != 1)
        return;
    const uint32_t i = json_stretch_learn(&k->starts, from, p + 1);
    if (i < STRETCHES)
        k->start_of[i] = (struct kineto_start){
            .ph = *ph.p,
            .cat_at = (uint8_t)((const uint8_t *)cat.p - from),
            .cat_len = (uint8_t)cat.len,
            .cat = json_key_number(&k->cats, &cat),
        };
}

/* Process and thread, which stand behind the name. */
static void learn_thread(struct kineto *k)
{
    const struct json_text *name = &k->event.name;
    const uint8_t *from = (const uint8_t *)name->p + name->len + 1, *const to = k->scan.p;
    struct kineto_thread who = {0};
    const uint8_t *p = number(value_of(plain_byte(from, to, ','), to, "pid"), &who.pid);
    p = number(value_of(plain_byte(p, to, ','), to, "tid"), &who.tid);
    if (!p || *p != ',')
        return;
    const uint32_t i = json_stretch_learn(&k->threads, from, p + 1);
    if (i < STRETCHES)
        k->thread_of[i] = who;
}

void kineto_learn(struct kineto *k)
{
    if (k->events_read >= EVENTS_READ_MOST || !k->scan.hold || !k->event.cat.len ||
        !k->event.name.len)
        return;
    k->events_read++;
    if (k->start == STRETCHES)
        learn_start(k);
    if (k->thread == STRETCHES)
        learn_thread(k);
}
