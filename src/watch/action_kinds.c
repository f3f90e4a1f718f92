/* SPDX-License-Identifier: Apache-2.0 */
/* action_kinds.c - the kinds of actions: stop, exec, webhook, email. */
#include <string.h>
#include <time.h>

#include "agent/http.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/vec.h"
#include "net/curl.h"
#include "net/http_client.h"
#include "watch/action.h"

/* ==== stop ==== */

#define GRACE_NS     (10 * NS_PER_S)
#define GRACE_MIN_NS NS_PER_S
#define GRACE_MAX_NS (3600 * NS_PER_S)

static int action_stop_make(struct action *a, const struct action_setting *s, struct arena *arena,
                            struct err *e)
{
    const char *text = action_setting_get(s, "grace");
    (void)arena;
    a->label = "stop";
    a->grace_ns = GRACE_NS;
    if (a->on_clear)
        return err_set(e, ERR_USAGE, "'on: clear' cannot be used with stop");
    if (!text)
        return 0;
    return duration_parse_within("'grace'", text, GRACE_MIN_NS, GRACE_MAX_NS, &a->grace_ns, e);
}

static int action_stop_perform(const struct action *a, const struct action_news *n,
                               const struct action_means *m, struct err *e)
{
    (void)e;
    m->stop(m->ctx, n->rule, a->grace_ns);
    return 0;
}

const struct action_kind action_stop = {
    .name = "stop",
    .help = "Stops the job: SIGTERM, then SIGKILL after a grace period.",
    .keys = ACTION_KEYS(
        {"grace", "time between SIGTERM and SIGKILL, from 1s to 1h (default: 10s)", false}),
    .urgent = true,
    .make = action_stop_make,
    .perform = action_stop_perform,
};

/* ==== exec ==== */

/* runs a command with the verdict on its stdin. */

enum { LINES_MOST = 5 };

static int action_exec_make(struct action *a, const struct action_setting *s, struct arena *arena,
                            struct err *e)
{
    size_t n;
    const char **words = action_list(s, "command", arena, &n);
    const bool listed = FIND_ANY(i, s->n, s->v[i].listed && strcmp(s->v[i].key, "command") == 0);
    if (n == 0 || !*words[0])
        return err_set(e, ERR_USAGE, "exec needs 'command'");
    a->command = words;
    if (!listed) {
        a->command = arena_array(arena, const char *, 4);
        a->command[0] = "sh";
        a->command[1] = "-c";
        a->command[2] = words[0];
    }
    /* The first word alone: what follows may be a secret. */
    const size_t first = strcspn(words[0], " \t\n");
    a->label = arena_printf(arena, "exec %s",
                            path_base(arena_strndup(arena, words[0], MIN_OF(first, (size_t)60))));
    return 0;
}

/* The last lines that the command printed. */
static void action_report_output(const struct action *a, const char *output,
                                 const struct action_means *m)
{
    struct arena arena = {0};
    const char *end = output + strlen(output), *from = end;
    for (int lines = 0; from > output; from--)
        if (from[-1] == '\n' && from != end && ++lines == LINES_MOST)
            break;
    while (from < end) {
        const size_t n = strcspn(from, "\n");
        if (n > 0)
            m->print(m->ctx, arena_printf(&arena, "%s: %.*s", a->label, (int)n, from));
        from += n + (from[n] == '\n');
    }
    arena_free(&arena);
}

static int action_exec_perform(const struct action *a, const struct action_news *n,
                               const struct action_means *m, struct err *e)
{
    struct runner_result r;
    TRY(runner_run(m->runner, a->number, n->json, n->json_len, a->timeout_ns, &r, e));
    action_report_output(a, r.output, m);
    if (r.timed_out)
        return err_set(e, ERR_LIMIT, "it took longer than %g s and was killed",
                       (double)a->timeout_ns / 1e9);
    return r.status ? err_set(e, ERR_SYS, "it exited with status %d", r.status) : 0;
}

const struct action_kind action_exec = {
    .name = "exec",
    .help = "Runs a command with the result of the rule as JSON on its stdin.",
    .keys = ACTION_KEYS(
        {"command", "command to run: a string for the shell, or a list of arguments", true}),
    .make = action_exec_make,
    .perform = action_exec_perform,
};

/* ==== webhook ==== */

/* posts the verdict as JSON, with a "text" for chat programs. */

static int action_webhook_make(struct action *a, const struct action_setting *s,
                               struct arena *arena, struct err *e)
{
    struct http_url u;
    TRY(action_secret(s, "url", arena, &a->url, e));
    if (!a->url)
        return err_set(e, ERR_USAGE, "webhook needs 'url'");
    if (http_url_parse(&u, a->url, e) != 0)
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
    static const char *const headers[] = {"Content-Type: application/json"};
    const struct http_request q = {
        .method = "POST",
        .url = a->url,
        .headers = headers,
        .n_headers = COUNT_OF(headers),
        .body = text,
        .body_len = n,
    };
    struct http_client *client;
    struct http_response r = {0};
    TRY(http_client_open(&client, &(struct http_client_config){.ca = a->ca}, e));
    int rc = http_client_send(client, &q, &r, e);
    if (rc == 0 && (r.status < 200 || r.status > 299))
        rc = err_set(e, ERR_FORMAT, "the server answered with status %d", r.status);
    http_response_free(&r);
    http_client_close(client);
    return rc;
}

const struct action_kind action_webhook = {
    .name = "webhook",
    .help = "Posts JSON to a URL; Slack and others show its \"text\".",
    .keys = ACTION_KEYS(
        {"url", "URL to post to, http:// or https://", false},
        {"url-env", "environment variable that contains the URL, if it is secret", false},
        {"ca", "file with trusted CA certificates (default: the system's)", false}),
    .retry = true,
    .make = action_webhook_make,
    .perform = action_webhook_perform,
    .send = webhook_send,
};

/* ==== email ==== */

/* a mail with what the rule found. */

enum { LINE_BYTES = 57 }; /* 76 letters of base64 */

#define BOUNDARY "footplate-part"

static void mail_put_lines(struct buf *b, const char *text)
{
    const size_t n = strlen(text);
    for (size_t i = 0; i < n; i += LINE_BYTES) {
        buf_base64(b, text + i, MIN_OF(n - i, (size_t)LINE_BYTES));
        buf_put(b, "\r\n", 2);
    }
}

bool mail_is_address(const char *text)
{
    for (const char *p = text; *p; p++)
        if (*p <= ' ' || *p == 127 || strchr("<>,;\"\\", *p))
            return false;
    return strchr(text, '@') != NULL && strlen(text) < 255;
}

/* A header's value: plain letters only. */
static void mail_put_plain(struct buf *b, const char *text)
{
    for (const char *p = text; *p; p++)
        buf_u8(b, *p >= ' ' && *p < 127 ? (uint8_t)*p : '?');
}

static void mail_put_date(struct buf *b, wall_ns now)
{
    char text[64];
    const time_t s = (time_t)(now.ns / NS_PER_S);
    struct tm tm;
    /* The names of days and months as C has them: the program never sets a locale. */
    if (gmtime_r(&s, &tm) && strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S +0000", &tm))
        buf_printf(b, "Date: %s\r\n", text);
}

static void mail_put_part(struct buf *b, const char *type, const char *text)
{
    buf_printf(b,
               "--" BOUNDARY "\r\nContent-Type: %s\r\n"
               "Content-Transfer-Encoding: base64\r\n\r\n",
               type);
    mail_put_lines(b, text);
}

struct buf mail_message(const struct mail_route *m, const char *subject, const char *text,
                        const char *json, wall_ns now)
{
    struct buf b = {0};
    buf_printf(&b, "From: <%s>\r\nTo: ", m->from);
    for (size_t i = 0; i < m->n_to; i++)
        buf_printf(&b, "%s<%s>", i ? ",\r\n " : "", m->to[i]);
    buf_printf(&b, "\r\nSubject: ");
    mail_put_plain(&b, subject);
    buf_printf(&b, "\r\n");
    mail_put_date(&b, now);
    buf_printf(&b, "Auto-Submitted: auto-generated\r\nMIME-Version: 1.0\r\n"
                   "Content-Type: multipart/mixed; boundary=" BOUNDARY "\r\n\r\n");
    mail_put_part(&b, "text/plain; charset=utf-8", text);
    mail_put_part(&b, "application/json; name=verdict.json", json);
    buf_printf(&b, "--" BOUNDARY "--\r\n");
    return b;
}

enum { PORT = 25, PORT_STARTTLS = 587, PORT_TLS = 465 };

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
    TRY(action_secret(s, "password", arena, &a->password, e));
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
    TRY(take_login(a, s, arena, e));
    TRY(take_server(a, s, arena, e));
    TRY(take_addresses(a, s, arena, e));
    a->ca = action_setting_get(s, "ca");
    a->label = arena_printf(arena, "email via %s:%d", a->host, a->port);
    return curl_is_there(e);
}

static struct mail_route mail_of(const struct action *a)
{
    return (struct mail_route){
        .host = a->host,
        .port = a->port,
        .starttls = a->tls == MAIL_STARTTLS,
        .tls = a->tls == MAIL_TLS,
        .user = a->user,
        .password = a->password,
        .from = a->from,
        .to = a->to,
        .n_to = a->n_to,
        .ca = a->ca,
    };
}

static int action_email_perform(const struct action *a, const struct action_news *n,
                                const struct action_means *means, struct err *e)
{
    const struct mail_route m = mail_of(a);
    struct buf message = mail_message(&m, n->subject, n->text, n->json, clock_wall());
    const int rc = action_send(a, means, message.p, message.len, e);
    buf_free(&message);
    return rc;
}

static int email_send(const void *ctx, const void *text, size_t n, struct err *e)
{
    const struct action *a = ctx;
    const struct mail_route m = mail_of(a);
    return curl_mail(&m, text, n, e);
}

const struct action_kind action_email = {
    .name = "email",
    .help = "Sends an email by SMTP.",
    .keys = ACTION_KEYS(
        {"server", "host or host:port (default port: 25; 587 with starttls, 465 with tls)", false},
        {"from", "sender address", false}, {"to", "recipient addresses", true},
        {"user", "login name (default: no login)", false},
        {"password", "login password; password-env is safer", false},
        {"password-env", "environment variable that contains the password", false},
        {"tls", "off, starttls or tls (default: starttls with a user, else off)", false},
        {"ca", "file with trusted CA certificates (default: the system's)", false}),
    .retry = true,
    .make = action_email_make,
    .perform = action_email_perform,
    .send = email_send,
};

const struct action_kind *const action_kinds[] = {
    &action_stop, &action_webhook, &action_email, &action_exec, NULL,
};
