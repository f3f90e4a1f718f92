/* SPDX-License-Identifier: Apache-2.0 */
/* api_own.c - see api_internal.h. */
#include <string.h>

#include "serve/api_internal.h"
#include "serve/digests.h"
#include "serve/runs.h"

int answer_too_large(const char *what, struct err *e)
{
    return err_set(e, ERR_USAGE,
                   "%s: the response would be larger than 1 MB; request fewer points, fewer series "
                   "or a shorter time range",
                   what);
}

int answer_fits(const struct buf *body, const char *what, struct err *e)
{
    return body->len <= ANSWER_MOST ? 0 : answer_too_large(what, e);
}

void answer_error(struct route_answer *out, int status, const char *text)
{
    struct jw j = {.out = &out->body};
    out->status = status;
    out->body.len = 0;
    jw_object(&j, NULL);
    jw_str(&j, "error", text);
    jw_end(&j);
}

void answer_pending(struct route_answer *out)
{
    struct jw j = {.out = &out->body};
    out->status = 202;
    out->body.len = 0;
    jw_object(&j, NULL);
    jw_bool(&j, "pending", true);
    jw_end(&j);
}

int route_word(const struct route_ask *q, const char *name, const char *const *words, int64_t *at,
               struct err *e)
{
    const char *text = route_text(q, name);
    struct buf list = {0};
    if (!text)
        return 0;
    for (int64_t i = 0; words[i]; i++) {
        if (strcmp(words[i], text) == 0) {
            *at = i;
            buf_free(&list);
            return 0;
        }
        buf_printf(&list, "%s%s", i ? ", " : "", words[i]);
    }
    err_set(e, ERR_USAGE, "%s: '%.40s' is not one of %.*s", name, text, (int)list.len,
            (const char *)list.p);
    buf_free(&list);
    return e->code;
}

int route_window(const struct route_ask *q, wall_ns *from, wall_ns *to, struct err *e)
{
    const struct run_info *info = run_get_info(q->run);
    *from = route_time(q, "from");
    *to = route_time(q, "to");
    if (!from->ns)
        *from = info->start;
    if (!to->ns) /* the last sample is in it */
        *to = (wall_ns){info->end.ns + 1};
    return to->ns > from->ns ? 0 : err_set(e, ERR_USAGE, "the window ends before it starts");
}

int api_steps_known(const struct route_ask *q, struct route_answer *out,
                    const struct step_digest **known, struct err *e)
{
    const int rc = digests_take(runs_digests(q->runs), q, known, &out->passing, e);
    if (rc == 0 && !*known)
        answer_pending(out);
    return rc;
}

void api_steps_done(const struct route_ask *q, const struct step_digest *x)
{
    digests_give(runs_digests(q->runs), x);
}
