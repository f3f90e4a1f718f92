/* SPDX-License-Identifier: Apache-2.0 */
/* curl.c - see curl.h. */
#include "watch/curl.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"

/* ==== the text of a mail ==== */

enum { LINE_BYTES = 57 }; /* 76 letters of base64 */

#define BOUNDARY "footplate-part"

static void mail_put_lines(struct buf *b, const char *text)
{
    const size_t n = strlen(text);
    for (size_t i = 0; i < n; i += LINE_BYTES) {
        buf_base64(b, text + i, MIN_OF(n - i, (size_t)LINE_BYTES));
        buf_put(b, "\r\n", 2);
    }
}

bool mail_is_address(const char *text)
{
    for (const char *p = text; *p; p++)
        if (*p <= ' ' || *p == 127 || strchr("<>,;\"\\", *p))
            return false;
    return strchr(text, '@') != NULL && strlen(text) < 255;
}

/* A header's value: plain letters only. */
static void mail_put_plain(struct buf *b, const char *text)
{
    for (const char *p = text; *p; p++)
        buf_u8(b, *p >= ' ' && *p < 127 ? (uint8_t)*p : '?');
}

static void put_date(struct buf *b, wall_ns now)
{
    char text[64];
    const time_t s = (time_t)(now.ns / NS_PER_S);
    struct tm tm;
    /* The names of days and months as C has them: the program never asks for a locale. */
    if (gmtime_r(&s, &tm) && strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S +0000", &tm))
        buf_printf(b, "Date: %s\r\n", text);
}

static void mail_put_part(struct buf *b, const char *type, const char *text)
{
    buf_printf(b,
               "--" BOUNDARY "\r\nContent-Type: %s\r\n"
               "Content-Transfer-Encoding: base64\r\n\r\n",
               type);
    mail_put_lines(b, text);
}

struct buf mail_message(const struct mail *m, const char *subject, const char *text,
                        const char *json, wall_ns now)
{
    struct buf b = {0};
    buf_printf(&b, "From: <%s>\r\nTo: ", m->from);
    for (size_t i = 0; i < m->n_to; i++)
        buf_printf(&b, "%s<%s>", i ? ",\r\n " : "", m->to[i]);
    buf_printf(&b, "\r\nSubject: ");
    mail_put_plain(&b, subject);
    buf_printf(&b, "\r\n");
    put_date(&b, now);
    buf_printf(&b, "Auto-Submitted: auto-generated\r\nMIME-Version: 1.0\r\n"
                   "Content-Type: multipart/mixed; boundary=" BOUNDARY "\r\n\r\n");
    mail_put_part(&b, "text/plain; charset=utf-8", text);
    mail_put_part(&b, "application/json; name=verdict.json", json);
    buf_printf(&b, "--" BOUNDARY "--\r\n");
    return b;
}

/* ==== libcurl ==== */

/* The numbers are those of libcurl's stable ABI: a build needs no headers of a
 * library that is optional when the program runs. */

enum {
    OPT_USE_SSL = 119,
    OPT_NOSIGNAL = 99,
    OPT_UPLOAD = 46,
    OPT_POSTFIELDSIZE = 60,
    OPT_URL = 10002,
    OPT_PROXY = 10004,
    OPT_READDATA = 10009,
    OPT_ERRORBUFFER = 10010,
    OPT_POSTFIELDS = 10015,
    OPT_USERAGENT = 10018,
    OPT_HTTPHEADER = 10023,
    OPT_CAINFO = 10065,
    OPT_USERNAME = 10173,
    OPT_PASSWORD = 10174,
    OPT_MAIL_FROM = 10186,
    OPT_MAIL_RCPT = 10187,
    OPT_WRITEFUNCTION = 20011,
    OPT_READFUNCTION = 20012,
    INFO_RESPONSE_CODE = 0x200002,
    INFO_OS_ERRNO = 0x200019,
    CODE_COULDNT_CONNECT = 7,
    USE_SSL_ALL = 3,
    ERROR_LEN = 256,
};

struct curl_list;

struct curl {
    void *library;
    void *(*easy_init)(void);
    int (*easy_setopt)(void *h, int option, ...);
    int (*easy_perform)(void *h);
    int (*easy_getinfo)(void *h, int what, ...);
    void (*easy_cleanup)(void *h);
    struct curl_list *(*slist_append)(struct curl_list *l, const char *text);
    void (*slist_free_all)(struct curl_list *l);
    const char *(*easy_strerror)(int code);
};

static void *open_library(void)
{
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl-nss.so.4"};
    const char *asked = getenv("FOOTPLATE_CURL");
    if (asked && *asked)
        return dlopen(asked, RTLD_NOW | RTLD_LOCAL);
    void *l = NULL;
    for (size_t i = 0; !l && i < COUNT_OF(names); i++)
        l = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return l;
}

/* A function of the library into its pointer; ISO C has no cast for that. */
static bool curl_find(void *library, const char *name, void *slot)
{
    void *f = dlsym(library, name);
    memcpy(slot, &f, sizeof f);
    return f != NULL;
}

enum curl_found { CURL_FOUND, CURL_MISSING, CURL_FOREIGN };

static enum curl_found curl_load(struct curl *c)
{
    c->library = open_library();
    if (!c->library)
        return CURL_MISSING;
    const bool all = curl_find(c->library, "curl_easy_init", &c->easy_init) &&
                     curl_find(c->library, "curl_easy_setopt", &c->easy_setopt) &&
                     curl_find(c->library, "curl_easy_perform", &c->easy_perform) &&
                     curl_find(c->library, "curl_easy_getinfo", &c->easy_getinfo) &&
                     curl_find(c->library, "curl_easy_cleanup", &c->easy_cleanup) &&
                     curl_find(c->library, "curl_slist_append", &c->slist_append) &&
                     curl_find(c->library, "curl_slist_free_all", &c->slist_free_all) &&
                     curl_find(c->library, "curl_easy_strerror", &c->easy_strerror);
    return all ? CURL_FOUND : CURL_FOREIGN;
}

static int curl_found_error(enum curl_found found, struct err *e)
{
    if (found == CURL_MISSING)
        return err_set(e, ERR_NOT_FOUND,
                       "sending requires libcurl, which is not installed on this machine (package "
                       "libcurl4 on Debian and Ubuntu, libcurl on Fedora and RHEL)");
    if (found == CURL_FOREIGN)
        return err_set(
            e, ERR_NOT_FOUND,
            "sending requires libcurl; the library found under that name is not libcurl");
    return 0;
}

/* In a child: loaded, it takes 9 MB, and its libraries do not support being unloaded. */
int curl_is_there(struct err *e)
{
    int status = 0;
    const pid_t pid = fork();
    if (pid == 0) {
        struct curl c;
        _exit((int)curl_load(&c));
    }
    if (pid < 0)
        return err_sys(e, "cannot start a process");
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return curl_found_error(WIFEXITED(status) ? (enum curl_found)WEXITSTATUS(status) : CURL_FOREIGN,
                            e);
}

/* Loads the library and begins a request. */
static int curl_begin(struct curl *c, void **h, struct err *e)
{
    const int rc = curl_found_error(curl_load(c), e);
    if (rc)
        return rc;
    *h = c->easy_init();
    return *h ? 0 : err_set(e, ERR_LIMIT, "could not initialize libcurl");
}

static size_t swallow(const char *p, size_t size, size_t n, void *ctx)
{
    (void)p;
    (void)ctx;
    return size * n;
}

static void set_common(const struct curl *c, void *h, const char *url, const char *ca, char *why)
{
    c->easy_setopt(h, OPT_URL, url);
    c->easy_setopt(h, OPT_PROXY, "");
    c->easy_setopt(h, OPT_NOSIGNAL, 1L);
    c->easy_setopt(h, OPT_ERRORBUFFER, why);
    c->easy_setopt(h, OPT_WRITEFUNCTION, swallow);
    c->easy_setopt(h, OPT_USERAGENT, "footplate");
    if (ca)
        c->easy_setopt(h, OPT_CAINFO, ca);
}

static int go(const struct curl *c, void *h, const char *why, struct err *e)
{
    long sys = 0;
    const int rc = c->easy_perform(h);
    if (rc == 0)
        return 0;
    if (rc == CODE_COULDNT_CONNECT)
        c->easy_getinfo(h, INFO_OS_ERRNO, &sys);
    return err_set(e, ERR_NOT_FOUND, "%.200s%s%s", *why ? why : c->easy_strerror(rc),
                   sys ? ": " : "", sys ? strerror((int)sys) : "");
}

int curl_post(const char *url, const char *ca, const void *json, size_t n, struct err *e)
{
    struct curl c;
    char why[ERROR_LEN] = "";
    long status = 0;
    void *h;
    int rc = curl_begin(&c, &h, e);
    if (rc)
        return rc;
    struct curl_list *headers = c.slist_append(NULL, "Content-Type: application/json");
    headers = c.slist_append(headers, "Expect:"); /* else it waits for a "continue" first */
    set_common(&c, h, url, ca, why);
    c.easy_setopt(h, OPT_HTTPHEADER, headers);
    c.easy_setopt(h, OPT_POSTFIELDSIZE, (long)n);
    c.easy_setopt(h, OPT_POSTFIELDS, json);
    rc = go(&c, h, why, e);
    c.easy_getinfo(h, INFO_RESPONSE_CODE, &status);
    if (rc == 0 && (status < 200 || status > 299))
        rc = err_set(e, ERR_FORMAT, "the server answered with status %ld", status);
    c.easy_cleanup(h);
    c.slist_free_all(headers);
    return rc;
}

struct upload {
    const char *next;
    size_t left;
};

static size_t next_bytes(char *to, size_t size, size_t n, void *ctx)
{
    struct upload *u = ctx;
    const size_t some = MIN_OF(size * n, u->left);
    memcpy(to, u->next, some);
    u->next += some;
    u->left -= some;
    return some;
}

int curl_mail(const struct mail *m, const char *ca, const void *message, size_t n, struct err *e)
{
    struct curl c;
    char why[ERROR_LEN] = "", url[512];
    struct upload u = {message, n};
    struct curl_list *to = NULL;
    void *h;
    int rc = curl_begin(&c, &h, e);
    if (rc)
        return rc;
    const bool six = strchr(m->host, ':') != NULL;
    snprintf(url, sizeof url, "%s://%s%s%s:%d/footplate", m->tls ? "smtps" : "smtp", six ? "[" : "",
             m->host, six ? "]" : "", m->port);
    set_common(&c, h, url, ca, why);
    for (size_t i = 0; i < m->n_to; i++)
        to = c.slist_append(to, m->to[i]);
    if (m->starttls)
        c.easy_setopt(h, OPT_USE_SSL, (long)USE_SSL_ALL);
    if (m->user) {
        c.easy_setopt(h, OPT_USERNAME, m->user);
        c.easy_setopt(h, OPT_PASSWORD, m->password);
    }
    c.easy_setopt(h, OPT_MAIL_FROM, m->from);
    c.easy_setopt(h, OPT_MAIL_RCPT, to);
    c.easy_setopt(h, OPT_UPLOAD, 1L);
    c.easy_setopt(h, OPT_READFUNCTION, next_bytes);
    c.easy_setopt(h, OPT_READDATA, &u);
    rc = go(&c, h, why, e);
    c.easy_cleanup(h);
    c.slist_free_all(to);
    return rc;
}
