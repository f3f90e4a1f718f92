/* SPDX-License-Identifier: Apache-2.0 */
/* action_webhook.c - posts the verdict as JSON, with a "text" as chat programs want it. */
#include "agent/action.h"
#include "agent/curl.h"
#include "agent/http.h"

static const struct action_key keys[] = {
    {"url", "where to post to, http:// or https://", false},
    {"url-env", "the environment variable that holds the URL, for one that is a secret", false},
    {"ca", "a file with the certificates to trust (default: the system's)", false},
    {0},
};

static int make(struct action *a, const struct action_setting *s, struct arena *arena,
                struct err *e)
{
    struct http_url u;
    int rc = action_secret(s, "url", arena, &a->url, e);
    if (rc)
        return rc;
    if (!a->url)
        return err_set(e, ERR_USAGE, "a webhook needs a 'url'");
    rc = http_url_parse(&u, a->url, e);
    if (rc)
        return err_in(e, "'url'");
    a->ca = action_setting_get(s, "ca");
    a->label = arena_printf(arena, "webhook %s:%d", u.host, u.port);
    return u.tls ? curl_is_there(e) : 0;
}

static int perform(const struct action *a, const struct action_news *n,
                   const struct action_means *m, struct err *e)
{
    struct http_url u;
    (void)m;
    const int rc = http_url_parse(&u, a->url, e);
    if (rc)
        return rc;
    if (u.tls)
        return curl_post(a->url, a->ca, n->json, n->json_len, a->timeout_ns, e);
    return http_post(&u, n->json, n->json_len, mono_add(clock_mono(), a->timeout_ns), e);
}

const struct action_kind action_webhook = {
    .name = "webhook",
    .help = "Posts JSON to a URL; its \"text\" is what Slack and others show.",
    .keys = keys,
    .retry = true,
    .make = make,
    .perform = perform,
};
