/* SPDX-License-Identifier: Apache-2.0 */
/* curl.h - the system's libcurl, where there is one: the only place that knows it. It is loaded
 * when it is needed, never otherwise, and takes 9 MB then; so it never enters the recorder's
 * process. Proxies of the environment are not used, redirects are not followed.
 *
 * http_client.h is how requests are sent; this header has what it is made of, and mails. */
#ifndef NET_CURL_H
#define NET_CURL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* ERR_NOT_FOUND with a sentence when there is none. FOOTPLATE_CURL names another library. It is
 * tried in a child: the calling process does not load it. */
MUST_CHECK int curl_is_there(struct err *e);

/* Where a mail goes. */
struct mail_route {
    const char *host;
    int port;
    bool starttls, tls;
    const char *user, *password; /* user NULL: none */
    const char *from;
    const char *const *to;
    size_t n_to;
    const char *ca; /* a file with certificates; NULL: the system's */
};

/* Delivers a message with header and text, with TLS as the route requires. It loads libcurl into
 * the calling process and waits without limit. */
MUST_CHECK int curl_mail(const struct mail_route *m, const void *message, size_t n, struct err *e);

/* ---- for http_client.c ---- */

/* The numbers are those of libcurl's stable ABI: a build needs no headers of a library that is
 * optional when the program runs. */
enum curl_option {
    OPT_LOW_SPEED_LIMIT = 19,
    OPT_LOW_SPEED_TIME = 20,
    OPT_SSLVERSION = 32,
    OPT_NOBODY = 44,
    OPT_UPLOAD = 46,
    OPT_SSL_VERIFYPEER = 64,
    OPT_HTTPGET = 80,
    OPT_SSL_VERIFYHOST = 81,
    OPT_HTTP_VERSION = 84,
    OPT_NOSIGNAL = 99,
    OPT_USE_SSL = 119,
    OPT_TIMEOUT_MS = 155,
    OPT_CONNECTTIMEOUT_MS = 156,
    OPT_PROTOCOLS = 181,
    OPT_TCP_KEEPALIVE = 213,
    OPT_PATH_AS_IS = 234,
    OPT_WRITEDATA = 10001,
    OPT_URL = 10002,
    OPT_PROXY = 10004,
    OPT_READDATA = 10009,
    OPT_ERRORBUFFER = 10010,
    OPT_POSTFIELDS = 10015,
    OPT_USERAGENT = 10018,
    OPT_HTTPHEADER = 10023,
    OPT_HEADERDATA = 10029,
    OPT_CUSTOMREQUEST = 10036,
    OPT_CAINFO = 10065,
    OPT_USERNAME = 10173,
    OPT_PASSWORD = 10174,
    OPT_MAIL_FROM = 10186,
    OPT_MAIL_RCPT = 10187,
    OPT_PINNEDPUBLICKEY = 10230,
    OPT_WRITEFUNCTION = 20011,
    OPT_READFUNCTION = 20012,
    OPT_HEADERFUNCTION = 20079,
    OPT_POSTFIELDSIZE_LARGE = 30120,
};

enum {
    INFO_RESPONSE_CODE = 0x200002,
    INFO_OS_ERRNO = 0x200019,
    CODE_URL_MALFORMAT = 3,
    CODE_COULDNT_CONNECT = 7,
    CODE_PEER_FAILED_VERIFICATION = 60,
    CODE_SSL_CACERT_BADFILE = 77,
    CODE_SSL_PINNEDPUBKEYNOTMATCH = 90,
    PROTOCOL_HTTP = 1,
    PROTOCOL_HTTPS = 2,
    HTTP_VERSION_1_1 = 2,
    SSLVERSION_TLS_1_2 = 6,
    CURL_MESSAGE_LEN = 256, /* of OPT_ERRORBUFFER */
};

struct curl_list;

struct curl {
    void *library;
    int (*global_init)(long flags);
    void *(*easy_init)(void);
    void (*easy_reset)(void *h);
    int (*easy_setopt)(void *h, int option, ...);
    int (*easy_perform)(void *h);
    int (*easy_getinfo)(void *h, int what, ...);
    void (*easy_cleanup)(void *h);
    struct curl_list *(*slist_append)(struct curl_list *l, const char *text);
    void (*slist_free_all)(struct curl_list *l);
    const char *(*easy_strerror)(int code);
};

/* Loads the library into this process, where it stays, and makes a handle. */
MUST_CHECK int curl_begin(struct curl *c, void **h, struct err *e);
/* What every request has. `why` has CURL_MESSAGE_LEN bytes. */
void curl_set_common(const struct curl *c, void *h, const char *url, const char *ca, char *why);
/* The message for a code that is not 0. */
int curl_failed(const struct curl *c, void *h, int code, const char *why, struct err *e);

#endif
