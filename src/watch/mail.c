/* SPDX-License-Identifier: Apache-2.0 */
/* mail.c - see mail.h. */
#include "watch/mail.h"

#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "net/curl.h"

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

static void put_date(struct buf *b, wall_ns now)
{
    char text[64];
    const time_t s = (time_t)(now.ns / NS_PER_S);
    struct tm tm;
    /* The names of days and months as C has them: the program never asks for a locale. */
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
    put_date(&b, now);
    buf_printf(&b, "Auto-Submitted: auto-generated\r\nMIME-Version: 1.0\r\n"
                   "Content-Type: multipart/mixed; boundary=" BOUNDARY "\r\n\r\n");
    mail_put_part(&b, "text/plain; charset=utf-8", text);
    mail_put_part(&b, "application/json; name=verdict.json", json);
    buf_printf(&b, "--" BOUNDARY "--\r\n");
    return b;
}
