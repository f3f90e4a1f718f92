/* SPDX-License-Identifier: Apache-2.0 */
/* curl.c - see curl.h. The numbers are those of libcurl's stable ABI. */
#include "agent/curl.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/smtp.h"
#include "base/mem.h"

enum {
    OPT_USE_SSL = 119,
    OPT_NOSIGNAL = 99,
    OPT_TIMEOUT_MS = 155,
    OPT_UPLOAD = 46,
    OPT_POSTFIELDSIZE = 60,
    OPT_WRITEDATA = 10001,
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
static bool find(void *library, const char *name, void *slot)
{
    void *f = dlsym(library, name);
    memcpy(slot, &f, sizeof f);
    return f != NULL;
}

static int load(struct curl *c, struct err *e)
{
    c->library = open_library();
    if (!c->library)
        return err_set(e, ERR_NOT_FOUND,
                       "TLS requires libcurl, which is not installed on this machine (package "
                       "libcurl4 on Debian and Ubuntu, libcurl on Fedora and RHEL)");
    const bool all = find(c->library, "curl_easy_init", &c->easy_init) &&
                     find(c->library, "curl_easy_setopt", &c->easy_setopt) &&
                     find(c->library, "curl_easy_perform", &c->easy_perform) &&
                     find(c->library, "curl_easy_getinfo", &c->easy_getinfo) &&
                     find(c->library, "curl_easy_cleanup", &c->easy_cleanup) &&
                     find(c->library, "curl_slist_append", &c->slist_append) &&
                     find(c->library, "curl_slist_free_all", &c->slist_free_all) &&
                     find(c->library, "curl_easy_strerror", &c->easy_strerror);
    if (all)
        return 0;
    dlclose(c->library);
    return err_set(e, ERR_NOT_FOUND,
                   "TLS requires libcurl; the library found under that name is not libcurl");
}

/* It stays loaded: its libraries do not bear being unloaded, and a second dlopen is cheap. */
int curl_is_there(struct err *e)
{
    struct curl c;
    return load(&c, e);
}

static size_t swallow(const char *p, size_t size, size_t n, void *ctx)
{
    (void)p;
    (void)ctx;
    return size * n;
}

static void set_common(const struct curl *c, void *h, const char *url, const char *ca,
                       int64_t timeout_ns, char *why)
{
    c->easy_setopt(h, OPT_URL, url);
    c->easy_setopt(h, OPT_PROXY, "");
    c->easy_setopt(h, OPT_NOSIGNAL, 1L);
    c->easy_setopt(h, OPT_TIMEOUT_MS, (long)(timeout_ns / 1000000));
    c->easy_setopt(h, OPT_ERRORBUFFER, why);
    c->easy_setopt(h, OPT_WRITEFUNCTION, swallow);
    c->easy_setopt(h, OPT_USERAGENT, "footplate");
    if (ca)
        c->easy_setopt(h, OPT_CAINFO, ca);
}

static int go(const struct curl *c, void *h, const char *why, struct err *e)
{
    const int rc = c->easy_perform(h);
    if (rc == 0)
        return 0;
    return err_set(e, ERR_NOT_FOUND, "%.200s", *why ? why : c->easy_strerror(rc));
}

int curl_post(const char *url, const char *ca, const char *json, size_t n, int64_t timeout_ns,
              struct err *e)
{
    struct curl c;
    char why[ERROR_LEN] = "";
    long status = 0;
    int rc = load(&c, e);
    if (rc)
        return rc;
    void *h = c.easy_init();
    if (!h)
        return err_set(e, ERR_LIMIT, "could not initialize libcurl");
    struct curl_list *headers = c.slist_append(NULL, "Content-Type: application/json");
    set_common(&c, h, url, ca, timeout_ns, why);
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
    const struct mail *mail;
    size_t sent;
};

static size_t next_bytes(char *to, size_t size, size_t n, void *ctx)
{
    struct upload *u = ctx;
    const size_t some = MIN_OF(size * n, u->mail->len - u->sent);
    memcpy(to, (const char *)u->mail->message + u->sent, some);
    u->sent += some;
    return some;
}

int curl_mail(const struct mail *m, const char *ca, int64_t timeout_ns, struct err *e)
{
    struct curl c;
    char why[ERROR_LEN] = "", url[512];
    struct upload u = {m, 0};
    struct curl_list *to = NULL;
    int rc = load(&c, e);
    if (rc)
        return rc;
    void *h = c.easy_init();
    if (!h)
        return err_set(e, ERR_LIMIT, "could not initialize libcurl");
    const bool six = strchr(m->host, ':') != NULL;
    snprintf(url, sizeof url, "%s://%s%s%s:%d/footplate", m->tls ? "smtps" : "smtp", six ? "[" : "",
             m->host, six ? "]" : "", m->port);
    set_common(&c, h, url, ca, timeout_ns, why);
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
