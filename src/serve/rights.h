/* SPDX-License-Identifier: Apache-2.0 */
/* rights.h - what a client may do.
 *
 * Without tokens the server only listens on this machine, and its own user may read and
 * control. With tokens, each names a right; a token comes in a header, or once with a login that
 * hands out a session in a cookie. Wrong ones are slow to try: an address that has guessed wrong a
 * few times is refused for a while. Safe for any number of threads. */
#ifndef SERVE_RIGHTS_H
#define SERVE_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"

/* Control includes read. Neither includes write, nor write any of them: a token of a training job
 * sends runs to a hub and sees nothing. */
enum right { RIGHT_NONE, RIGHT_WRITE, RIGHT_READ, RIGHT_CONTROL };

enum {
    TOKEN_LEAST = 16,
    TOKEN_MOST = 255,
    TOKENS_MOST = 256,
    SESSION_LEN = 33,
    TOKEN_NAME_LEN = 64,
    TOKEN_RUNS_LEN = 128,
};

/* What a line of the token file allows. */
struct token {
    enum right right;
    char text[TOKEN_MOST + 1];
    char name[TOKEN_NAME_LEN]; /* of its owner; "": not given */
    /* of a write token */
    char runs[TOKEN_RUNS_LEN]; /* a pattern for names of runs, with *; "": any */
    uint64_t quota_bytes;      /* of all its runs; 0: no limit */
    uint64_t rate_bytes;       /* a second; 0: no limit */
};

struct rights;

struct rights *rights_open(bool control); /* control: runs can be controlled at all */
void rights_close(struct rights *r);

/* A line: "read|control|write TOKEN [name=N] [runs=PATTERN] [quota=50GiB] [rate=10MB/s]". `*any`
 * false: it is empty, or begins with #. */
MUST_CHECK int token_parse(struct token *out, const char *line, const char *where, bool *any,
                           struct err *e);
/* Each line of the text, see token_parse. */
MUST_CHECK int rights_add_text(struct rights *r, const char *text, const char *where,
                               struct err *e);
MUST_CHECK int rights_add(struct rights *r, enum right what, const char *token, const char *where,
                          struct err *e);
/* The file has changed: its tokens take the place of those that rights_add_text added, and all
 * sessions end. After an error all stays as it was. */
MUST_CHECK int rights_replace_text(struct rights *r, const char *text, const char *where,
                                   struct err *e);
bool rights_needs_token(const struct rights *r);
bool rights_has(struct rights *r, enum right what); /* whether any token is for this */
/* The write token that a client has shown; false: it is not one. Does not count as a guess, so
 * rights_of decides. */
bool rights_find_writer(struct rights *r, const char *bearer, struct token *out);

/* The name of the token that a client has shown, or logged in with; "": it has none. */
void rights_name(struct rights *r, const char *bearer, const char *session,
                 char out[TOKEN_NAME_LEN]);
/* The largest quota of the write tokens of a name; 0: one of them has no limit, or there is none.
 */
uint64_t rights_quota(struct rights *r, const char *name);

/* What a request may do. bearer, session: NULL when it has none. ERR_BUSY: too many wrong ones. */
MUST_CHECK int rights_of(struct rights *r, const struct sockaddr *peer, const char *bearer,
                         const char *session, enum right *out, struct err *e);
/* A session for a token. ERR_NOT_FOUND: wrong token; ERR_BUSY: too many wrong ones. */
MUST_CHECK int rights_login(struct rights *r, const struct sockaddr *peer, const char *token,
                            char session[SESSION_LEN], struct err *e);

/* ---- pure ---- */

/* Same text, in a time that does not depend on where they differ. */
bool secret_same(const char *a, const char *b);
/* "example.org:7171" names one of the hosts. `any_address`: a numeric address is fine as well:
 * it comes from no name server. */
bool host_allowed(const char *header, const char *const *hosts, size_t n, bool any_address);
/* The request comes from our own page: its origin is its host. NULL: no origin, as from
 * programs and for simple reading. */
bool origin_allowed(const char *origin, const char *host);
/* The value of a cookie in the arena; NULL: there is none. */
const char *cookie_find(const char *header, const char *name, struct arena *a);

#endif
