/* SPDX-License-Identifier: Apache-2.0 */
/* rights.c - see rights.h. */
#include "serve/rights.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "base/mem.h"
#include "serve/sockets.h"

enum {
    SESSIONS = 256,    /* the oldest makes room */
    GUESSERS = 256,    /* addresses that guessed wrong */
    GUESSES_MOST = 10, /* wrong ones of an address in GUESS_S */
    GUESS_S = 60,
};

struct token {
    enum right right;
    char text[TOKEN_MOST + 1];
};

struct session {
    enum right right;
    char id[SESSION_LEN]; /* "": free */
};

struct guesser {
    struct sockaddr_storage peer;
    mono_ns first; /* of the guesses that count */
    unsigned n;
};

struct rights {
    bool control;
    struct token token[TOKENS_MOST];
    size_t n_tokens;
    pthread_mutex_t lock;
    struct session session[SESSIONS];
    size_t next_session;
    struct guesser guesser[GUESSERS];
    size_t next_guesser;
};

/* ---- tokens ---- */

struct rights *rights_open(bool control)
{
    struct rights *r = xcalloc(1, sizeof *r);
    pthread_mutex_init(&r->lock, NULL);
    r->control = control;
    return r;
}

void rights_close(struct rights *r)
{
    pthread_mutex_destroy(&r->lock);
    explicit_bzero(r, sizeof *r);
    free(r);
}

int rights_add(struct rights *r, enum right what, const char *token, const char *where,
               struct err *e)
{
    const size_t n = strlen(token);
    if (n < TOKEN_LEAST || n > TOKEN_MOST)
        return err_set(e, ERR_USAGE, "%s: a token must have %d to %d characters; this one has %zu",
                       where, TOKEN_LEAST, TOKEN_MOST, n);
    if (r->n_tokens == TOKENS_MOST)
        return err_set(e, ERR_LIMIT, "%s: more than %d tokens", where, TOKENS_MOST);
    struct token *t = &r->token[r->n_tokens++];
    t->right = what;
    memcpy(t->text, token, n + 1);
    return 0;
}

static int rights_add_line(struct rights *r, char *line, const char *where, struct err *e)
{
    char *rest = NULL;
    const char *word = strtok_r(line, " \t\r", &rest), *token = strtok_r(NULL, " \t\r", &rest);
    if (!word || word[0] == '#')
        return 0;
    const bool control = strcmp(word, "control") == 0;
    if ((!control && strcmp(word, "read") != 0) || !token || strtok_r(NULL, " \t\r", &rest))
        return err_set(e, ERR_USAGE, "%s: each line must be 'read TOKEN' or 'control TOKEN'",
                       where);
    return rights_add(r, control ? RIGHT_CONTROL : RIGHT_READ, token, where, e);
}

int rights_add_text(struct rights *r, const char *text, const char *where, struct err *e)
{
    char *copy = xstrdup(text), *rest = NULL;
    int rc = 0;
    for (char *line = strtok_r(copy, "\n", &rest); line && rc == 0;
         line = strtok_r(NULL, "\n", &rest))
        rc = rights_add_line(r, line, where, e);
    explicit_bzero(copy, strlen(text));
    free(copy);
    if (rc == 0 && r->n_tokens == 0)
        rc = err_set(e, ERR_USAGE, "%s: the file contains no token", where);
    return rc;
}

bool rights_needs_token(const struct rights *r)
{
    return r->n_tokens > 0;
}

bool secret_same(const char *a, const char *b)
{
    char x[TOKEN_MOST + 1] = {0}, y[TOKEN_MOST + 1] = {0};
    const size_t n = strnlen(a, sizeof x), m = strnlen(b, sizeof y);
    unsigned char differ = (unsigned char)(n > TOKEN_MOST || m > TOKEN_MOST);
    memcpy(x, a, MIN_OF(n, sizeof x - 1));
    memcpy(y, b, MIN_OF(m, sizeof y - 1));
    for (size_t i = 0; i < sizeof x; i++)
        differ |= (unsigned char)(x[i] ^ y[i]);
    return differ == 0;
}

/* All are compared, so that the time does not depend on which one it was. */
static enum right rights_of_token(const struct rights *r, const char *token)
{
    enum right best = RIGHT_NONE;
    for (size_t i = 0; i < r->n_tokens; i++)
        if (secret_same(r->token[i].text, token) && r->token[i].right > best)
            best = r->token[i].right;
    return best;
}

static enum right rights_of_session(const struct rights *r, const char *id)
{
    enum right best = RIGHT_NONE;
    for (size_t i = 0; i < SESSIONS; i++)
        if (r->session[i].id[0] && secret_same(r->session[i].id, id))
            best = r->session[i].right;
    return best;
}

/* ---- guessing ---- */

static struct guesser *rights_find_guesser(struct rights *r, const struct sockaddr *peer)
{
    const int64_t now = clock_mono().ns;
    for (size_t i = 0; i < GUESSERS; i++) {
        struct guesser *g = &r->guesser[i];
        if (g->n == 0 || !addr_same((const struct sockaddr *)&g->peer, peer))
            continue;
        if (now - g->first.ns > GUESS_S * NS_PER_S)
            g->n = 0;
        return g;
    }
    return NULL;
}

static void rights_note_guess(struct rights *r, const struct sockaddr *peer)
{
    struct guesser *g = rights_find_guesser(r, peer);
    if (!g) {
        g = &r->guesser[r->next_guesser];
        r->next_guesser = (r->next_guesser + 1) % GUESSERS;
        *g = (struct guesser){0};
        memcpy(&g->peer, peer,
               peer->sa_family == AF_INET ? sizeof(struct sockaddr_in)
                                          : sizeof(struct sockaddr_in6));
    }
    if (g->n++ == 0)
        g->first = clock_mono();
}

static int rights_try_token(struct rights *r, const struct sockaddr *peer, const char *token,
                            enum right *out, struct err *e)
{
    const struct guesser *g = rights_find_guesser(r, peer);
    if (g && g->n >= GUESSES_MOST)
        return err_set(e, ERR_BUSY, "too many invalid tokens from this address; try again in %d s",
                       GUESS_S);
    *out = rights_of_token(r, token);
    if (*out == RIGHT_NONE)
        rights_note_guess(r, peer);
    return 0;
}

/* ---- asking ---- */

static enum right rights_limited(const struct rights *r, enum right what)
{
    return what == RIGHT_CONTROL && !r->control ? RIGHT_READ : what;
}

int rights_of(struct rights *r, const struct sockaddr *peer, const char *bearer,
              const char *session, enum right *out, struct err *e)
{
    int rc = 0;
    enum right what = RIGHT_NONE;
    if (!rights_needs_token(r)) {
        *out = rights_limited(r, RIGHT_CONTROL);
        return 0;
    }
    pthread_mutex_lock(&r->lock);
    if (session)
        what = rights_of_session(r, session);
    if (what == RIGHT_NONE && bearer)
        rc = rights_try_token(r, peer, bearer, &what, e);
    pthread_mutex_unlock(&r->lock);
    if (rc == 0)
        *out = rights_limited(r, what);
    return rc;
}

static int rights_new_session(struct rights *r, enum right what, char id[SESSION_LEN],
                              struct err *e)
{
    uint8_t bytes[(SESSION_LEN - 1) / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return err_sys(e, "random bytes");
    struct session *s = &r->session[r->next_session];
    r->next_session = (r->next_session + 1) % SESSIONS;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(s->id + 2 * i, 3, "%02x", bytes[i]);
    s->right = what;
    memcpy(id, s->id, SESSION_LEN);
    return 0;
}

int rights_login(struct rights *r, const struct sockaddr *peer, const char *token,
                 char session[SESSION_LEN], struct err *e)
{
    enum right what = RIGHT_NONE;
    pthread_mutex_lock(&r->lock);
    int rc = rights_try_token(r, peer, token, &what, e);
    if (rc == 0 && what == RIGHT_NONE)
        rc = err_set(e, ERR_NOT_FOUND, "invalid token");
    if (rc == 0)
        rc = rights_new_session(r, what, session, e);
    pthread_mutex_unlock(&r->lock);
    return rc;
}

/* ---- what browsers send: Host, Origin, cookies. Pure ---- */

enum { HOST_MOST = 255 };

/* The name in "name", "name:port", "[v6]" and "[v6]:port", without brackets. False: none of them.
 */
static bool host_name(const char *header, char out[HOST_MOST + 1])
{
    const bool v6 = header[0] == '[';
    const char *from = header + v6;
    const size_t n = strcspn(from, v6 ? "]" : ":");
    const char *rest = from + n + v6;
    if (n == 0 || n > HOST_MOST || (v6 && from[n] != ']'))
        return false;
    if (*rest && (*rest != ':' || strspn(rest + 1, "0123456789") != strlen(rest + 1)))
        return false;
    memcpy(out, from, n);
    out[n] = 0;
    return true;
}

static bool host_is_address(const char *name)
{
    unsigned char bytes[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, name, bytes) == 1 || inet_pton(AF_INET6, name, bytes) == 1;
}

bool host_allowed(const char *header, const char *const *hosts, size_t n, bool any_address)
{
    char name[HOST_MOST + 1];
    if (!header || !host_name(header, name))
        return false;
    for (size_t i = 0; i < n; i++)
        if (strcasecmp(hosts[i], name) == 0)
            return true;
    return any_address && host_is_address(name);
}

bool origin_allowed(const char *origin, const char *host)
{
    static const char *const schemes[] = {"http://", "https://"};
    if (!origin)
        return true;
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        const size_t n = strlen(schemes[i]);
        if (strncasecmp(origin, schemes[i], n) == 0)
            return host && strcasecmp(origin + n, host) == 0;
    }
    return false; /* "null" and the like */
}

const char *cookie_find(const char *header, const char *name, struct arena *a)
{
    const size_t len = strlen(name);
    for (const char *p = header; p && *p;) {
        p += strspn(p, " ;");
        const size_t n = strcspn(p, ";");
        if (n > len && strncmp(p, name, len) == 0 && p[len] == '=')
            return arena_strndup(a, p + len + 1, n - len - 1);
        p += n;
    }
    return NULL;
}
