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

#include "base/human.h"
#include "base/mem.h"
#include "base/vec.h"
#include "run/run_names.h"
#include "serve/sockets.h"

enum {
    SESSIONS = 256,    /* the oldest makes room */
    GUESSERS = 256,    /* addresses that guessed wrong */
    GUESSES_MOST = 10, /* wrong ones of an address in GUESS_S */
    GUESS_S = 60,
};

struct session {
    enum right right;
    char name[TOKEN_NAME_LEN]; /* of its token */
    char id[SESSION_LEN];      /* "": free */
};

struct guesser {
    struct sockaddr_storage peer;
    mono_ns first; /* of the guesses that count */
    unsigned n;
};

struct rights {
    bool control;
    struct token token[TOKENS_MOST]; /* changed under the lock once the server runs */
    size_t n_fixed;                  /* of these the first, which are not from the file */
    _Atomic size_t n_tokens;
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

static int token_check(const char *token, const char *where, struct err *e)
{
    const size_t n = strlen(token);
    if (n >= TOKEN_LEAST && n <= TOKEN_MOST)
        return 0;
    return err_set(e, ERR_USAGE, "%s: a token must have %d to %d characters; this one has %zu",
                   where, TOKEN_LEAST, TOKEN_MOST, n);
}

static int rights_add_token(struct rights *r, const struct token *t, const char *where,
                            struct err *e)
{
    if (r->n_tokens == TOKENS_MOST)
        return err_set(e, ERR_LIMIT, "%s: more than %d tokens", where, TOKENS_MOST);
    r->token[r->n_tokens++] = *t;
    return 0;
}

int rights_add(struct rights *r, enum right what, const char *token, const char *where,
               struct err *e)
{
    struct token t = {.right = what};
    TRY(token_check(token, where, e));
    snprintf(t.text, sizeof t.text, "%s", token);
    TRY(rights_add_token(r, &t, where, e));
    r->n_fixed = r->n_tokens;
    return 0;
}

/* ---- lines of the token file ---- */

static bool token_take_name(struct token *t, const char *value)
{
    snprintf(t->name, sizeof t->name, "%s", value);
    return name_is_sane(value, sizeof t->name);
}

static bool token_take_runs(struct token *t, const char *value)
{
    snprintf(t->runs, sizeof t->runs, "%s", value);
    return *value && strlen(value) < sizeof t->runs;
}

static bool token_take_quota(struct token *t, const char *value)
{
    return bytes_parse(value, "", &t->quota_bytes) && t->quota_bytes > 0;
}

static bool token_take_rate(struct token *t, const char *value)
{
    return bytes_parse(value, "/s", &t->rate_bytes) && t->rate_bytes > 0;
}

static const struct token_key {
    const char *word, *example;
    bool (*take)(struct token *t, const char *value);
    bool only_write;
} token_keys[] = {
    {"name", "name=team-a", token_take_name, false},
    {"runs", "runs=team-a-*", token_take_runs, true},
    {"quota", "quota=50GiB", token_take_quota, true},
    {"rate", "rate=10MB/s", token_take_rate, true},
};

static int token_take(struct token *t, const char *word, const char *where, struct err *e)
{
    const size_t n = strcspn(word, "=");
    for (size_t i = 0; i < COUNT_OF(token_keys); i++) {
        const struct token_key *k = &token_keys[i];
        if (strlen(k->word) != n || memcmp(k->word, word, n) != 0 || word[n] != '=')
            continue;
        if (k->only_write && t->right != RIGHT_WRITE)
            return err_set(e, ERR_USAGE, "%s: '%s' is for write tokens only", where, k->word);
        if (!k->take(t, word + n + 1))
            return err_set(e, ERR_USAGE, "%s: '%s' is not valid (example: %s)", where, word,
                           k->example);
        return 0;
    }
    return err_set(e, ERR_USAGE, "%s: a token has name=, runs=, quota= and rate=, not '%.40s'",
                   where, word);
}

/* The token itself is never a part of a message. */
static int token_parse_words(struct token *t, char *line, const char *where, bool *any,
                             struct err *e)
{
    static const char *const rights[] = {
        [RIGHT_WRITE] = "write", [RIGHT_READ] = "read", [RIGHT_CONTROL] = "control"};
    char *rest = NULL;
    const char *word = strtok_r(line, " \t\r", &rest), *token = strtok_r(NULL, " \t\r", &rest);
    *any = word && word[0] != '#';
    if (!*any)
        return 0;
    for (size_t i = RIGHT_WRITE; i < COUNT_OF(rights); i++)
        if (strcmp(word, rights[i]) == 0)
            t->right = (enum right)i;
    if (t->right == RIGHT_NONE || !token)
        return err_set(e, ERR_USAGE,
                       "%s: each line must be 'read TOKEN', 'control TOKEN' or 'write TOKEN'",
                       where);
    TRY(token_check(token, where, e));
    snprintf(t->text, sizeof t->text, "%s", token);
    while ((word = strtok_r(NULL, " \t\r", &rest)))
        TRY(token_take(t, word, where, e));
    return 0;
}

int token_parse(struct token *out, const char *line, const char *where, bool *any, struct err *e)
{
    char *copy = xstrdup(line);
    *out = (struct token){0};
    const int rc = token_parse_words(out, copy, where, any, e);
    explicit_bzero(copy, strlen(line));
    free(copy);
    return rc;
}

static int rights_add_line(struct rights *r, const char *line, const char *where, struct err *e)
{
    struct token t;
    bool any;
    TRY(token_parse(&t, line, where, &any, e));
    const int rc = any ? rights_add_token(r, &t, where, e) : 0;
    explicit_bzero(&t, sizeof t);
    return rc;
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

int rights_replace_text(struct rights *r, const char *text, const char *where, struct err *e)
{
    struct rights *new = rights_open(r->control);
    pthread_mutex_lock(&r->lock);
    memcpy(new->token, r->token, r->n_fixed * sizeof *r->token);
    new->n_tokens = r->n_fixed;
    const int rc = rights_add_text(new, text, where, e);
    if (rc == 0) {
        memcpy(r->token, new->token, sizeof r->token);
        r->n_tokens = new->n_tokens;
        memset(r->session, 0, sizeof r->session);
    }
    pthread_mutex_unlock(&r->lock);
    rights_close(new);
    return rc;
}

bool rights_has(struct rights *r, enum right what)
{
    bool has = false;
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->n_tokens; i++)
        has |= r->token[i].right == what;
    pthread_mutex_unlock(&r->lock);
    return has;
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

/* The token of this text with the highest right; NULL: there is none. All are compared, so that the
 * time does not depend on which one it was. */
static const struct token *rights_find_token(const struct rights *r, const char *token)
{
    const struct token *best = NULL;
    for (size_t i = 0; i < r->n_tokens; i++)
        if (secret_same(r->token[i].text, token) && (!best || r->token[i].right > best->right))
            best = &r->token[i];
    return best;
}

static enum right rights_of_token(const struct rights *r, const char *token)
{
    const struct token *t = rights_find_token(r, token);
    return t ? t->right : RIGHT_NONE;
}

bool rights_find_writer(struct rights *r, const char *bearer, struct token *out)
{
    bool found = false;
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->n_tokens; i++)
        if (secret_same(r->token[i].text, bearer) && r->token[i].right == RIGHT_WRITE) {
            *out = r->token[i];
            found = true;
        }
    pthread_mutex_unlock(&r->lock);
    return found;
}

static const struct session *rights_find_session(const struct rights *r, const char *id)
{
    const struct session *found = NULL;
    for (size_t i = 0; i < SESSIONS; i++)
        if (r->session[i].id[0] && secret_same(r->session[i].id, id))
            found = &r->session[i];
    return found;
}

static enum right rights_of_session(const struct rights *r, const char *id)
{
    const struct session *s = rights_find_session(r, id);
    return s ? s->right : RIGHT_NONE;
}

void rights_name(struct rights *r, const char *bearer, const char *session,
                 char out[TOKEN_NAME_LEN])
{
    pthread_mutex_lock(&r->lock);
    const struct session *s = session ? rights_find_session(r, session) : NULL;
    const struct token *t = !s && bearer ? rights_find_token(r, bearer) : NULL;
    snprintf(out, TOKEN_NAME_LEN, "%s", s ? s->name : t ? t->name : "");
    pthread_mutex_unlock(&r->lock);
}

uint64_t rights_quota(struct rights *r, const char *name)
{
    uint64_t most = 0;
    bool limited = true;
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->n_tokens; i++) {
        const struct token *t = &r->token[i];
        if (t->right != RIGHT_WRITE || strcmp(t->name, name) != 0)
            continue;
        limited &= t->quota_bytes != 0;
        most = MAX_OF(most, t->quota_bytes);
    }
    pthread_mutex_unlock(&r->lock);
    return limited ? most : 0;
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

/* ---- the rights of a request ---- */

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

static int rights_new_session(struct rights *r, const struct token *t, char id[SESSION_LEN],
                              struct err *e)
{
    uint8_t bytes[(SESSION_LEN - 1) / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return err_sys(e, "random bytes");
    struct session *s = &r->session[r->next_session];
    r->next_session = (r->next_session + 1) % SESSIONS;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(s->id + 2 * i, 3, "%02x", bytes[i]);
    s->right = t->right;
    memcpy(s->name, t->name, sizeof s->name);
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
    if (rc == 0 && what == RIGHT_WRITE)
        rc = err_set(e, ERR_NOT_FOUND, "this token only sends runs; it does not show any");
    if (rc == 0)
        rc = rights_new_session(r, rights_find_token(r, token), session, e);
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
    return FIND_ANY(i, n, strcasecmp(hosts[i], name) == 0) ||
           (any_address && host_is_address(name));
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
