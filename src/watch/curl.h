/* SPDX-License-Identifier: Apache-2.0 */
/* curl.h - webhooks and mails, through the system's libcurl where there is one. It is loaded when
 * it is needed, never otherwise. Proxies of the environment are not used, redirects are not
 * followed.
 *
 * curl_post and curl_mail load it into the calling process and wait without limit, so they belong
 * in a child of the runner (runner.h). */
#ifndef WATCH_CURL_H
#define WATCH_CURL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"

struct mail;

/* ERR_NOT_FOUND with a sentence when there is none. FOOTPLATE_CURL names another library. */
MUST_CHECK int curl_is_there(struct err *e);
/* 0 when the answer's status is 2xx. ca: a file with certificates; NULL: the system's. */
MUST_CHECK int curl_post(const char *url, const char *ca, const void *json, size_t n,
                         struct err *e);
/* Delivers the message of mail_message to the mail's server, with TLS as the mail says. */
MUST_CHECK int curl_mail(const struct mail *m, const char *ca, const void *message, size_t n,
                         struct err *e);

/* ---- the text of a mail ---- */

/* The text of a mail, and where it goes. curl.h delivers it. */

struct mail {
    const char *host;
    int port;
    bool starttls, tls;
    const char *user, *password; /* user NULL: none */
    const char *from;
    const char *const *to;
    size_t n_to;
};

/* Whether it is an address that is valid between < and >: no spaces, no control characters. */
bool mail_is_address(const char *text);
/* Header and text with the ends of lines that mail has; `json` becomes an attachment. The caller
 * frees it. */
struct buf mail_message(const struct mail *m, const char *subject, const char *text,
                        const char *json, wall_ns now);

#endif
