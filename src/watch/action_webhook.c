/* SPDX-License-Identifier: Apache-2.0 */
/* action_webhook.c - posts the verdict as JSON, with a "text" as chat programs want it. */
#include "agent/http.h"
#include "watch/action.h"
#include "watch/curl.h"

static const struct action_key keys[] = {
    {"url", "URL to post to, http:// or https://", false},
    {"url-env", "environment variable that contains the URL, if it is secret", false},
    {"ca", "file with trusted CA certificates (default: the system's)", false},
    {0},
};

static int action_webhook_make(struct action *a, const struct action_setting *s,
                               struct arena *arena, struct err *e)
{
    struct http_url u;
    int rc = action_secret(s, "url", arena, &a->url, e);
    if (rc)
        return rc;
    if (!a->url)
        return err_set(e, ERR_USAGE, "webhook needs 'url'");
    rc = http_url_parse(&u, a->url, e);
    if (rc)
        return err_in(e, "'url'");
    a->ca = action_setting_get(s, "ca");
    a->label = arena_printf(arena, "webhook %s:%d", u.host, u.port);
    return curl_is_there(e);
}

static int action_webhook_perform(const struct action *a, const struct action_news *n,
                                  const struct action_means *m, struct err *e)
{
    return action_send(a, m, n->json, n->json_len, e);
}

static int webhook_send(const void *ctx, const void *text, size_t n, struct err *e)
{
    const struct action *a = ctx;
    return curl_post(a->url, a->ca, text, n, e);
}

const struct action_kind action_webhook = {
    .name = "webhook",
    .help = "Posts JSON to a URL; Slack and others show its \"text\".",
    .keys = keys,
    .retry = true,
    .make = action_webhook_make,
    .perform = action_webhook_perform,
    .send = webhook_send,
};
