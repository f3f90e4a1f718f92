/* SPDX-License-Identifier: Apache-2.0 */
/* smtp.c - see smtp.h. Bodies are base64, so no line of theirs is too long or begins with a dot. */
#include "agent/smtp.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "agent/net.h"
#include "base/mem.h"

enum {
    LINE_MOST = 1024,
    LINE_BYTES = 57 /* 76 letters */,
    REPLY_LINES = 100,
    FEATURES_MOST = 4096
};

#define BOUNDARY "footplate-part"

/* ---- the text ---- */

static void put_lines(struct buf *b, const char *text)
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
static void put_plain(struct buf *b, const char *text)
{
    for (const char *p = text; *p; p++)
        buf_u8(b, *p >= ' ' && *p < 127 ? (uint8_t)*p : '?');
}

static void put_date(struct buf *b, wall_ns now)
{
    char text[64];
    const time_t s = (time_t)(now.ns / NS_PER_S);
    struct tm tm;
    /* The names of days and months as C has them: the program never asks for a locale. */
    if (gmtime_r(&s, &tm) && strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S +0000", &tm))
        buf_printf(b, "Date: %s\r\n", text);
}

static void put_part(struct buf *b, const char *type, const char *text)
{
    buf_printf(b,
               "--" BOUNDARY "\r\nContent-Type: %s\r\n"
               "Content-Transfer-Encoding: base64\r\n\r\n",
               type);
    put_lines(b, text);
}

struct buf mail_message(const struct mail *m, const char *subject, const char *text,
                        const char *json, wall_ns now)
{
    struct buf b = {0};
    buf_printf(&b, "From: <%s>\r\nTo: ", m->from);
    for (size_t i = 0; i < m->n_to; i++)
        buf_printf(&b, "%s<%s>", i ? ",\r\n " : "", m->to[i]);
    buf_printf(&b, "\r\nSubject: ");
    put_plain(&b, subject);
    buf_printf(&b, "\r\n");
    put_date(&b, now);
    buf_printf(&b, "Auto-Submitted: auto-generated\r\nMIME-Version: 1.0\r\n"
                   "Content-Type: multipart/mixed; boundary=" BOUNDARY "\r\n\r\n");
    put_part(&b, "text/plain; charset=utf-8", text);
    put_part(&b, "application/json; name=verdict.json", json);
    buf_printf(&b, "--" BOUNDARY "--\r\n");
    return b;
}

/* ---- the conversation ---- */

struct talk {
    int fd;
    mono_ns until;
    char in[LINE_MOST];
    size_t len;
    char features[FEATURES_MOST]; /* what the server said to EHLO, a line each */
    size_t n_features;
};

/* One line of the server's, without its end, in `line`. */
static int read_line(struct talk *t, char line[LINE_MOST], struct err *e)
{
    for (;;) {
        const char *end = memchr(t->in, '\n', t->len);
        if (end) {
            const size_t n = (size_t)(end - t->in), used = n + 1;
            snprintf(line, LINE_MOST, "%.*s", (int)(n && end[-1] == '\r' ? n - 1 : n), t->in);
            memmove(t->in, t->in + used, t->len - used);
            t->len -= used;
            return 0;
        }
        if (t->len == sizeof t->in)
            return err_set(e, ERR_FORMAT, "the mail server sent a line that is too long");
        size_t got;
        const int rc = net_recv(t->fd, t->in + t->len, sizeof t->in - t->len, t->until, &got, e);
        if (rc)
            return rc;
        if (got == 0)
            return err_set(e, ERR_FORMAT, "the mail server closed the connection");
        t->len += got;
    }
}

static void keep_feature(struct talk *t, const char *line)
{
    const int n =
        snprintf(t->features + t->n_features, sizeof t->features - t->n_features, "%s\n", line + 4);
    if (n > 0 && t->n_features + (size_t)n < sizeof t->features)
        t->n_features += (size_t)n;
    t->features[t->n_features] = 0;
}

/* A whole answer whose number must begin with that digit. */
static int expect(struct talk *t, char digit, const char *at, struct err *e)
{
    char line[LINE_MOST];
    t->n_features = 0;
    for (int i = 0; i < REPLY_LINES; i++) {
        const int rc = read_line(t, line, e);
        if (rc)
            return rc;
        if (strlen(line) < 3 || strspn(line, "0123456789") != 3)
            return err_set(e, ERR_FORMAT, "not a mail server");
        if (line[3] == '-') {
            keep_feature(t, line);
            continue;
        }
        if (line[0] != digit)
            return err_set(e, ERR_FORMAT, "the mail server refused %s: %.120s", at, line);
        if (line[3])
            keep_feature(t, line);
        return 0;
    }
    return err_set(e, ERR_LIMIT, "the mail server's answer does not end");
}

/* Sends what is in the buffer, empties it, and waits for the answer. */
static int say(struct talk *t, struct buf *b, char digit, const char *at, struct err *e)
{
    int rc = net_send(t->fd, b->p, b->len, t->until, e);
    b->len = 0;
    if (rc == 0)
        rc = expect(t, digit, at, e);
    return rc;
}

/* Whether the server offers a way to log in: "AUTH LOGIN PLAIN". */
static bool offers(const struct talk *t, const char *way)
{
    const size_t n = strlen(way);
    for (const char *line = t->features; *line; line = strchr(line, '\n') + 1) {
        if (strncasecmp(line, "AUTH", 4) != 0)
            continue;
        for (const char *p = line + 4; *p && *p != '\n'; p++)
            if ((*p == ' ' || *p == '=') && strncasecmp(p + 1, way, n) == 0 &&
                strchr(" \n", p[1 + n]))
                return true;
    }
    return false;
}

static int login_plain(struct talk *t, const struct mail *m, struct buf *b, struct err *e)
{
    struct buf secret = {0};
    buf_u8(&secret, 0);
    buf_put(&secret, m->user, strlen(m->user) + 1);
    buf_put(&secret, m->password, strlen(m->password));
    buf_printf(b, "AUTH PLAIN ");
    buf_base64(b, secret.p, secret.len);
    buf_printf(b, "\r\n");
    buf_free(&secret);
    return say(t, b, '2', "the login", e);
}

static int login_in_turn(struct talk *t, const struct mail *m, struct buf *b, struct err *e)
{
    buf_printf(b, "AUTH LOGIN\r\n");
    int rc = say(t, b, '3', "the login", e);
    buf_base64(b, m->user, strlen(m->user));
    buf_printf(b, "\r\n");
    if (rc == 0)
        rc = say(t, b, '3', "the user name", e);
    buf_base64(b, m->password, strlen(m->password));
    buf_printf(b, "\r\n");
    return rc ? rc : say(t, b, '2', "the password", e);
}

static int login(struct talk *t, const struct mail *m, struct buf *b, struct err *e)
{
    if (!m->user)
        return 0;
    if (offers(t, "PLAIN"))
        return login_plain(t, m, b, e);
    if (offers(t, "LOGIN"))
        return login_in_turn(t, m, b, e);
    return err_set(e, ERR_FORMAT, "the mail server offers no supported login method");
}

static int send_message(struct talk *t, const struct mail *m, struct buf *b, struct err *e)
{
    buf_printf(b, "MAIL FROM:<%s>\r\n", m->from);
    int rc = say(t, b, '2', "the sender", e);
    for (size_t i = 0; rc == 0 && i < m->n_to; i++) {
        buf_printf(b, "RCPT TO:<%s>\r\n", m->to[i]);
        rc = say(t, b, '2', "a recipient", e);
    }
    buf_printf(b, "DATA\r\n");
    if (rc == 0)
        rc = say(t, b, '3', "the text", e);
    buf_put(b, m->message, m->len);
    buf_printf(b, ".\r\n");
    return rc ? rc : say(t, b, '2', "the text", e);
}

static int converse(struct talk *t, const struct mail *m, struct err *e)
{
    struct buf b = {0};
    int rc = expect(t, '2', "the greeting", e);
    buf_printf(&b, "EHLO footplate\r\n");
    if (rc == 0)
        rc = say(t, &b, '2', "EHLO", e);
    if (rc == 0)
        rc = login(t, m, &b, e);
    if (rc == 0)
        rc = send_message(t, m, &b, e);
    /* The mail is with the server now; how the farewell goes is of no concern. */
    if (rc == 0)
        (void)!net_send(t->fd, "QUIT\r\n", 6, t->until, &(struct err){0});
    buf_free(&b);
    return rc;
}

int smtp_deliver(const struct mail *m, mono_ns until, struct err *e)
{
    struct talk t = {.until = until};
    int rc = net_connect(&t.fd, m->host, m->port, until, e);
    if (rc)
        return rc;
    rc = converse(&t, m, e);
    close(t.fd);
    return rc;
}
