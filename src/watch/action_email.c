/* SPDX-License-Identifier: Apache-2.0 */
/* action_email.c - a mail with what the rule found. */
#include <string.h>

#include "agent/net.h"
#include "base/mem.h"
#include "watch/action.h"
#include "watch/curl.h"
#include "watch/mail.h"

enum { PORT = 25, PORT_STARTTLS = 587, PORT_TLS = 465 };

static const struct action_key keys[] = {
    {"server", "host or host:port (default port: 25; 587 with starttls, 465 with tls)", false},
    {"from", "sender address", false},
    {"to", "recipient addresses", true},
    {"user", "login name (default: no login)", false},
    {"password", "login password; password-env is safer", false},
    {"password-env", "environment variable that contains the password", false},
    {"tls", "off, starttls or tls (default: starttls with a user, else off)", false},
    {"ca", "file with trusted CA certificates (default: the system's)", false},
    {0},
};

static int take_tls(struct action *a, const struct action_setting *s, struct err *e)
{
    static const char *const words[] = {
        [MAIL_PLAIN] = "off", [MAIL_STARTTLS] = "starttls", [MAIL_TLS] = "tls"};
    const char *text = action_setting_get(s, "tls");
    a->tls = a->user ? MAIL_STARTTLS : MAIL_PLAIN;
    if (!text)
        return 0;
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strcmp(words[i], text) == 0) {
            a->tls = (enum mail_tls)i;
            return 0;
        }
    return err_set(e, ERR_USAGE, "'tls': '%.40s' is not one of off, starttls, tls", text);
}

static int take_login(struct action *a, const struct action_setting *s, struct arena *arena,
                      struct err *e)
{
    a->user = action_setting_get(s, "user");
    const int rc = action_secret(s, "password", arena, &a->password, e);
    if (rc)
        return rc;
    if (!a->user != !a->password)
        return err_set(e, ERR_USAGE, "'user' and 'password' must be set together");
    return take_tls(a, s, e);
}

static int take_server(struct action *a, const struct action_setting *s, struct arena *arena,
                       struct err *e)
{
    static const int ports[] = {
        [MAIL_PLAIN] = PORT, [MAIL_STARTTLS] = PORT_STARTTLS, [MAIL_TLS] = PORT_TLS};
    char host[NET_HOST];
    const char *server = action_setting_get(s, "server");
    if (!server)
        return err_set(e, ERR_USAGE, "email needs 'server'");
    if (net_place_parse(server, strlen(server), ports[a->tls], host, &a->port, e) != 0)
        return err_in(e, "'server'");
    a->host = arena_strdup(arena, host);
    return 0;
}

static int take_addresses(struct action *a, const struct action_setting *s, struct arena *arena,
                          struct err *e)
{
    a->from = action_setting_get(s, "from");
    a->to = action_list(s, "to", arena, &a->n_to);
    if (!a->from || a->n_to == 0)
        return err_set(e, ERR_USAGE, "email needs 'from' and 'to'");
    if (!mail_is_address(a->from))
        return err_set(e, ERR_USAGE, "'from': '%.60s' is not an email address", a->from);
    for (size_t i = 0; i < a->n_to; i++)
        if (!mail_is_address(a->to[i]))
            return err_set(e, ERR_USAGE, "'to': '%.60s' is not an email address", a->to[i]);
    return 0;
}

static int action_email_make(struct action *a, const struct action_setting *s, struct arena *arena,
                             struct err *e)
{
    int rc = take_login(a, s, arena, e);
    if (rc == 0)
        rc = take_server(a, s, arena, e);
    if (rc == 0)
        rc = take_addresses(a, s, arena, e);
    if (rc)
        return rc;
    a->ca = action_setting_get(s, "ca");
    a->label = arena_printf(arena, "email via %s:%d", a->host, a->port);
    return curl_is_there(e);
}

static struct mail mail_of(const struct action *a)
{
    return (struct mail){
        .host = a->host,
        .port = a->port,
        .starttls = a->tls == MAIL_STARTTLS,
        .tls = a->tls == MAIL_TLS,
        .user = a->user,
        .password = a->password,
        .from = a->from,
        .to = a->to,
        .n_to = a->n_to,
    };
}

static int action_email_perform(const struct action *a, const struct action_news *n,
                                const struct action_means *means, struct err *e)
{
    const struct mail m = mail_of(a);
    struct buf message = mail_message(&m, n->subject, n->text, n->json, clock_wall());
    const int rc = action_send(a, means, message.p, message.len, e);
    buf_free(&message);
    return rc;
}

static int email_send(const void *ctx, const void *text, size_t n, struct err *e)
{
    const struct action *a = ctx;
    const struct mail m = mail_of(a);
    return curl_mail(&m, a->ca, text, n, e);
}

const struct action_kind action_email = {
    .name = "email",
    .help = "Sends an email by SMTP.",
    .keys = keys,
    .retry = true,
    .make = action_email_make,
    .perform = action_email_perform,
    .send = email_send,
};
