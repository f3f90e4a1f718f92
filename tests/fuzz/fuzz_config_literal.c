/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_config_literal.c - Python literals, windows and regular expressions: any bytes are refused
 * with a sentence or read, and what was read is the same when it is written and read again. */
#include <stdint.h>
#include <stdio.h>

#include "base/mem.h"
#include "config/profilerconfig.h"
#include "settings_sane.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void try_literal(const char *text, size_t n)
{
    json_t *v, *again;
    struct err e = {0};
    if (literal_parse(text, n, &v, &e) != 0) {
        must(e.msg[0]);
        return;
    }
    char *out = json_dumps(v, JSON_ENCODE_ANY);
    must(out);
    if (strlen(out) <= LITERAL_MOST) {
        must(literal_parse(out, strlen(out), &again, &e) == 0);
        must(json_equal(v, again));
        json_decref(again);
    }
    free(out);
    json_decref(v);
}

static void try_windows(const char *text)
{
    struct window_list l = {0}, again = {0};
    struct buf b = {0};
    struct err e;
    if (settings_detail_parse(text, &l, &e) != 0)
        return;
    for (size_t i = 0; i < l.n; i++) {
        buf_printf(&b, "%s", i ? "," : "");
        window_print(&b, &l.v[i]);
    }
    buf_printf(&b, "%s", l.n ? "" : "off");
    buf_u8(&b, 0);
    must(settings_detail_parse((const char *)b.p, &again, &e) == 0);
    must(again.n == l.n && memcmp(again.v, l.v, l.n * sizeof l.v[0]) == 0);
    buf_free(&b);
}

static void try_python(const char *text)
{
    struct window_list l = {0};
    struct err e;
    if (window_list_parse(&l, text, WINDOWS_OF_BOTH, true, &e) != 0)
        return;
    for (size_t i = 0; i < l.n; i++) {
        struct window_list again = {0};
        struct buf b = {0};
        python_window_print(&b, &l.v[i]);
        buf_u8(&b, 0);
        must(window_list_parse(&again, (const char *)b.p, WINDOWS_OF_BOTH, true, &e) == 0);
        must(memcmp(&again.v[0], &l.v[i], sizeof l.v[0]) == 0);
        buf_free(&b);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    char *text = xmalloc(n + 1);
    memcpy(text, p, n);
    text[n] = 0;
    try_literal((const char *)p, n);
    try_windows(text);
    try_python(text);
    free(text);
    return 0;
}
