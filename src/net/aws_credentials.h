/* SPDX-License-Identifier: Apache-2.0 */
/* aws_credentials.h - keys, region and endpoint for S3, from where the SDKs take them.
 *
 * The sources in their order; the first that is set up counts, and when it fails, so does the
 * search:
 *
 *   environment       AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
 *   role              role_arn of the profile, with source_profile or credential_source, by STS
 *   web identity      AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN (Kubernetes: IRSA), through STS
 *   shared files      ~/.aws/credentials, profile AWS_PROFILE or "default"
 *   process           credential_process of the profile in ~/.aws/config
 *   config file       keys of the profile in ~/.aws/config
 *   container         AWS_CONTAINER_CREDENTIALS_RELATIVE_URI, ..._FULL_URI (ECS, EKS)
 *   instance          the metadata service of EC2, version 2
 *
 * A login by SSO and a role that requires a second factor are refused with a sentence:
 * credential_process covers them. No message contains a secret or a token. */
#ifndef NET_AWS_CREDENTIALS_H
#define NET_AWS_CREDENTIALS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

struct aws_credentials {
    char *id, *secret;
    char *token;       /* NULL: none */
    int64_t expires_s; /* since the epoch; 0: never */
    const char *source;
};

/* ERR_NOT_FOUND when no source is set up. */
MUST_CHECK int aws_credentials_find(struct aws_credentials *out, struct err *e);
/* Overwrites them in memory, too. An empty one is fine. */
void aws_credentials_free(struct aws_credentials *c);
/* Whether they should be renewed: 15 minutes before they end. */
bool aws_credentials_stale(const struct aws_credentials *c, int64_t now_s);

/* Where requests go. Texts are in the arena; NULL: not set. */
struct aws_settings {
    const char *region;   /* AWS_REGION, AWS_DEFAULT_REGION, `region` of the profile */
    const char *endpoint; /* AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, `endpoint_url` of the profile */
    const char *ca;       /* AWS_CA_BUNDLE, `ca_bundle` of the profile */
};

void aws_settings_find(struct aws_settings *out, struct arena *a);

/* ---- parts of it, for tests ---- */

/* The value of a key in a section of an INI file; NULL: not there. */
char *aws_ini_get(const char *text, const char *section, const char *key, struct arena *a);
/* Words as the shell has them: quotes and backslashes, nothing else. Ends with NULL. NULL: a quote
 * is open. */
char **aws_split_words(const char *text, struct arena *a);
/* "2026-11-18T12:00:00Z" in seconds since the epoch; 0: it is none. */
int64_t aws_time(const char *text);

#endif
