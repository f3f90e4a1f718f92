/* SPDX-License-Identifier: Apache-2.0 */
/* run_names.c - see run_names.h. */
#include "run/run_names.h"

#include <assert.h>
#include <ctype.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json_read.h"
#include "base/mem.h"
#include "base/text.h"

#define NODE_FOLDER  "node-"
#define WINDOW_START "trace-"

int run_path(char *out, const char *run, const char *file, struct err *e)
{
    return path_join(out, e, "%s/%s", run, file);
}

int run_node_path(char *out, const char *run, const char *node, struct err *e)
{
    assert(!strchr(node, '/'));
    return path_join(out, e, "%s/" NODE_FOLDER "%s", run, node);
}

int run_session_path(char *out, const char *folder, const char *stem, unsigned session,
                     const char *end, struct err *e)
{
    char name[128];
    assert(session > 0);
    store_file_name(name, sizeof name, stem, session, end);
    return path_join(out, e, "%s/%s", folder, name);
}

int run_hidden_path(char *out, const char *runs, unsigned number, struct err *e)
{
    return path_join(out, e, "%s/.import-%08x", runs, number);
}

const char *run_node_id(const char *name)
{
    return text_starts(name, NODE_FOLDER) ? name + strlen(NODE_FOLDER) : NULL;
}

bool run_is_window(const char *name)
{
    return text_starts(name, WINDOW_START) && text_ends(name, "." STORE_SEALED) &&
           strlen(name) > strlen(WINDOW_START "." STORE_SEALED);
}

void run_window_stem(char *out, size_t size, unsigned pid, bool python, unsigned window)
{
    snprintf(out, size, WINDOW_START "%u-%s%u", pid, python ? "python-" : "", window);
}

/* A number without leading zeros; NULL: there is none. */
static const char *run_names_skip_number(const char *p)
{
    const size_t n = strspn(p, "0123456789");
    return n == 0 || n > 10 || (n > 1 && *p == '0') ? NULL : p + n;
}

/* "-2" of the second session, and so on, up to `end`; the first has none. */
static bool run_names_is_session(const char *p, const char *end)
{
    if (p == end)
        return true;
    return *p == '-' && p[1] != '0' && strncmp(p, "-1.", 3) != 0 &&
           run_names_skip_number(p + 1) == end;
}

/* After PID-K or PID-python-K; NULL: it is no window. */
static const char *run_names_skip_window(const char *name)
{
    const char *p = run_names_skip_number(name + strlen(WINDOW_START));
    if (!p || *p++ != '-')
        return NULL;
    p += text_starts(p, "python-") ? strlen("python-") : 0;
    return run_names_skip_number(p);
}

static bool run_names_is_window_stem(const char *name, const char *end)
{
    const char *p = run_names_skip_window(name);
    return p && run_names_is_session(p, end);
}

/* After RANK-STEP-PID-K, of which `v` gets the numbers; NULL: it is something else. */
static const char *run_names_skip_saved(const char *name, unsigned v[4])
{
    const char *p = name + strlen(RUN_SAVED_START);
    for (int i = 0; i < 4; i++) {
        const char *number = p;
        if (i > 0 && *number++ != '-')
            return NULL;
        p = run_names_skip_number(number);
        const unsigned long long n = p ? strtoull(number, NULL, 10) : UINT_MAX;
        if (n >= UINT_MAX)
            return NULL;
        v[i] = (unsigned)n;
    }
    return p;
}

bool run_saved_parse(const char *name, struct run_saved *out, unsigned *session)
{
    unsigned v[4];
    if (!text_starts(name, RUN_SAVED_START) || !text_ends(name, RUN_SAVED_END))
        return false;
    const char *p = run_names_skip_saved(name, v);
    if (!p || !run_names_is_session(p, name + strlen(name) - strlen(RUN_SAVED_END)))
        return false;
    *out = (struct run_saved){.rank = v[0], .step = v[1], .pid = v[2], .k = v[3]};
    if (session)
        *session = *p == '-' ? (unsigned)strtoul(p + 1, NULL, 10) : 1;
    return true;
}

int run_saved_check(const char *name, const void *p, size_t n, struct err *e)
{
    static const char magic[] = {'P', 'K', 3, 4};
    if (n >= sizeof magic && memcmp(p, magic, sizeof magic) == 0)
        return 0;
    return err_set(e, ERR_FORMAT, "'%s' is not an npz file", name);
}

void run_saved_name(char *out, size_t size, const struct run_saved *x, unsigned session)
{
    char more[16] = "";
    assert(session > 0);
    if (session > 1)
        snprintf(more, sizeof more, "-%u", session);
    snprintf(out, size, RUN_SAVED_START "%u-%u-%u-%u%s" RUN_SAVED_END, x->rank, x->step, x->pid,
             x->k, more);
}

static bool run_names_is_stem(const char *name, const char *end, const char *stem)
{
    return text_starts(name, stem) && run_names_is_session(name + strlen(stem), end);
}

static enum run_file_kind run_names_kind_in_node(const char *name)
{
    const char *dot = strrchr(name, '.');
    struct run_saved saved;
    if (!dot)
        return RUN_FILE_OTHER;
    if (run_saved_parse(name, &saved, NULL))
        return RUN_FILE_SAVED;
    if (strcmp(dot + 1, RUN_NODE_END) == 0)
        return run_names_is_stem(name, dot, RUN_NODE_STEM) ? RUN_FILE_NODE : RUN_FILE_OTHER;
    if (!run_names_is_stem(name, dot, STORE_METRICS) &&
        !run_names_is_stem(name, dot, STORE_EVENTS) &&
        !(text_starts(name, WINDOW_START) && run_names_is_window_stem(name, dot)))
        return RUN_FILE_OTHER;
    return strcmp(dot + 1, STORE_SEALED) == 0 ? RUN_FILE_SEALED
           : strcmp(dot + 1, STORE_TAIL) == 0 ? RUN_FILE_TAIL
                                              : RUN_FILE_OTHER;
}

enum run_file_kind run_file_kind(const char *name, bool in_node)
{
    static const char *const whole[] = {RUN_FINDINGS, RUN_REPORT, RUN_REPORT_JSON, RUN_NOTES};
    if (in_node)
        return run_names_kind_in_node(name);
    for (size_t i = 0; i < COUNT_OF(whole); i++)
        if (strcmp(name, whole[i]) == 0)
            return RUN_FILE_WHOLE;
    return strcmp(name, RUN_ABOUT) == 0 ? RUN_FILE_ABOUT : RUN_FILE_OTHER;
}

bool run_is_of_session(const char *name, unsigned session)
{
    char mark[24];
    const char *dash = strrchr(name, '-'), *rest;
    struct run_saved saved;
    unsigned v;
    if (run_saved_parse(name, &saved, &v))
        return v == session;
    /* The number of a window is not that of a session. */
    if (text_starts(name, WINDOW_START) && (rest = run_names_skip_window(name)))
        dash = *rest == '-' ? rest : NULL;
    snprintf(mark, sizeof mark, "-%u.", session);
    return session == 1 ? !dash : dash && text_starts(dash, mark);
}

void name_sanitize(char *out, size_t size, const char *text)
{
    size_t n = 0;
    for (; *text && n + 1 < size; text++) {
        const unsigned char c = (unsigned char)*text;
        const char safe = (c < 0x80 && isalnum(c)) || strchr("._-@", c) ? (char)c : '-';
        /* A leading dot would hide the folder, a leading dash look like an option. */
        if (n == 0 && (safe == '.' || safe == '-'))
            continue;
        out[n++] = safe;
    }
    out[n] = 0;
}

bool name_is_sane(const char *name, size_t size)
{
    char same[256];
    assert(size <= sizeof same);
    if (!*name || strlen(name) >= size)
        return false;
    name_sanitize(same, sizeof same, name);
    return strcmp(same, name) == 0;
}

/* ---- whether two descriptions are of one run ---- */

/* How far apart the nodes of a run begin. */
#define APART_OF_JOB_NS (3600 * NS_PER_S) /* with a launcher, which does not report its start */
#define APART_NS        (600 * NS_PER_S)

static bool same_text(const json_t *a, const json_t *b, const char *key)
{
    const char *x = json_string_value(json_object_get(a, key)),
               *y = json_string_value(json_object_get(b, key));
    return strcmp(x ? x : "", y ? y : "") == 0;
}

static bool same_begin(const json_t *a, const json_t *b, int64_t apart_most)
{
    const int64_t x = json_get_time(a, "start_ns", 0), y = json_get_time(b, "start_ns", 0);
    return x && y && (x < y ? y - x : x - y) <= apart_most;
}

static bool same_job(const json_t *a, const json_t *b, bool *has_start)
{
    static const char *const keys[] = {"cluster", "id", "step"};
    const int64_t start = json_get_time(a, "start_ns", 0);
    bool same = json_is_object(a) && json_is_object(b);
    for (size_t i = 0; same && i < COUNT_OF(keys); i++)
        same = same_text(a, b, keys[i]);
    *has_start = start != 0;
    return same && start == json_get_time(b, "start_ns", 0);
}

/* Whether 01234567-89ab-cdef-0123-456789abcdef is in it, in hexadecimal digits of any kind. */
static bool same_has_uuid(const char *id)
{
    static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    for (size_t n = 0; *id && form[n];) {
        const bool fits = form[n] == 'x' ? isxdigit((unsigned char)id[n]) != 0 : id[n] == form[n];
        n = fits ? n + 1 : 0;
        id += !fits;
        if (!form[n])
            return true;
    }
    return false;
}

static bool same_run(const json_t *a, const json_t *b)
{
    const json_t *x = json_object_get(a, "job"), *y = json_object_get(b, "job");
    bool has_start;
    if (!json_is_object(a) || !json_is_object(b) || !same_text(a, b, "id"))
        return false;
    if (!x && !y)
        return same_begin(a, b, APART_NS) ||
               same_has_uuid(json_string_value(json_object_get(a, "id")));
    return same_job(x, y, &has_start) && (has_start || same_begin(a, b, APART_OF_JOB_NS));
}

bool run_is_same(const void *a, size_t a_len, const void *b, size_t b_len)
{
    if (a_len == b_len && memcmp(a, b, a_len) == 0)
        return true;
    json_t *x = json_loadb(a, a_len, 0, NULL), *y = json_loadb(b, b_len, 0, NULL);
    const bool same = same_run(x, y);
    json_decref(x);
    json_decref(y);
    return same;
}
