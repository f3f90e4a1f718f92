/* SPDX-License-Identifier: Apache-2.0 */
/* api_control.c - changes a recording while it goes on: {"set": "interval=100ms"}. */
#include <jansson.h>
#include <string.h>

#include "agent/control_run.h"
#include "serve/api_internal.h"
#include "serve/api_rows.h"
#include "serve/control_body.h"

const struct route_param api_control_params[] = {
    {"node", PARAM_TEXT,
     .help = "Only this node (default: all nodes recorded on the server's machine)."},
    {0},
};

int control_body(const char *body, size_t n, struct arena *a, const char **set, struct err *e)
{
    json_error_t why;
    struct control_request ignored;
    json_t *tree = json_loadb(body, n, JSON_REJECT_DUPLICATES, &why);
    const json_t *text = json_object_get(tree, "set");
    const char *said =
        json_is_string(text) && json_object_size(tree) == 1 ? json_string_value(text) : NULL;
    *set = said ? arena_strdup(a, said) : NULL;
    json_decref(tree);
    if (!*set)
        return err_set(e, ERR_USAGE, "the body must be {\"set\": \"...\"}");
    return control_parse(*set, strlen(*set), &ignored, e);
}

int api_control(const struct route_request *q, struct route_answer *out, struct err *e)
{
    struct control_said *said;
    struct jw j = {.out = &out->body};
    const char *set;
    size_t n;
    int rc = control_body(q->body, q->body_len, q->arena, &set, e);
    if (rc)
        return rc;
    const struct control_run_ask ask = {q->info, route_text(q, "node"), &set, 1};
    rc = control_run(&ask, q->arena, &said, &n, e);
    if (rc == 0) {
        jw_object(&j, NULL);
        rows_json(&j, "answer", &row_ControlSaid, said, n, NULL);
        jw_end(&j);
    } else if (rc == ERR_NOT_FOUND) {
        answer_error(out, 409, e->msg);
    }
    return rc == ERR_NOT_FOUND ? 0 : rc;
}
