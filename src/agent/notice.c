/* SPDX-License-Identifier: Apache-2.0 */
/* notice.c - the table of providers, and the thread that queries the metadata service. See
 * notice.h.
 */
#include "agent/notice.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/thread.h"

/* ==== providers ==== */

static bool body_is(const char *body, size_t len, const char *word)
{
    while (len && (body[len - 1] == '\n' || body[len - 1] == '\r' || body[len - 1] == ' '))
        len--;
    return len == strlen(word) && memcmp(body, word, len) == 0;
}

static const char *notice_table_text_of(const json_t *o, const char *key, const char *otherwise)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : otherwise;
}

/* {"action": "terminate", "time": "2017-09-18T08:22:00Z"} */
static void aws_action(const char *body, size_t len, struct notice *out)
{
    json_t *o = json_loadb(body, len, 0, NULL);
    const char *action = notice_table_text_of(o, "action", NULL);
    if (action) {
        out->found = out->ends = true;
        snprintf(out->text, sizeof out->text, "AWS spot: %.40s at %.40s", action,
                 notice_table_text_of(o, "time", "an unknown time"));
    }
    json_decref(o);
}

/* {"noticeTime": "2020-10-27T08:22:00Z"} */
static void aws_rebalance(const char *body, size_t len, struct notice *out)
{
    json_t *o = json_loadb(body, len, 0, NULL);
    const char *at = notice_table_text_of(o, "noticeTime", NULL);
    if (at) {
        out->found = true;
        snprintf(out->text, sizeof out->text, "AWS spot: higher risk of interruption since %.40s",
                 at);
    }
    json_decref(o);
}

static void gcp_preempted(const char *body, size_t len, struct notice *out)
{
    if (!body_is(body, len, "TRUE"))
        return;
    out->found = out->ends = true;
    snprintf(out->text, sizeof out->text, "GCP spot: preempted");
}

static void gcp_maintenance(const char *body, size_t len, struct notice *out)
{
    if (len == 0 || len > 60 || body_is(body, len, "NONE") || memchr(body, '<', len))
        return;
    out->found = true;
    out->ends = body_is(body, len, "TERMINATE_ON_HOST_MAINTENANCE");
    snprintf(out->text, sizeof out->text, "GCP maintenance: %.*s", (int)len, body);
    out->text[strcspn(out->text, "\r\n")] = 0;
}

/* {"Events": [{"EventType": "Preempt", "NotBefore": "Mon, 19 Sep 2016 18:29:47 GMT", ...}]} */
static void azure_events(const char *body, size_t len, struct notice *out)
{
    json_t *o = json_loadb(body, len, 0, NULL), *event;
    size_t i;
    json_array_foreach(json_object_get(o, "Events"), i, event)
    {
        const char *type = notice_table_text_of(event, "EventType", "");
        const bool ends = strcmp(type, "Preempt") == 0 || strcmp(type, "Terminate") == 0;
        if (!*type || (out->ends && !ends))
            continue;
        out->found = true;
        out->ends = ends;
        snprintf(out->text, sizeof out->text, "Azure: %.40s not before %.40s", type,
                 notice_table_text_of(event, "NotBefore", "now"));
    }
    json_decref(o);
}

const struct notice_provider notice_providers[] = {
    {
        .name = "AWS",
        .dmi_file = "sys_vendor",
        .dmi_text = "Amazon EC2",
        .address = "169.254.169.254",
        .header = "",
        .token_path = "/latest/api/token",
        .token_header = "X-aws-ec2-metadata-token-ttl-seconds: 21600\r\n",
        .token_name = "X-aws-ec2-metadata-token",
        .question = {{"/latest/meta-data/spot/instance-action", aws_action},
                     {"/latest/meta-data/events/recommendations/rebalance", aws_rebalance}},
    },
    {
        .name = "GCP",
        .dmi_file = "product_name",
        .dmi_text = "Google Compute Engine",
        .address = "169.254.169.254",
        .header = "Metadata-Flavor: Google\r\n",
        .question = {{"/computeMetadata/v1/instance/preempted", gcp_preempted},
                     {"/computeMetadata/v1/instance/maintenance-event", gcp_maintenance}},
    },
    {
        /* The vendor is Microsoft on every Hyper-V machine; this tag is Azure's own. */
        .name = "Azure",
        .dmi_file = "chassis_asset_tag",
        .dmi_text = "7783-7084-3265-9085-8269-3286-77",
        .address = "169.254.169.254",
        .header = "Metadata: true\r\n",
        .question = {{"/metadata/scheduledevents?api-version=2020-07-01", azure_events}},
    },
    {0},
};

const struct notice_provider *notice_provider_here(const char *sys)
{
    for (const struct notice_provider *p = notice_providers; p->name; p++) {
        struct arena a = {0};
        struct err e;
        char path[PATH_LEN], *text;
        size_t len;
        const bool here = path_join(path, &e, "%s/class/dmi/id/%s", sys, p->dmi_file) == 0 &&
                          file_read(path, 4096, &a, &text, &len, &e) == 0 &&
                          text_starts(text, p->dmi_text);
        arena_free(&a);
        if (here)
            return p;
    }
    return NULL;
}

/* ==== the thread ==== */

/* the thread that queries the metadata service. See notice.h. */

enum {
    PERIOD_MS = 5000,  /* what AWS recommends; the notice comes two minutes ahead */
    SILENT_MS = 60000, /* between attempts without an answer */
    TIMEOUT_MS = 1000,
    SILENT_AFTER = 3, /* failures in a row */
    TOKEN_LEN = 256,
    STACK = 128 * 1024,
};

/* What the thread carries from one round to the next. */
struct watch_state {
    char token[TOKEN_LEN];
    unsigned failures;
    bool failure_reported;
    char reported[NOTICE_QUESTIONS][TEXT_LEN]; /* so that each notice is reported once */
    char buf[HTTP_MOST];
};

static int get_token(struct notice_watch *w, struct watch_state *st, struct err *e)
{
    const struct notice_provider *p = w->provider;
    struct http_answer a;
    TRY(http_ask(&w->host, "PUT", p->token_path, p->token_header, TIMEOUT_MS, st->buf, &a, e));
    if (a.status != 200 || a.len >= TOKEN_LEN || memchr(a.body, '\r', a.len) ||
        memchr(a.body, '\n', a.len))
        return err_set(e, ERR_FORMAT, "the token request was refused with status %d", a.status);
    snprintf(st->token, sizeof st->token, "%.*s", (int)a.len, a.body);
    return 0;
}

static void notice_report(struct notice_watch *w, struct watch_state *st, size_t q,
                          const struct notice *n)
{
    if (!n->found || strcmp(st->reported[q], n->text) == 0)
        return;
    snprintf(st->reported[q], TEXT_LEN, "%s", n->text);
    sink_mark(w->sink, MARK_INTERRUPTION, n->ends, "%s", n->text);
    w->on_notice(w->ctx, n);
}

static int notice_ask(struct notice_watch *w, struct watch_state *st, size_t q, struct err *e)
{
    const struct notice_provider *p = w->provider;
    char headers[TOKEN_LEN + 128];
    struct http_answer a;
    snprintf(headers, sizeof headers, "%s%s%s%s%s", p->header, *st->token ? p->token_name : "",
             *st->token ? ": " : "", st->token, *st->token ? "\r\n" : "");
    TRY(http_ask(&w->host, "GET", p->question[q].path, headers, TIMEOUT_MS, st->buf, &a, e));
    if (a.status == 401)
        st->token[0] = 0; /* expired: a new one next round */
    if (a.status == 200) {
        struct notice n = {0};
        p->question[q].judge(a.body, a.len, &n);
        notice_report(w, st, q, &n);
    }
    return 0; /* AWS answers 404 if there is no notice */
}

static int ask_all(struct notice_watch *w, struct watch_state *st, struct err *e)
{
    if (w->provider->token_path && !*st->token)
        TRY(get_token(w, st, e));
    for (size_t q = 0; q < NOTICE_QUESTIONS && w->provider->question[q].path; q++)
        TRY(notice_ask(w, st, q, e));
    return 0;
}

static void note_failure(struct notice_watch *w, struct watch_state *st, const struct err *e)
{
    if (++st->failures < SILENT_AFTER || st->failure_reported)
        return;
    st->failure_reported = true;
    sink_loss(w->sink, LOSS_READ, LOST_PART("interruption notices"), "%s metadata service: %.100s",
              w->provider->name, e->msg);
}

static void *watch_thread(void *arg)
{
    struct notice_watch *w = arg;
    struct watch_state *st = xcalloc(1, sizeof *st);
    struct err e;
    bool stop = false;
    while (!stop) {
        if (ask_all(w, st, &e))
            note_failure(w, st, &e);
        else
            st->failures = 0;
        const int ms = st->failures >= SILENT_AFTER ? SILENT_MS : w->period_ms;
        stop = thread_sleep(&w->stop, &w->lock, &w->wake, mono_add(clock_mono(), ms * NS_PER_MS));
    }
    free(st);
    return NULL;
}

bool notice_start(struct notice_watch *w, const char *sys, const char *address, int period_ms,
                  struct sink *sink, void (*on_notice)(void *ctx, const struct notice *n),
                  void *ctx)
{
    struct err e;
    *w = (struct notice_watch){.provider = notice_provider_here(sys),
                               .sink = sink,
                               .on_notice = on_notice,
                               .ctx = ctx,
                               .period_ms = period_ms ? period_ms : PERIOD_MS};
    if (!w->provider || http_host_parse(&w->host, address ? address : w->provider->address, &e))
        return false;
    pthread_mutex_init(&w->lock, NULL);
    thread_cond_init(&w->wake);
    w->started = thread_start(&w->thread, STACK, watch_thread, w, "fp-notice", &e) == 0;
    return w->started;
}

void notice_stop(struct notice_watch *w)
{
    if (!w->started)
        return;
    thread_set_flag(&w->stop, &w->lock, &w->wake);
    pthread_join(w->thread, NULL);
    w->started = false;
}
