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
#include <sys/socket.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"

enum right { RIGHT_NONE, RIGHT_READ, RIGHT_CONTROL }; /* control includes read */

enum { TOKEN_LEAST = 16, TOKEN_MOST = 255, TOKENS_MOST = 64, SESSION_LEN = 33 };

struct rights;

struct rights *rights_open(bool control); /* control: runs can be controlled at all */
void rights_close(struct rights *r);

/* Lines "read TOKEN" and "control TOKEN"; empty ones and those that begin with # do not count. */
MUST_CHECK int rights_add_text(struct rights *r, const char *text, const char *where,
                               struct err *e);
MUST_CHECK int rights_add(struct rights *r, enum right what, const char *token, const char *where,
                          struct err *e);
bool rights_needs_token(const struct rights *r);

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
