/* SPDX-License-Identifier: Apache-2.0 */
/* curl.h - what needs TLS, through the system's libcurl where there is one. It is loaded when it is
 * first asked for, never otherwise. Proxies of the environment are not used. */
#ifndef AGENT_CURL_H
#define AGENT_CURL_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct mail;

/* ERR_NOT_FOUND with a sentence when there is none. FOOTPLATE_CURL names another library. */
MUST_CHECK int curl_is_there(struct err *e);
/* 0 when the answer's status is 2xx. ca: a file with certificates; NULL: the system's. */
MUST_CHECK int curl_post(const char *url, const char *ca, const char *json, size_t n,
                         int64_t timeout_ns, struct err *e);
/* Delivers the mail's message to its server, with TLS as the mail says. */
MUST_CHECK int curl_mail(const struct mail *m, const char *ca, int64_t timeout_ns, struct err *e);

#endif
