/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_json_scan.c - any bytes, windows and reads of any size. What jansson takes is read the same
 * way and has no fault; everything else comes to an end, and is seen the same whatever the window
 * is, one by one or many at once. */
#include "../unit/json/json_elements.h"
#include "../unit/json/json_tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void check(bool fine)
{
    if (!fine)
        abort();
}

struct way {
    struct json_options options;
    size_t piece;
};

static json_t *scan(const uint8_t *p, size_t n, const struct way *w, enum json_kind *end,
                    struct json_faults *faults)
{
    struct bytes_memory in;
    struct json_scan s;
    bytes_memory_init(&in, p, n, w->piece);
    json_open(&s, &in.in, &w->options);
    json_t *v = tree_scan(&s, end);
    *faults = s.faults;
    check(json_position(&s) <= n + 1);
    json_close(&s);
    return v;
}

static bool has_no_fault(const struct json_faults *f)
{
    const struct json_faults none = {0};
    return memcmp(f, &none, sizeof none) == 0;
}

/* jansson forgets a NUL byte that it has looked at and put back, so such texts are left out. */
static void compare_with_jansson(const uint8_t *p, size_t n, struct way w)
{
    if (memchr(p, 0, n))
        return;
    enum json_kind end;
    struct json_faults faults;
    json_error_t why;
    json_t *theirs = json_loadb((const char *)p, n, TREE_FLAGS, &why);
    json_t *ours = scan(p, n, &w, &end, &faults);
    if (theirs)
        check(ours && json_equal(ours, theirs) && has_no_fault(&faults));
    json_decref(ours);
    json_decref(theirs);
}

/* What the items say, as a number. */
static uint64_t digest(uint64_t h, const struct json_text *t)
{
    for (uint32_t i = 0; i < t->len; i++)
        h = (h ^ (uint8_t)t->p[i]) * 1099511628211u;
    return (h ^ t->len) * 1099511628211u;
}

/* As an importer does: elements held, some passed over, the broken ones left behind. */
static uint64_t read_held(const uint8_t *p, size_t n, const struct way *w)
{
    struct bytes_memory in;
    struct json_scan s;
    struct json_item it;
    uint64_t sum = 0, h = 1;
    uint32_t floor = 0;
    bytes_memory_init(&in, p, n, w->piece);
    json_open(&s, &in.in, &w->options);
    for (size_t rounds = 0;; rounds++) {
        check(rounds < 8 * n + 64);
        if (s.depth <= 1) {
            sum += h;
            h = 1;
            floor = s.depth;
            json_hold(&s);
        }
        enum json_kind k = json_next(&s, &it);
        if ((k == JS_ARRAY || k == JS_OBJECT) && s.depth >= 3)
            k = json_skip(&s, NULL);
        if (k == JS_AGAIN) {
            h = 0;
            check(s.depth == floor);
            continue;
        }
        if (k == JS_BAD && json_recover(&s) == JS_END) {
            h = 0;
            continue;
        }
        if (json_is_over(k))
            break;
        h = (h ^ (unsigned)k) * 1099511628211u;
        if (k <= JS_WORD && it.kind != JS_END)
            h = digest(digest(h, &it.key), &it.text) + it.id;
    }
    json_close(&s);
    return sum;
}

/* Many items at once are the same items. */
static void compare_members(const uint8_t *p, size_t n, const struct way *w)
{
    struct bytes_memory in[2];
    struct elements x[2];
    enum json_kind end[2];
    for (unsigned i = 0; i < 2; i++) {
        bytes_memory_init(&in[i], p, n, w->piece);
        elements_open(&x[i], &in[i].in, &w->options, i);
        end[i] = elements_read(&x[i]);
    }
    check(end[0] == end[1] && x[0].sum == x[1].sum);
    check(memcmp(&x[0].s.faults, &x[1].s.faults, sizeof x[0].s.faults) == 0);
    check(json_position(&x[0].s) == json_position(&x[1].s));
    json_close(&x[0].s);
    json_close(&x[1].s);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    if (n < 3)
        return 0;
    struct json_keys keys;
    struct way w = {.piece = p[0], .options = {.window = 64 + p[1]}};
    p += 3;
    n -= 3;
    compare_with_jansson(p, n, w);
    w.options.keys = &keys;
    json_keys_init(&keys, element_names, COUNT_OF(element_names));
    compare_with_jansson(p, n, w);
    compare_members(p, n, &w);
    const uint64_t one = read_held(p, n, &w);
    w.options.window = 1 << 16;
    w.piece = 0;
    json_keys_init(&keys, element_names, COUNT_OF(element_names));
    check(n > 1 << 15 || read_held(p, n, &w) == one);
    /* One that hardly fits anything. */
    w.options.window = w.options.window_most = 64;
    read_held(p, n, &w);
    return 0;
}
