/* SPDX-License-Identifier: Apache-2.0 */
/* smtp.h - a mail: its text, and its delivery to a server without TLS. Every wait is bounded. */
#ifndef AGENT_SMTP_H
#define AGENT_SMTP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"

struct mail {
    const char *host;
    int port;
    bool starttls, tls;          /* not here: see curl.h */
    const char *user, *password; /* user NULL: none */
    const char *from;
    const char *const *to;
    size_t n_to;
    const void *message; /* mail_message's bytes */
    size_t len;
};

/* Whether it is an address that may stand between < and >: no spaces, no control characters. */
bool mail_is_address(const char *text);
/* Header and text with the ends of lines that mail has; `json` becomes an attachment. The caller
 * frees it. */
struct buf mail_message(const struct mail *m, const char *subject, const char *text,
                        const char *json, wall_ns now);
MUST_CHECK int smtp_deliver(const struct mail *m, mono_ns until, struct err *e);

#endif
