/* SPDX-License-Identifier: Apache-2.0 */
/* notice_table.c - the providers, and what their answers mean. See notice.h. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "agent/notice.h"
#include "base/file.h"
#include "base/text.h"

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
