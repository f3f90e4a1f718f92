/* SPDX-License-Identifier: Apache-2.0 */
/* json_window.c - the window over the input: filled, moved, grown up to its limit; and the ways on
 * when something does not fit into it or makes no sense. */
#include <stdlib.h>

#include "base/mem.h"
#include "json/json_internal.h"

enum { WINDOW = 256 << 10, WINDOW_MOST = 16 << 20, WINDOW_LEAST = 64 };

#define X(name, help) {#name, help, offsetof(struct json_faults, name)},
const struct json_fault_word json_fault_words[] = {JSON_FAULTS(X){NULL, NULL, 0}};
#undef X

static void window_set_end(struct json_scan *s, size_t len)
{
    s->end = s->window + len;
    memset(s->window + len, '"', JSON_PAD);
}

void json_open(struct json_scan *s, struct bytes_in *in, const struct json_options *o)
{
    const size_t cap = o->window ? MAX_OF(o->window, (size_t)WINDOW_LEAST) : WINDOW;
    const size_t most = o->window_most ? o->window_most : WINDOW_MOST;
    *s = (struct json_scan){.in = in, .many = o->many, .cap = cap};
    s->cap_most = MAX_OF(cap, most);
    s->keys = o->keys;
    s->window = xmalloc(cap + 1 + JSON_PAD);
    s->p = s->window;
    window_set_end(s, 0);
}

void json_close(struct json_scan *s)
{
    free(s->window);
    s->window = NULL;
}

uint64_t json_position(const struct json_scan *s)
{
    return s->taken - (uint64_t)(s->end - s->p);
}

const struct err *json_error(const struct json_scan *s)
{
    return &s->err;
}

int json_failed(const struct json_scan *s, enum json_kind kind, struct err *e)
{
    return kind == JS_FAILED ? err_set(e, s->err.code, "%s", s->err.msg) : 0;
}

enum json_kind json_bad(struct json_scan *s, const uint8_t *at, const char *what)
{
    if (at >= s->end && !s->ended)
        return JS_SHORT;
    const uint64_t where = s->taken - (uint64_t)(s->end - MIN_OF(at, s->end));
    err_set(&s->err, ERR_FORMAT, "byte %llu: %s", (unsigned long long)where, what);
    return JS_BAD;
}

void json_fault(struct json_scan *s, uint64_t *which)
{
    if (!s->noted)
        s->before = s->faults;
    s->noted = true;
    ++*which;
}

static void window_take_back_faults(struct json_scan *s)
{
    if (s->noted)
        s->faults = s->before;
    s->noted = false;
}

/* ---- the hold ---- */

void json_hold(struct json_scan *s)
{
    assert(s->p >= s->window && s->p <= s->end);
    s->hold = s->p;
    s->hold_depth = s->depth;
    s->hold_some = s->some;
    s->hold_in_object = s->in_object;
    s->noted = false;
}

void json_release(struct json_scan *s)
{
    s->hold = NULL;
}

void json_back_to_hold(struct json_scan *s)
{
    s->p = s->hold;
    s->depth = s->hold_depth;
    s->some = s->hold_some;
    s->in_object = s->hold_in_object;
    s->last = s->entered = 0;
}

/* ---- more bytes ---- */

/* Bytes before `keep` are not needed any more. */
static void window_make_room(struct json_scan *s, const uint8_t *keep)
{
    const size_t gone = (size_t)(keep - s->window), left = (size_t)(s->end - keep);
    const size_t ahead = (size_t)(s->p - keep);
    assert(keep >= s->window && keep <= s->p && s->p <= s->end);
    memmove(s->window, keep, left);
    if (s->hold)
        s->hold -= gone;
    if (left > s->cap / 2 && s->cap < s->cap_most) {
        const size_t held = s->hold ? (size_t)(s->hold - s->window) : 0;
        s->cap = MIN_OF(s->cap * 2, s->cap_most);
        s->window = xrealloc(s->window, s->cap + 1 + JSON_PAD, 1);
        s->hold = s->hold ? s->window + held : NULL;
    }
    assert(left <= s->cap);
    s->p = s->window + ahead;
    window_set_end(s, left);
}

/* At the end of the input a newline is added, so that a number there has an end. */
static void window_end_input(struct json_scan *s)
{
    assert(!s->ended);
    s->ended = true;
    const size_t len = (size_t)(s->end - s->window);
    s->window[len] = '\n';
    window_set_end(s, len + 1);
    s->taken++; /* so that positions stay what they are */
}

/* All the room there is, however many reads that takes: each time an item is under a hold it may
 * have to be read again. */
static enum json_kind window_fill(struct json_scan *s)
{
    size_t len = (size_t)(s->end - s->window);
    int64_t n = 1;
    while (len < s->cap && n > 0) {
        n = s->in->read(s->in, s->window + len, s->cap - len, &s->err);
        if (n < 0)
            return JS_FAILED;
        len += (size_t)n;
        assert(len <= s->cap);
        s->taken += (uint64_t)n;
    }
    window_set_end(s, len);
    if (n == 0)
        window_end_input(s);
    return JS_SHORT;
}

static enum json_kind window_at_end(struct json_scan *s)
{
    const bool rest = json_space(s->p) < s->end;
    if (s->depth == 0 && !rest && (s->some || s->many)) {
        s->p = s->end - 1; /* before the newline that was added */
        return JS_DONE;
    }
    s->faults.cut = 1;
    err_set(&s->err, ERR_FORMAT, "byte %llu: unexpected end of input",
            (unsigned long long)s->taken - 1);
    return JS_CUT;
}

/* What is under the hold, or the item at s->p, fills the largest window. */
static enum json_kind window_too_long(struct json_scan *s)
{
    window_take_back_faults(s);
    if (s->hold)
        json_back_to_hold(s);
    s->hold = NULL;
    s->faults.long_items++;
    return json_pass_over(s);
}

enum json_kind json_more(struct json_scan *s)
{
    if (s->ended) {
        window_take_back_faults(s);
        return window_at_end(s);
    }
    const uint8_t *keep = s->hold ? s->hold : s->p;
    const size_t left = (size_t)(s->end - keep);
    if (left >= s->cap_most)
        return window_too_long(s);
    window_make_room(s, keep);
    const enum json_kind k = window_fill(s);
    if (k != JS_SHORT)
        return k;
    window_take_back_faults(s);
    if (!s->hold)
        return JS_SHORT;
    json_back_to_hold(s);
    return JS_AGAIN;
}

/* ---- byte by byte, for what is rare ---- */

/* The next byte, or -1 at the end. Nothing stays in the window. */
int json_next_byte(struct json_scan *s)
{
    while (s->p >= s->end) {
        if (s->ended)
            return -1;
        window_make_room(s, s->end);
        if (window_fill(s) != JS_SHORT)
            return -1;
    }
    return *s->p++;
}

enum json_kind json_out_of_bytes(struct json_scan *s)
{
    return s->ended ? window_at_end(s) : JS_FAILED;
}
