/* SPDX-License-Identifier: Apache-2.0 */
/* stepkit.c - see stepkit.h. */
#include "query/stepkit.h"

#include <inttypes.h>

#include "base/mem.h"
#include "test.h"

static const struct {
    char letter;
    enum event_kind kind;
    enum event_mode mode;
    const char *name;
} letters[] = {
    {'D', EVENT_SPAN, MODE_TRAIN, "data"},
    {'F', EVENT_SPAN, MODE_TRAIN, "forward"},
    {'E', EVENT_SPAN, MODE_TRAIN, "forward.eval"},
    {'B', EVENT_SPAN, MODE_TRAIN, "backward"},
    {'O', EVENT_SPAN, MODE_TRAIN, "optimizer"},
    {'Z', EVENT_SPAN, MODE_TRAIN, "zero_grad"},
    {'H', EVENT_SPAN, MODE_TRAIN, "h2d"},
    {'X', EVENT_SPAN, MODE_TRAIN, "compile"},
    {'K', EVENT_SPAN, MODE_TRAIN, "checkpoint"},
    {'C', EVENT_SPAN, MODE_TRAIN, "comm.all_reduce"},
    {'L', EVENT_SPAN, MODE_TRAIN, "loader.start"},
    {'U', EVENT_SPAN, MODE_TRAIN, "augment"},
    {'N', EVENT_COUNT, MODE_TRAIN, "batch.size"},
    {'Q', EVENT_MARK, MODE_TRAIN, "step.void"},
    {'S', EVENT_STEP, MODE_TRAIN, "step"},
    {'V', EVENT_STEP, MODE_EVAL, "step"},
    {'P', EVENT_STEP, MODE_PREDICT, "step"},
    {'Y', EVENT_SPAN, MODE_TRAIN, "sync"},
    {'T', EVENT_COUNT, MODE_TRAIN, "sync.short"},
    {'G', EVENT_SPAN, MODE_TRAIN, "graph.replay"},
    {'W', EVENT_SPAN, MODE_TRAIN, "detail.window"},
    {'A', EVENT_COUNT, MODE_TRAIN, "process.device"},
};

static size_t find_letter(char c)
{
    for (size_t i = 0; i < COUNT_OF(letters); i++)
        if (letters[i].letter == c)
            return i;
    test_fail(__FILE__, __LINE__, "no event is called '%c'", c);
}

static int64_t take_number(const char **p)
{
    char *end;
    const int64_t n = strtoll(*p, &end, 10);
    CHECK(end != *p);
    *p = end;
    return n;
}

static void push(struct stepkit *k, const struct event *e)
{
    if (k->n == k->cap) {
        k->cap = k->cap ? k->cap * 2 : 64;
        k->v = xrealloc(k->v, k->cap, sizeof *k->v);
    }
    k->v[k->n++] = (struct run_event){{e->at.ns + KIT_WALL}, *e};
}

static const char *add_some(struct stepkit *k, const char *p);

static const char *add_one(struct stepkit *k, const char *p)
{
    const size_t i = find_letter(*p++);
    struct event e = {
        .at = {k->at}, .name = letters[i].name, .kind = letters[i].kind, .mode = letters[i].mode};
    const int64_t number = take_number(&p);
    if (e.kind == EVENT_COUNT)
        e.value = number;
    else
        e.dur_ns = number;
    if (*p == ':') {
        p++;
        e.value = take_number(&p);
    }
    e.end = *p == '!' ? END_CUT : *p == '?' ? END_OPEN : END_KNOWN;
    p += e.end != END_KNOWN;
    push(k, &e);
    if (*p == '(')
        p = add_some(k, p + 1);
    k->at = e.at.ns + e.dur_ns;
    return p;
}

static const char *add_some(struct stepkit *k, const char *p)
{
    while (*p && *p != ')') {
        if (*p == ' ') {
            p++;
        } else if (*p == '.') {
            p++;
            k->at += take_number(&p);
        } else {
            p = add_one(k, p);
        }
    }
    return *p == ')' ? p + 1 : p;
}

void stepkit_add(struct stepkit *k, const char *text)
{
    CHECK(*add_some(k, text) == '\0');
}

void stepkit_free(struct stepkit *k)
{
    free(k->v);
    *k = (struct stepkit){0};
}

static char *next_text(void)
{
    static char ring[8][4096];
    static unsigned at;
    return ring[at++ % COUNT_OF(ring)];
}

const char *kit_steps_text(const struct step *v, size_t n)
{
    char *out = next_text();
    size_t len = 0;
    out[0] = '\0';
    for (size_t i = 0; i < n && len < 4000; i++)
        len += (size_t)snprintf(out + len, 4096 - len, "%s%c%" PRId64 " %" PRId64 "+%" PRId64 "%s",
                                i ? ", " : "", "tep"[v[i].mode], v[i].number,
                                v[i].start.ns - KIT_WALL, v[i].dur_ns, v[i].cut ? "!" : "");
    return out;
}

static const char *derive(const char *text, const char *(*tell)(const struct step *, size_t))
{
    struct stepkit k = {0};
    struct arena a = {0};
    struct step *v;
    size_t n;
    stepkit_add(&k, text);
    steps_derive(k.v, k.n, &a, &v, &n);
    const char *out = tell(v, n);
    arena_free(&a);
    stepkit_free(&k);
    return out;
}

const char *kit_steps_of(const char *text)
{
    return derive(text, kit_steps_text);
}

const char *kit_parts_text(const struct step *s)
{
    char *out = next_text();
    size_t len = 0;
    out[0] = '\0';
    for (size_t i = 0; i < step_parts(); i++)
        if (s->part_ns[i])
            len += (size_t)snprintf(out + len, 4096 - len, "%s%s %" PRId64, len ? ", " : "",
                                    step_part_name(i), s->part_ns[i]);
    return out;
}

const char *kit_parts_of(const char *text, size_t number)
{
    struct stepkit k = {0};
    struct arena a = {0};
    struct step *v;
    size_t n;
    stepkit_add(&k, text);
    steps_derive(k.v, k.n, &a, &v, &n);
    CHECK(number < n);
    const char *out = kit_parts_text(&v[number]);
    arena_free(&a);
    stepkit_free(&k);
    return out;
}
