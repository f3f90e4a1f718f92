/* SPDX-License-Identifier: Apache-2.0 */
/* What comes back from rules in Python, whatever it is. */
#include <math.h>
#include <string.h>

#include "rules/verdict_json.h"
#include "test.h"

static int read_text(const char *text, struct arena *a, struct hosted **v, size_t *n, struct err *e)
{
    return verdicts_read(text, strlen(text), a, v, n, e);
}

TEST(a_verdict_is_what_the_host_said)
{
    struct arena a = {0};
    struct hosted *v;
    size_t n;
    struct err e;
    OK(read_text("{\"verdicts\": [{\"rule\": \"R\", \"state\": \"issue\", \"severity\": \"info\", "
                 "\"params\": {\"x\": 3}, \"findings\": [{\"message\": \"m\", \"node\": \"n\", "
                 "\"ranges\": [[5, 9], [20, 30]], \"numbers\": {\"k\": 2}, \"units\": {\"k\": "
                 "\"s\"}, \"lost_s\": 4, \"lost_gpu_s\": 1}, {\"message\": \"o\", \"lost_s\": 7, "
                 "\"lost_gpu_s\": 2}]}]}",
                 &a, &v, &n, &e));
    CHECK_INT(n, 1);
    CHECK_INT(v->v.state, RULE_ISSUE);
    CHECK_INT(v->v.severity, SEVERITY_INFO);
    CHECK(v->v.rule->custom);
    CHECK_STR(v->v.rule->params[0].name, "x");
    NEAR(v->p[0].v, 3, 0);
    CHECK_INT(v->v.n_findings, 2);
    CHECK_INT(v->v.findings[0].n_ranges, 2);
    CHECK_INT(v->v.findings[0].end.ns, 30);
    CHECK_STR(v->v.findings[0].numbers[0].unit, "s");
    NEAR(v->v.lost_s, 7, 0);     /* the same time may be in both */
    NEAR(v->v.lost_gpu_s, 3, 0); /* but not on one GPU */
    arena_free(&a);
}

TEST(what_is_missing_or_of_another_kind_does_no_harm)
{
    static const char *const rows[] = {
        "{\"verdicts\": [3]}",
        "{\"verdicts\": [{}]}",
        "{\"verdicts\": [{\"rule\": 3, \"state\": [], \"findings\": {}, \"params\": 1}]}",
        "{\"verdicts\": [{\"state\": \"odd\", \"why\": null, \"severity\": \"odd\"}]}",
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena a = {0};
        struct hosted *v;
        size_t n;
        struct err e;
        OK(read_text(rows[i], &a, &v, &n, &e));
        CHECK_INT(n, 1);
        CHECK_INT(v->v.state, RULE_NOT_EVALUATED);
        CHECK_INT(v->v.n_findings, 0);
        CHECK(v->v.why && v->v.rule->name);
        arena_free(&a);
    }
}

TEST(an_answer_that_is_none_is_refused)
{
    static const struct {
        const char *text;
        int code;
        const char *says;
    } rows[] = {
        {"", ERR_FORMAT, "invalid JSON"},
        {"}{", ERR_FORMAT, "invalid JSON"},
        {"[]", ERR_FORMAT, "no verdicts"},
        {"{\"verdicts\": 3}", ERR_FORMAT, "no verdicts"},
        {"{\"error\": \"there is no such\"}", ERR_USAGE, "there is no such"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena a = {0};
        struct hosted *v;
        size_t n;
        struct err e;
        CHECK_INT(read_text(rows[i].text, &a, &v, &n, &e), rows[i].code);
        CHECK(strstr(e.msg, rows[i].says));
        arena_free(&a);
    }
}
