/* SPDX-License-Identifier: Apache-2.0 */
/* json.h - JSON of any size, pulled item by item through a window of bounded size.
 *
 *     json_open, then json_next until JS_DONE (or another kind that ends it), json_close.
 *
 * An item is a value together with its key when it is in an object; entering and leaving an object
 * or array are items too.
 *
 *                       hold           p                            end
 *                         v            v                             v
 *     input ...[read and gone|{"name": "mm", "ts": 12, "args": {"dev|""""""""]  ... not read yet
 *                         |<-- window: 256 KiB, grows to 16 MiB --->|<- pad->|
 *                              gap     value gap  value
 *
 *     json_next        JS_OBJECT, JS_STRING name "mm", JS_NUMBER ts 12, JS_OBJECT args, ...
 *
 * The window (json_window.c) is filled, moved and grown; what is before the hold, or before p where
 * there is none, is given up. The pad after its end is all quotes, so that no loop over bytes has
 * to look for the end (json_internal.h). An item that is not whole changes nothing: more is read,
 * and the item is scanned again from its beginning (json_scan.c). Strings and numbers are not
 * decoded until their value is wanted (json_value.c). What is not wanted is skipped 64 bytes at a
 * time (json_skip.c).
 *
 * Texts point into the window: they are good until the next call, or until the next json_hold where
 * one is set. After json_hold everything from here on stays in the window, so that all
 * texts of (say) one event are there at once. When the window has to move, json_next or json_skip
 * answers JS_AGAIN: the scanner is back at the hold, and the caller begins that item again. Nothing
 * is copied, and the usual case costs nothing.
 *
 * Repeated structure: the objects of a trace look alike. With json_keys the scanner caches, for
 * each key, the gap that followed its value: comma, next key, colon and white space. Where the same
 * gap follows again, which takes one comparison, its key is known without being read. A gap is
 * only bytes: whatever is different is scanned as usual, and gives the same items. This and the
 * loop that is made for it (json_members.h) save 45 % of the time of an import of a Kineto trace.
 *
 * What is often broken in traces is repaired and counted in `faults`; what cannot be repaired is
 * JS_BAD, and json_recover finds the next element. */
#ifndef JSON_JSON_H
#define JSON_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes_in.h"
#include "base/err.h"

enum json_kind {
    JS_OBJECT, /* entered; its members come next */
    JS_ARRAY,  /* entered; its elements come next */
    JS_END,    /* the object or array entered last was left */
    JS_STRING,
    JS_NUMBER,
    JS_TRUE,
    JS_FALSE,
    JS_NULL,
    JS_WORD,   /* bare text that is not JSON: NaN, N/A */
    JS_LOST,   /* an item longer than the largest window, or nested too deep, was passed over */
    JS_AGAIN,  /* the window moved: begin again what began at the hold */
    JS_DONE,   /* the input is complete */
    JS_CUT,    /* the input ends in the middle */
    JS_BAD,    /* not JSON; json_error reports what and where */
    JS_FAILED, /* the source failed; json_error has its message */
    JS_SHORT,  /* never answered: internal: the window ends too early */
};

/* From JS_DONE on nothing more comes, json_recover after JS_BAD aside. */
static inline bool json_is_over(enum json_kind k)
{
    return k >= JS_DONE;
}

struct json_text {
    const char *p; /* as it is in the input: escapes are not decoded */
    uint32_t len;
    bool escaped; /* has backslashes */
    bool high;    /* has bytes beyond ASCII; whether they are UTF-8 is not checked */
};

/* mantissa x 10^-fraction, negative with `minus`; only when `plain`, else read the text. */
struct json_number {
    uint64_t mantissa;
    uint8_t fraction; /* digits after the point */
    bool minus;
    bool plain; /* no exponent, at most 18 digits */
};

struct json_item {
    enum json_kind kind;
    uint32_t id;           /* of the key, when json_keys knows it: 1 + its index; else 0 */
    struct json_text key;  /* len 0 and p NULL outside objects */
    struct json_text text; /* of strings (without quotes), numbers and words */
    struct json_number number;
};

/* What was broken, by kind; each is repaired or skipped. */
#define JSON_FAULTS(X)                                                                             \
    X(words, "bare words such as NaN or N/A instead of a value")                                   \
    X(numbers, "numbers in a form that JSON does not allow")                                       \
    X(commas, "extra or missing commas")                                                           \
    X(brackets, "mismatched brackets")                                                             \
    X(quotes, "unescaped quotes in strings")                                                       \
    X(escapes, "unknown escape sequences")                                                         \
    X(controls, "control characters in strings")                                                   \
    X(utf8, "strings that are not UTF-8")                                                          \
    X(deep, "values nested too deep")                                                              \
    X(long_items, "items too large for memory")                                                    \
    X(unread, "unreadable elements")                                                               \
    X(trailing, "text after the end")                                                              \
    X(cut, "truncated input")

struct json_faults {
#define X(name, help) uint64_t name;
    JSON_FAULTS(X)
#undef X
};

struct json_fault_word {
    const char *name, *help;
    size_t at; /* offset in struct json_faults */
};

extern const struct json_fault_word json_fault_words[]; /* ends with a NULL name */

enum { JSON_DEPTH_MOST = 2048, JSON_PAD = 64, JSON_KEYS_MOST = 255, JSON_GAP_LEN = 48 };

/* json_scan.last at the start of an object, where no key precedes. */
enum { JSON_OBJECT_START = JSON_KEYS_MOST + 1 };

/* The bytes between a value and the next one: comma, key, colon and white space. */
struct json_gap {
    uint8_t bytes[JSON_GAP_LEN];
    uint32_t beyond; /* a bit for each of the first 32 bytes that is not part of it */
    uint8_t len;     /* 0: none */
    uint8_t key_at, key_len, id;
    bool ignored; /* see json_keys_ignore */
    uint8_t spare[7];
};
_Static_assert(sizeof(struct json_gap) == 64, "found by a shift");

/* Keys that the caller wants by number, and the gaps seen between them. One scanner at a time. */
struct json_keys {
    const char *const *names;
    uint32_t n;
    uint32_t lens[JSON_KEYS_MOST];
    uint8_t slots[512];                          /* 1 + index, by hash */
    bool ignored[JSON_KEYS_MOST + 1];            /* by number */
    struct json_gap gaps[JSON_KEYS_MOST + 2][2]; /* by the key before: the last two */
};

/* `names` must stay; at most JSON_KEYS_MOST, none twice. */
void json_keys_init(struct json_keys *k, const char *const *names, size_t n);
/* json_members checks numbers, strings and arrays with that key and leaves them out. */
void json_keys_ignore(struct json_keys *k, uint32_t number);
/* 1 + index of the name that the text is; 0 when it is none. */
uint32_t json_key_number(const struct json_keys *k, const struct json_text *t);

struct json_options {
    bool many;              /* values may follow each other at the top, as in JSON lines */
    size_t window;          /* bytes to begin with; 0: as is good */
    size_t window_most;     /* it never grows beyond; 0: 16 MiB */
    struct json_keys *keys; /* NULL: every item.id is 0. Must outlive the scanner */
};

/* Open for the files of src/json and for json_members.h; others use the functions. */
struct json_scan {
    const uint8_t *p, *end; /* unread bytes; JSON_PAD quotes follow at end */
    const uint8_t *hold;    /* NULL: none */
    uint32_t depth, hold_depth;
    bool some, hold_some; /* an item precedes in the same container, so a comma must come */
    bool in_object, hold_in_object;
    bool many;
    bool ended; /* the source has no more */
    /* The number of the key of the item before, 0 when it has none, or JSON_OBJECT_START; and that
     * of the object or array entered last, until it or another one is left. */
    uint16_t last, entered;
    struct json_keys *keys;
    uint64_t kinds[JSON_DEPTH_MOST / 64 + 1];
    struct json_faults faults;
    struct json_faults before; /* with `noted`: as they were before the item or at the hold */
    bool noted;
    struct bytes_in *in;
    uint8_t *window;
    size_t cap, cap_most;
    uint64_t taken; /* bytes read from the source */
    struct err err;
};

/* `in` must outlive it. */
void json_open(struct json_scan *s, struct bytes_in *in, const struct json_options *o);
void json_close(struct json_scan *s);

enum json_kind json_next(struct json_scan *s, struct json_item *out);
/* Leaves the object or array entered last, whatever is still in it: JS_END, or a kind from
 * JS_LOST on. `raw`, when not NULL, becomes what was passed over, closing bracket included; it
 * needs a hold. */
enum json_kind json_skip(struct json_scan *s, struct json_text *raw);
void json_hold(struct json_scan *s);
void json_release(struct json_scan *s);
/* The members of the object, or elements of the array, that was just entered. `take` is given each;
 * JS_NULL from it: an object or array is still to be passed over; else the kind that ended its
 * reading. JS_END when all were taken, else a kind from JS_LOST on. */
enum json_kind json_each(struct json_scan *s,
                         enum json_kind (*take)(void *ctx, const struct json_item *it), void *ctx);
/* After JS_BAD: from the hold on (else from here), goes to the next object of the array of the one
 * that was being read, or with `many` to the next line, and counts it as unread. JS_CUT when there
 * is none. */
enum json_kind json_recover(struct json_scan *s);
/* The objects of an array, or with `many` of the input, one after the other, whatever is broken in
 * some: each stays in the window while it is read, and read again when the window has to move. */
struct json_elements {
    struct json_scan *scan; /* has just entered the array */
    /* Reads the members of the object that was just entered, from the start each time it is
     * called: JS_END, or a kind from JS_LOST on. */
    enum json_kind (*read)(void *ctx);
    /* What was read is whole: once for each object. */
    void (*emit)(void *ctx);
    void *ctx;
    uint64_t others; /* out: elements that are no objects */
    bool unclosed;   /* out: all were whole, but the array has no end */
};

/* JS_END when the array was left, else the kind that ended it (json_is_over). */
enum json_kind json_elements(struct json_elements *x);

/* Bytes of input before the place where the scanner is. */
uint64_t json_position(const struct json_scan *s);
const struct err *json_error(const struct json_scan *s);
/* The error of JS_FAILED as the caller's; 0 for every other kind. */
MUST_CHECK int json_failed(const struct json_scan *s, enum json_kind kind, struct err *e);

/* The key of an item, also where json_members gave it by number only. */
static inline struct json_text json_item_key(const struct json_keys *k, const struct json_item *it)
{
    if (it->key.p || !it->id)
        return it->key;
    return (struct json_text){k->names[it->id - 1], k->lens[it->id - 1], false, false};
}

static inline bool json_text_is(const struct json_text *t, const char *s, size_t len)
{
    return t->len == len && __builtin_memcmp(t->p, s, len) == 0;
}

#define json_is(text, literal) json_text_is((text), "" literal, sizeof(literal) - 1)

/* The text of an item that is no object or array, also of true and false. */
static inline const struct json_text *json_word_text(const struct json_item *it)
{
    static const struct json_text words[] = {
        [JS_TRUE] = {"true", 4, false, false},
        [JS_FALSE] = {"false", 5, false, false},
    };
    return it->kind == JS_TRUE || it->kind == JS_FALSE ? &words[it->kind] : &it->text;
}

/* The text decoded into to[room], NUL after it; returns its length without. What does not fit is
 * cut off between characters. Unknown escapes stay as they are, bytes that are not UTF-8 become
 * U+FFFD; both are counted in `f` (NULL is fine). U+0000 becomes a NUL byte. */
size_t json_decode(const struct json_text *t, char *to, size_t room, struct json_faults *f);
/* ---- numbers: the usual in line, the rest in json_value.c ---- */

bool json_odd_int(const struct json_item *it, int64_t *out);
/* The number x 10^digits, rounded to the nearest; a string with a number counts, too. False
 * when it is none or too large. */
bool json_scaled(const struct json_item *it, unsigned digits, int64_t *out);

/* False when it is no number, not whole, or too large. */
static inline bool json_int(const struct json_item *it, int64_t *out)
{
    const struct json_number *n = &it->number;
    if (__builtin_expect(it->kind != JS_NUMBER || !n->plain || n->fraction, 0))
        return json_odd_int(it, out);
    *out = n->minus ? -(int64_t)n->mantissa : (int64_t)n->mantissa;
    return true;
}

/* Decimal microseconds as nanoseconds: json_scaled by three digits. */
static inline bool json_us_to_ns(const struct json_item *it, int64_t *out)
{
    const struct json_number *n = &it->number;
    const bool usual = it->kind == JS_NUMBER && n->plain && (n->fraction == 0 || n->fraction == 3);
    if (__builtin_expect(!usual || n->mantissa > INT64_MAX / 1000, 0))
        return json_scaled(it, 3, out);
    const int64_t v = (int64_t)n->mantissa * (n->fraction ? 1 : 1000);
    *out = n->minus ? -v : v;
    return true;
}

/* The nearest double, whatever the locale. False when it is no number or beyond the range. */
bool json_double(const struct json_item *it, double *out);

#endif
