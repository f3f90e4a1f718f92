/* SPDX-License-Identifier: Apache-2.0 */
/* hub.h - a server that receives runs (--receive): what its write tokens have used, and what is
 * done every few seconds: what arrived is made durable, and a changed token file is read again.
 * Safe for any number of threads. */
#ifndef SERVE_HUB_H
#define SERVE_HUB_H

#include <stdint.h>

#include "base/err.h"
#include "serve/rights.h"

enum {
    HUB_APPEND_MOST = 1 << 20, /* bytes of the body of one part */
    HUB_PART_MOST = 4 << 20,   /* bytes of a part that came compressed */
    HUB_WHOLE_MOST = 16 << 20, /* bytes of a file that comes whole */
    HUB_RETRY_S = 2,           /* when there is too much at once */
    HUB_FULL_RETRY_S = 600,
};

struct hub;

/* Runs arrive in `folder`. `token_file` is read again into `r` when it changes. */
MUST_CHECK int hub_open(struct hub **out, const char *folder, const char *token_file,
                        struct rights *r, struct err *e);
void hub_close(struct hub *h); /* NULL is fine */
const char *hub_folder(const struct hub *h);

/* Whether so many more bytes may come with this token: 0, or a status: 429 for too fast, 507 for
 * more than its quota. */
int hub_admit(struct hub *h, const struct token *t, uint64_t bytes);
/* They have been written. */
void hub_count(struct hub *h, const struct token *t, uint64_t bytes);
/* What is left of its quota; UINT64_MAX: it has none. */
uint64_t hub_left(struct hub *h, const struct token *t);
/* Whether a token may write a run of this name. */
bool hub_run_allowed(const struct token *t, const char *run);

#endif
