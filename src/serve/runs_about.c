/* SPDX-License-Identifier: Apache-2.0 */
/* runs_about.c - what the list says of a run, from its small files. */
#include <string.h>

#include "base/mem.h"
#include "json/json.h"
#include "run/run_files.h"
#include "serve/runs_internal.h"

enum { WINDOW_MOST = 16 << 20 };

/* ---- findings.json: how many issues ---- */

/* A rule's own keys stand at this depth: {"rules": [ { here */
enum { RULE_DEPTH = 3 };

struct counting {
    int depth;
    bool issue, evaluated, summary;
    int severity; /* -1: none seen */
    unsigned *n;
};

static bool runs_about_text_is(const struct json_text *t, const char *word)
{
    return t->len == strlen(word) && memcmp(t->p, word, t->len) == 0;
}

static void see_text(struct counting *c, const struct json_item *x)
{
    if (c->depth != RULE_DEPTH)
        return;
    if (runs_about_text_is(&x->key, "state")) {
        c->issue = runs_about_text_is(&x->text, rule_state_names[RULE_ISSUE]);
        c->evaluated = !runs_about_text_is(&x->text, rule_state_names[RULE_NOT_EVALUATED]);
    }
    for (int i = 0; i < SEVERITY_N && runs_about_text_is(&x->key, "severity"); i++)
        if (runs_about_text_is(&x->text, severity_names[i]))
            c->severity = i;
}

static void leave(struct counting *c)
{
    if (c->depth == RULE_DEPTH && c->issue && c->severity >= 0)
        c->n[c->severity]++;
    if (c->depth == RULE_DEPTH && c->evaluated && !c->summary)
        c->n[ISSUE_EVALUATED]++;
    c->depth--;
}

static bool count_issues(struct json_scan *j, struct counting *c)
{
    for (;;) {
        struct json_item x;
        const enum json_kind kind = json_next(j, &x);
        if (json_is_over(kind))
            return kind == JS_DONE;
        if (kind == JS_OBJECT || kind == JS_ARRAY) {
            if (++c->depth == RULE_DEPTH)
                *c = (struct counting){.depth = c->depth, .severity = -1, .n = c->n};
        } else if (kind == JS_END) {
            leave(c);
        } else if (kind == JS_STRING) {
            see_text(c, &x);
        } else if (kind == JS_TRUE && c->depth == RULE_DEPTH) {
            c->summary |= runs_about_text_is(&x.key, "summary");
        }
    }
}

bool issues_read(const char *path, unsigned out[ISSUE_COUNTS])
{
    struct arena a = {0};
    struct err e;
    char *text;
    size_t len;
    memset(out, 0, ISSUE_COUNTS * sizeof *out);
    bool good = run_read_findings(path, &a, &text, &len, &e) == 0;
    if (good) {
        struct bytes_memory in;
        struct json_scan j;
        const struct json_options options = {.strict = true, .window_most = WINDOW_MOST};
        bytes_memory_init(&in, text, len, 0);
        json_open(&j, &in.in, &options);
        good = count_issues(&j, &(struct counting){.n = out});
        json_close(&j);
    }
    arena_free(&a);
    return good;
}

/* ---- the rest ---- */

struct runs_about *about_read(const char *path, uint64_t stamp)
{
    struct runs_about *a = xcalloc(1, sizeof *a);
    struct err e;
    *a = (struct runs_about){.refs = 1, .stamp = stamp};
    if (run_info_read(&a->info, path, &a->arena, &e) != 0) {
        a->broken = arena_strdup(&a->arena, e.msg);
        a->start_ns = run_stamp_folder(path);
        return a;
    }
    a->start_ns = a->info.start.ns;
    a->has_issues = issues_read(path, a->issues);
    return a;
}
