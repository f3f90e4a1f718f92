/* SPDX-License-Identifier: Apache-2.0 */
/* aws_internal.h - aws_credentials.c has the search and most of its sources, aws_sts.c those that
 * exchange one identity for another. */
#ifndef NET_AWS_INTERNAL_H
#define NET_AWS_INTERNAL_H

#include "net/aws_credentials.h"
#include "net/http_client.h"

enum { AWS_ANSWER_MOST = 64 << 10, AWS_REQUEST_MS = 10000 };

struct aws_profile {
    const char *name;
    const char *credentials, *config; /* the texts of the files, "" where there is none */
    char section[300];                /* in the config file */
};

/* What a source reads. */
struct aws_search {
    struct arena arena;
    struct aws_profile profile;
};

/* The source is not set up: the next one is tried. Not an error code of err.h. */
enum { AWS_NOT_SET = 1 };

int aws_not_set(struct err *e);

/* The value of a variable; NULL: not set, or empty. */
const char *aws_env(const char *name);
/* Overwrites and frees it. */
void aws_forget(char *text);
MUST_CHECK int aws_take(struct aws_credentials *out, const char *id, const char *secret,
                        const char *token, struct err *e);
void aws_profile_load(struct aws_profile *p, const char *name, struct arena *a);
/* Of the config file; NULL: not set. */
char *aws_profile_get(const struct aws_profile *p, const char *key, struct arena *a);
/* One request with a separate client; credentials are requested once in hours. A status that is
 * not 2xx is ERR_FORMAT. Nothing of the answer is in the message: it may be a secret. */
MUST_CHECK int aws_ask(const struct http_request *q, const char *ca, struct http_response *r,
                       struct err *e);
void aws_answer_free(struct http_response *r);

/* Sources. 0: found; AWS_NOT_SET; or an error. */
int aws_from_environment(struct aws_search *s, struct aws_credentials *out, struct err *e);
int aws_from_shared(struct aws_search *s, struct aws_credentials *out, struct err *e);
int aws_from_process(struct aws_search *s, struct aws_credentials *out, struct err *e);
int aws_from_config(struct aws_search *s, struct aws_credentials *out, struct err *e);
int aws_from_container(struct aws_search *s, struct aws_credentials *out, struct err *e);
int aws_from_instance(struct aws_search *s, struct aws_credentials *out, struct err *e);
int aws_from_role(struct aws_search *s, struct aws_credentials *out, struct err *e);
int aws_from_web_identity(struct aws_search *s, struct aws_credentials *out, struct err *e);

#endif
