/* SPDX-License-Identifier: Apache-2.0 */
/* redact.c - see redact.h. One pass over each word: names are found, and what follows a name that
 * promises a secret is replaced, and so is what has the form of a token. When in doubt a value is
 * hidden: a hidden number of layers can be looked up in the script, a shown password cannot be
 * taken back. */
#include "base/redact.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/mem.h"

enum { NAME_MOST = 128, DIGITS_MOST = 6, LABEL_MOST = 15 };

/* How much to hide after a name. */
enum hide {
    HIDE_NOTHING,
    HIDE_WORDS, /* but not a small number */
    HIDE_ALL,
};

struct secret_name {
    const char *part;
    enum hide hide;
};

static const struct secret_name secret_names[] = {
    {"password", HIDE_ALL},  {"passwd", HIDE_ALL},        {"passphrase", HIDE_ALL},
    {"secret", HIDE_ALL},    {"credential", HIDE_ALL},    {"creds", HIDE_ALL},
    {"signature", HIDE_ALL}, {"authorization", HIDE_ALL}, {"cookie", HIDE_ALL},
    {"bearer", HIDE_ALL},    {"key", HIDE_WORDS},         {"token", HIDE_WORDS},
};

/* Tokens that their issuers make recognizable, by how they begin and how much follows at least.
 * AWS: the ID of a key, whose secret has no form. The last one is a JSON Web Token. */
static const struct secret_form {
    const char *prefix;
    size_t least;
    const char *also; /* besides letters and digits */
} secret_forms[] = {
    {"hf_", 30, ""},   {"ghp_", 30, ""},   {"gho_", 30, ""},         {"ghu_", 30, ""},
    {"ghs_", 30, ""},  {"ghr_", 30, ""},   {"github_pat_", 22, "_"}, {"glpat-", 20, "-_"},
    {"AKIA", 16, ""},  {"ASIA", 16, ""},   {"xoxb-", 20, "-"},       {"xoxp-", 20, "-"},
    {"sk-", 32, "-_"}, {"eyJ", 30, "-_."},
};

/* Parts of names that contain one of the above and are known to contain no secret. */
static const char *const harmless_parts[] = {
    "tokenizer", "tokenize", "tokenization", "key-value", "keyvalue", "keypoint",
    "keyframe",  "keyword",  "keyboard",     "monkey",    "turkey",   "hotkey",
};

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("-_.+~/$%", c));
}

static bool redact_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* What the value of this name is. Of a long name the end is read. */
static enum hide name_hides(const char *p, size_t n)
{
    char name[NAME_MOST];
    if (n >= sizeof name) {
        p += n - (sizeof name - 1);
        n = sizeof name - 1;
    }
    for (size_t i = 0; i < n; i++)
        name[i] = p[i] == '_' ? '-' : (char)(p[i] >= 'A' && p[i] <= 'Z' ? p[i] | 32 : p[i]);
    name[n] = 0;
    for (size_t i = 0; i < COUNT_OF(harmless_parts); i++)
        for (char *at; (at = strstr(name, harmless_parts[i]));)
            memset(at, ' ', strlen(harmless_parts[i]));
    if (strcmp(name, "sig") == 0) /* of a URL that Azure signed; "sigma" is not one */
        return HIDE_ALL;
    for (size_t i = 0; i < COUNT_OF(secret_names); i++)
        if (strstr(name, secret_names[i].part))
            return secret_names[i].hide;
    return HIDE_NOTHING;
}

static bool is_small_number(const char *p, size_t n)
{
    size_t digits = 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] >= '0' && p[i] <= '9')
            digits++;
        else if (p[i] != '.')
            return false;
    }
    return digits > 0 && digits <= DIGITS_MOST;
}

static bool redact_is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* The length of the token that begins at p; 0: there is none. */
static size_t token_length(const char *p, size_t n)
{
    for (size_t i = 0; i < COUNT_OF(secret_forms); i++) {
        const struct secret_form *f = &secret_forms[i];
        const size_t prefix = strlen(f->prefix);
        size_t len = prefix;
        if (n < prefix + f->least || memcmp(p, f->prefix, prefix) != 0)
            continue;
        while (len < n && (redact_is_alnum(p[len]) || strchr(f->also, p[len])))
            len++;
        if (len >= prefix + f->least)
            return len;
    }
    return 0;
}

/* Writes what is a name, or a value without a name, of n bytes. */
static void redact_put_plain(struct buf *out, const char *p, size_t n)
{
    for (size_t i = 0; i < n;) {
        const bool begins = i == 0 || !redact_is_alnum(p[i - 1]);
        const size_t token = begins ? token_length(p + i, n - i) : 0;
        buf_put(out, token ? REDACTED : p + i, token ? strlen(REDACTED) : 1);
        i += token ? token : 1;
    }
}

/* Writes a value of n bytes, or what is shown instead. */
static void redact_put_value(struct buf *out, const char *p, size_t n, enum hide hide)
{
    if (n == 0 || hide == HIDE_NOTHING || (hide == HIDE_WORDS && is_small_number(p, n)))
        redact_put_plain(out, p, n);
    else
        buf_put(out, REDACTED, strlen(REDACTED));
}

/* The value at p, which may be quoted, ends before one of `ends`; returns what follows it. */
static const char *redact_take_value(struct buf *out, const char *p, const char *ends,
                                     enum hide hide)
{
    const char quote = *p == '"' || *p == '\'' ? *p : 0;
    if (quote)
        buf_put(out, p++, 1);
    const size_t n = quote ? strcspn(p, (char[]){quote, 0}) : strcspn(p, ends);
    redact_put_value(out, p, n, hide);
    return p + n;
}

static const char *copy_blanks(struct buf *out, const char *p)
{
    while (redact_is_blank(*p))
        buf_put(out, p++, 1);
    return p;
}

/* What follows the name `name`, of which `p` is the end: "=V", ": V", or " V" of an option. */
static const char *after_name(struct buf *out, const char *name, const char *p, enum hide *next)
{
    const enum hide hide = name_hides(name, (size_t)(p - name));
    if (hide == HIDE_NOTHING)
        return p;
    if (*p == '=') {
        buf_put(out, p++, 1);
        return redact_take_value(out, p, " \t\r\n&\"'", hide);
    }
    const char *colon = p + (*p == '"' || *p == '\'');
    if (*colon == ':' && strncmp(colon, "://", 3) != 0) { /* a header, or a member of JSON */
        buf_put(out, p, (size_t)(colon + 1 - p));
        return redact_take_value(out, copy_blanks(out, colon + 1), "\"'\n,}", hide);
    }
    const bool option = (*name == '-' && strncmp(name, "--no-", 5) != 0) ||
                        (p - name == 6 && strncasecmp(name, "bearer", 6) == 0);
    if (!option || (*p && !redact_is_blank(*p)))
        return p;
    p = copy_blanks(out, p);
    if (!*p)
        *next = hide; /* the next word is its value */
    else if (strncmp(p, "--", 2) != 0)
        return redact_take_value(out, p, " \t\r\n\"'", hide);
    return p;
}

/* "user:password@" after "://"; returns where the host begins. */
static const char *hide_login(struct buf *out, const char *p)
{
    const size_t n = strcspn(p, "/?# \t\r\n\"'");
    const char *at = memrchr(p, '@', n);
    if (!at)
        return p;
    redact_put_value(out, p, (size_t)(at - p), HIDE_ALL);
    return at;
}

static void redact_word(struct buf *out, const char *p, enum hide *next)
{
    const enum hide whole = *next;
    *next = HIDE_NOTHING;
    if (whole != HIDE_NOTHING && strncmp(p, "--", 2) != 0) {
        redact_put_value(out, p, strlen(p), whole);
        return;
    }
    while (*p) {
        if (strncmp(p, "://", 3) == 0) {
            buf_put(out, p, 3);
            p = hide_login(out, p + 3);
        } else if (is_name_char(*p)) {
            const char *name = p;
            while (is_name_char(*p))
                p++;
            redact_put_plain(out, name, (size_t)(p - name));
            p = after_name(out, name, p, next);
        } else {
            buf_put(out, p++, 1);
        }
    }
}

static const char *redact_one(const char *text, struct arena *a, enum hide *next)
{
    struct buf b = {0};
    redact_word(&b, text, next);
    const char *out = arena_strndup(a, b.len ? (const char *)b.p : "", b.len);
    buf_free(&b);
    return out;
}

const char **redact_words(const char *const *words, size_t n, struct arena *a)
{
    const char **out = arena_array(a, const char *, n + 1);
    enum hide next = HIDE_NOTHING;
    for (size_t i = 0; i < n; i++)
        out[i] = redact_one(words[i], a, &next);
    out[n] = NULL;
    return out;
}

const char *redact_text(const char *text, struct arena *a)
{
    enum hide next = HIDE_NOTHING;
    return redact_one(text, a, &next);
}

const char *redact_label(const char *key, const char *value, struct arena *a)
{
    const enum hide hide = name_hides(key, strlen(key));
    if (hide == HIDE_ALL || (hide == HIDE_WORDS && strlen(value) > LABEL_MOST))
        return REDACTED;
    return redact_text(value, a);
}
