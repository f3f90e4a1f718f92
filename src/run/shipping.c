/* SPDX-License-Identifier: Apache-2.0 */
/* shipping.c - see shipping.h. */
#include "run/shipping.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json_read.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/text.h"
#include "run/run_names.h"
#include "run/storage.h"

static const char *const state_names[SHIPPING_STATE_N] = {
    [SHIPPING_OK] = "ok",
    [SHIPPING_WAITING] = "waiting",
    [SHIPPING_STOPPED] = "stopped",
    [SHIPPING_DONE] = "done",
};

const char *shipping_state_name(enum shipping_state s)
{
    assert((size_t)s < COUNT_OF(state_names));
    return state_names[s];
}

double shipping_lag_s(const struct shipping *s)
{
    if (s->state == SHIPPING_DONE)
        return 0;
    const double lag = (double)(clock_wall().ns - s->synced.ns) / (double)NS_PER_S;
    return s->synced.ns == 0 ? NAN : MAX_OF(lag, 0.0);
}

static int shipping_path(const char *run, const char *node, char *out, struct err *e)
{
    char folder[PATH_LEN];
    TRY(run_node_path(folder, run, node, e));
    return run_path(out, folder, RUN_SHIPPING, e);
}

void shipping_tidy(const char *run, const char *node)
{
    char path[PATH_LEN];
    struct err e;
    if (shipping_path(run, node, path, &e) == 0)
        storage_tidy(path);
}

int shipping_put(const char *run, const char *node, const struct shipping *s, struct err *e)
{
    char path[PATH_LEN];
    struct buf b = {0};
    struct jw j = {.out = &b, .indent = 2};
    TRY(shipping_path(run, node, path, e));
    jw_object(&j, NULL);
    jw_str(&j, "to", s->to);
    jw_str(&j, "state", shipping_state_name(s->state));
    jw_int(&j, "synced_ns", s->synced.ns);
    jw_int(&j, "bytes", (int64_t)s->bytes);
    jw_str(&j, "error", *s->error ? s->error : NULL);
    jw_end(&j);
    buf_u8(&b, '\n');
    const int rc = storage_of(path)->put(path, b.p, b.len, STORAGE_PUT_REPLACE, e);
    buf_free(&b);
    return rc;
}

int shipping_read(const char *run, const char *node, struct shipping *out, struct err *e)
{
    char path[PATH_LEN];
    struct arena a = {0};
    json_t *o = NULL;
    TRY(shipping_path(run, node, path, e));
    if (storage_read_json(&o, path, e))
        return err_set(e, ERR_NOT_FOUND, "node '%s' is not sent anywhere", node);
    const char *state = json_get_str(o, "state", &a, "");
    *out = (struct shipping){.state = SHIPPING_WAITING,
                             .synced = {json_get_time(o, "synced_ns", 0)},
                             .bytes = (uint64_t)json_get_within(o, "bytes", 0, INT64_MAX, 0)};
    for (size_t i = 0; i < COUNT_OF(state_names); i++)
        if (strcmp(state_names[i], state) == 0)
            out->state = (enum shipping_state)i;
    snprintf(out->to, sizeof out->to, "%s", json_get_str(o, "to", &a, ""));
    snprintf(out->error, sizeof out->error, "%s", json_get_str(o, "error", &a, ""));
    json_decref(o);
    arena_free(&a);
    return 0;
}

int shipping_of_run(const struct run_info *info, struct shipping *out, struct err *e)
{
    static const int badness[SHIPPING_STATE_N] = {
        [SHIPPING_DONE] = 0, [SHIPPING_OK] = 1, [SHIPPING_WAITING] = 2, [SHIPPING_STOPPED] = 3};
    bool any = false;
    for (size_t i = 0; i < info->n_nodes; i++) {
        struct shipping s;
        if ((i && strcmp(info->nodes[i].id, info->nodes[i - 1].id) == 0) ||
            shipping_read(info->path, info->nodes[i].id, &s, e))
            continue;
        const uint64_t bytes = s.bytes + (any ? out->bytes : 0);
        const int64_t synced = any ? MIN_OF(s.synced.ns, out->synced.ns) : s.synced.ns;
        if (!any || badness[s.state] > badness[out->state])
            *out = s;
        out->bytes = bytes;
        out->synced.ns = synced;
        any = true;
    }
    return any ? 0 : err_set(e, ERR_NOT_FOUND, "the run is not sent anywhere");
}
