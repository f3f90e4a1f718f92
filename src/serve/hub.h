/* SPDX-License-Identifier: Apache-2.0 */
/* hub.h - a server that receives runs (--receive): what its write tokens have used, and what is
 * done every few seconds: what arrived is made durable, a changed token file is read again, and
 * old runs are removed (--keep). What users do to runs is recorded in a file (run/upkeep.h).
 * Safe for any number of threads. */
#ifndef SERVE_HUB_H
#define SERVE_HUB_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "run/upkeep.h"
#include "serve/rights.h"

enum {
    HUB_APPEND_MOST = 1 << 20, /* bytes of the body of one part */
    HUB_PART_MOST = 4 << 20,   /* bytes of a part that came compressed */
    HUB_WHOLE_MOST = 16 << 20, /* bytes of a file that comes whole */
    HUB_RETRY_S = 2,           /* when there is too much at once */
    HUB_FULL_RETRY_S = 600,
};

struct hub;
struct hub_control; /* hub_control.h */

struct hub_options {
    const char *folder;     /* runs arrive in it */
    const char *token_file; /* is read again when it changes */
    int64_t keep_ns;        /* runs that are older are removed; 0: none are */
};

MUST_CHECK int hub_open(struct hub **out, const struct hub_options *ask, struct rights *r,
                        struct err *e);
void hub_close(struct hub *h); /* NULL is fine */
const char *hub_folder(const struct hub *h);
struct hub_control *hub_control(struct hub *h);

/* The name that the senders of a run use: it is in the hub's folder and came from elsewhere. NULL:
 * it was recorded here, or is in another folder. */
const char *hub_run_name(const struct hub *h, const char *path);
/* Records that a user did something to a run. A failure is reported and changes nothing. */
void hub_audit(const struct hub *h, const struct audit_line *line);

/* Whether so many more bytes may come with this token: 0, or a status: 429 for too fast, 507 for
 * more than its quota. */
int hub_admit(struct hub *h, const struct token *t, uint64_t bytes);
/* They have been written. */
void hub_count(struct hub *h, const struct token *t, uint64_t bytes);
/* The age of the oldest data that would not survive a loss of power; 0: there is none. */
uint64_t hub_unsynced_ms(struct hub *h);
/* What is left of its quota; UINT64_MAX: it has none. */
uint64_t hub_left(struct hub *h, const struct token *t);
/* What the senders use, in the order of their names, in the arena. */
struct hub_use {
    const char *name; /* "": tokens without a name */
    uint64_t used_bytes;
    uint64_t quota_bytes; /* 0: no limit */
};
size_t hub_uses(struct hub *h, struct arena *a, struct hub_use **out);
/* Whether a token may write a run of this name. */
bool hub_run_allowed(const struct token *t, const char *run);

#endif
