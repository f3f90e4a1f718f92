/* SPDX-License-Identifier: Apache-2.0 */
/* mail.h - the text of a mail. net/curl.h delivers it. */
#ifndef WATCH_MAIL_H
#define WATCH_MAIL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/clock.h"

struct mail_route;

/* Whether it is an address that is valid between < and >: no spaces, no control characters. */
bool mail_is_address(const char *text);
/* Header and text with the ends of lines that mail has; `json` becomes an attachment. The caller
 * frees it. */
struct buf mail_message(const struct mail_route *m, const char *subject, const char *text,
                        const char *json, wall_ns now);

#endif
