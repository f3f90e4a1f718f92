/* SPDX-License-Identifier: Apache-2.0 */
/* action_news.c - see action_news.h. */
#include "watch/action_news.h"

#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "base/mem.h"
#include "rules/rule.h"
#include "rules/verdict_json.h"

static const char *stop_of(const char *sentence)
{
    const size_t n = strlen(sentence);
    return n && strchr(".!?", sentence[n - 1]) ? "" : ".";
}

/* "GPU under-used (LowGPUUtilization, warning)" */
static const char *name_it(const struct verdict *v, bool clear, struct arena *a)
{
    return arena_printf(a, "%s (%s%s%s)", v->rule->title, v->rule->name, clear ? "" : ", ",
                        clear ? "" : severity_names[v->severity]);
}

static const char *say_it(const struct news_from *from, const struct verdict *v, bool clear,
                          struct arena *a)
{
    const char *what = name_it(v, clear, a);
    if (clear || v->n_findings == 0)
        return arena_printf(a, "Footplate: %s in run %s on %s%s", what, from->run, from->node,
                            clear ? ": resolved." : ".");
    const struct finding *f = &v->findings[0];
    const char *advice = f->advice ? f->advice : v->rule->recommendation;
    const char *more =
        v->n_findings > 1 ? arena_printf(a, " (and %zu more findings)", v->n_findings - 1) : "";
    return arena_printf(a, "Footplate: %s in run %s on %s: %s%s%s%s%s%s", what, from->run,
                        from->node, f->message, *more ? more : stop_of(f->message),
                        *more ? "." : "", *advice ? " Fix: " : "", advice,
                        *advice ? stop_of(advice) : "");
}

static void put_json(struct buf *b, const struct news_from *from, const struct news_text *n,
                     const struct verdict *v, const struct param_value *p)
{
    struct jw j = {.out = b};
    jw_object(&j, NULL);
    jw_str(&j, "text", n->told.text);
    jw_str(&j, "event", n->told.clear ? "clear" : "issue");
    jw_str(&j, "rule", v->rule->name);
    jw_str(&j, "severity", n->told.clear ? NULL : severity_names[v->severity]);
    jw_str(&j, "run", from->run);
    jw_str(&j, "run_id", from->run_id);
    jw_str(&j, "node", from->node);
    jw_int(&j, "time_ns", clock_wall().ns);
    jw_str(&j, "version", FP_VERSION);
    verdict_json(&j, "verdict", v, p);
    jw_end(&j);
    buf_u8(b, 0);
}

struct news_text *news_make(const struct news_from *from, const struct verdict *v,
                            const struct param_value *p, bool clear)
{
    struct buf json = {0};
    struct news_text *n = xcalloc(1, sizeof *n);
    struct arena *a = &n->arena;
    atomic_init(&n->holders, 1);
    n->told.clear = clear;
    n->told.rule = v->rule->name;
    n->told.subject = arena_printf(a, "Footplate: %s: %s%s", from->run, name_it(v, clear, a),
                                   clear ? " resolved" : "");
    n->told.text = say_it(from, v, clear, a);
    put_json(&json, from, n, v, p);
    n->told.json_len = json.len - 1;
    n->told.json = arena_strndup(a, (const char *)json.p, n->told.json_len);
    buf_free(&json);
    return n;
}

struct news_text *news_share(struct news_text *n)
{
    atomic_fetch_add(&n->holders, 1);
    return n;
}

void news_free(struct news_text *n)
{
    if (!n || atomic_fetch_sub(&n->holders, 1) > 1)
        return;
    arena_free(&n->arena);
    free(n);
}
