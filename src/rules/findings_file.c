/* SPDX-License-Identifier: Apache-2.0 */
/* findings_file.c - see findings_file.h. */
#include "rules/findings_file.h"

#include "base/json_write.h"
#include "rules/verdict_json.h"
#include "run/run_files.h"
#include "run/run_names.h"

static void findings_file_put(struct buf *b, const struct verdicts *v, const struct rule_params *p,
                              const struct hosted *own, size_t n_own)
{
    struct jw j = {.out = b, .indent = 2};
    const struct verdict *order[RULE_N];
    verdicts_in_order(v->v, RULE_N, order);
    jw_object(&j, NULL);
    jw_str(&j, "version", FP_VERSION);
    jw_array(&j, "rules");
    for (size_t k = 0; k < RULE_N; k++)
        verdict_json(&j, NULL, order[k], p->v[order[k] - v->v]);
    for (size_t i = 0; i < n_own; i++)
        verdict_json(&j, NULL, &own[i].v, own[i].p);
    jw_end(&j);
    jw_end(&j);
    buf_u8(b, '\n');
}

int findings_write(const char *folder, const struct verdicts *v, const struct rule_params *p,
                   const struct hosted *own, size_t n_own, struct err *e)
{
    struct buf b = {0};
    findings_file_put(&b, v, p, own, n_own);
    const int rc = run_put(folder, RUN_FINDINGS, b.p, b.len, e);
    buf_free(&b);
    return rc;
}
