/* SPDX-License-Identifier: Apache-2.0 */
/* curl.c - see curl.h. */
#include "net/curl.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

enum { USE_SSL_ALL = 3, GLOBAL_DEFAULT = 3 };

static void *curl_open_library(void)
{
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl-nss.so.4"};
    const char *name = getenv("FOOTPLATE_CURL");
    if (name && *name)
        return dlopen(name, RTLD_NOW | RTLD_LOCAL);
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
    c->library = curl_open_library();
    if (!c->library)
        return CURL_MISSING;
    const bool all = curl_find(c->library, "curl_global_init", &c->global_init) &&
                     curl_find(c->library, "curl_easy_init", &c->easy_init) &&
                     curl_find(c->library, "curl_easy_reset", &c->easy_reset) &&
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
                       "this requires libcurl, which is not installed on this machine (package "
                       "libcurl4 on Debian and Ubuntu, libcurl on Fedora and RHEL)");
    if (found == CURL_FOREIGN)
        return err_set(e, ERR_NOT_FOUND,
                       "this requires libcurl; the library found under that name is not libcurl");
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

int curl_begin(struct curl *c, void **h, struct err *e)
{
    /* Older versions of libcurl cannot be initialized by two threads at once. */
    static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&turn);
    const int rc = curl_found_error(curl_load(c), e);
    *h = rc == 0 && c->global_init(GLOBAL_DEFAULT) == 0 ? c->easy_init() : NULL;
    pthread_mutex_unlock(&turn);
    if (rc)
        return rc;
    return *h ? 0 : err_set(e, ERR_LIMIT, "could not initialize libcurl");
}

static size_t curl_swallow(const char *p, size_t size, size_t n, void *ctx)
{
    (void)p;
    (void)ctx;
    return size * n;
}

void curl_set_common(const struct curl *c, void *h, const char *url, const char *ca, char *why)
{
    c->easy_setopt(h, OPT_URL, url);
    c->easy_setopt(h, OPT_PROXY, "");
    c->easy_setopt(h, OPT_NOSIGNAL, 1L);
    c->easy_setopt(h, OPT_ERRORBUFFER, why);
    c->easy_setopt(h, OPT_WRITEFUNCTION, curl_swallow);
    c->easy_setopt(h, OPT_USERAGENT, "footplate");
    if (ca)
        c->easy_setopt(h, OPT_CAINFO, ca);
}

/* Failures that another attempt cannot cure. */
static enum err_code curl_error_code(int code)
{
    switch (code) {
    case CODE_URL_MALFORMAT:
        return ERR_USAGE;
    case CODE_PEER_FAILED_VERIFICATION:
    case CODE_SSL_CACERT_BADFILE:
    case CODE_SSL_PINNEDPUBKEYNOTMATCH:
        return ERR_FORMAT;
    default:
        return ERR_NOT_FOUND;
    }
}

int curl_failed(const struct curl *c, void *h, int code, const char *why, struct err *e)
{
    long sys = 0;
    if (code == CODE_COULDNT_CONNECT)
        c->easy_getinfo(h, INFO_OS_ERRNO, &sys);
    return err_set(e, curl_error_code(code), "%.200s%s%s", *why ? why : c->easy_strerror(code),
                   sys ? ": " : "", sys ? strerror((int)sys) : "");
}

/* ==== mails ==== */

struct mail_upload {
    const char *next;
    size_t left;
};

static size_t mail_upload_next(char *to, size_t size, size_t n, void *ctx)
{
    struct mail_upload *u = ctx;
    const size_t some = MIN_OF(size * n, u->left);
    memcpy(to, u->next, some);
    u->next += some;
    u->left -= some;
    return some;
}

static void mail_set(const struct curl *c, void *h, const struct mail_route *m,
                     struct curl_list *to)
{
    if (m->starttls)
        c->easy_setopt(h, OPT_USE_SSL, (long)USE_SSL_ALL);
    if (m->user) {
        c->easy_setopt(h, OPT_USERNAME, m->user);
        c->easy_setopt(h, OPT_PASSWORD, m->password);
    }
    c->easy_setopt(h, OPT_MAIL_FROM, m->from);
    c->easy_setopt(h, OPT_MAIL_RCPT, to);
    c->easy_setopt(h, OPT_UPLOAD, 1L);
    c->easy_setopt(h, OPT_READFUNCTION, mail_upload_next);
}

int curl_mail(const struct mail_route *m, const void *message, size_t n, struct err *e)
{
    struct curl c;
    char why[CURL_MESSAGE_LEN] = "", url[512];
    struct mail_upload u = {message, n};
    struct curl_list *to = NULL;
    void *h;
    TRY(curl_begin(&c, &h, e));
    const bool six = strchr(m->host, ':') != NULL;
    snprintf(url, sizeof url, "%s://%s%s%s:%d/footplate", m->tls ? "smtps" : "smtp", six ? "[" : "",
             m->host, six ? "]" : "", m->port);
    curl_set_common(&c, h, url, m->ca, why);
    for (size_t i = 0; i < m->n_to; i++)
        to = c.slist_append(to, m->to[i]);
    mail_set(&c, h, m, to);
    c.easy_setopt(h, OPT_READDATA, &u);
    const int code = c.easy_perform(h);
    const int rc = code ? curl_failed(&c, h, code, why, e) : 0;
    c.easy_cleanup(h);
    c.slist_free_all(to);
    return rc;
}
