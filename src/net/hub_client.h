/* SPDX-License-Identifier: Apache-2.0 */
/* hub_client.h - addresses and tokens of hubs, and requests of its readers.
 *
 * A token is sent over https:// only, or to this machine, and to no address that a redirect names.
 * It comes from the environment or a file, never from the command line.
 *
 * A client is one connection: hub_client_open, any number of hub_client_send one after the other,
 * hub_client_close. Two threads have two clients. The settings are those of the environment:
 *
 *   FOOTPLATE_TOKEN_FILE, FOOTPLATE_TOKEN      the token: in a file, else the text itself
 *   FOOTPLATE_CA                               certificates to trust (PEM); else FOOTPLATE_TO_CA
 *   FOOTPLATE_PINNED_KEY                       the key of the hub; else FOOTPLATE_TO_PINNED_KEY
 *
 * Transient failures (a cut connection, 5xx, 429) are retried a few times. Other failures are one
 * sentence:
 *
 *   ERR_SYS, e->sys ENOENT   404: there is no such run or file
 *   ERR_SYS, e->sys EACCES   the token is missing, wrong, or not allowed to do it
 *   ERR_BUSY                 409 or 412: a condition does not hold
 *   ERR_NOT_FOUND            the hub cannot be reached, or still fails after all attempts
 *   ERR_FORMAT               its certificate or key is not the right one
 *   ERR_USAGE                anything else that is wrong with the set-up */
#ifndef NET_HUB_CLIENT_H
#define NET_HUB_CLIENT_H

#include <jansson.h>
#include <stdbool.h>

#include "base/arena.h"
#include "net/http_client.h"

enum { HUB_BASE_LEN = 272 };

/* Whether a location is an address of a hub at all: http:// or https://. */
bool hub_is_address(const char *location);
/* "https://HOST[:PORT]" of an address; *rest is what follows it: "" or "/...". ERR_USAGE: it is not
 * an address, or is one of another machine without https. */
MUST_CHECK int hub_address_of(char base[HUB_BASE_LEN], const char **rest, const char *address,
                              struct err *e);
/* The token in the file, or of the environment (FOOTPLATE_TOKEN) when `file` is NULL; NULL: none.
 */
MUST_CHECK int hub_token_read(const char *file, struct arena *a, const char **out, struct err *e);

struct hub_client;

struct hub_call {
    const char *path; /* "/api/v1/...", encoded */
    const char *body; /* JSON of a POST; NULL: a GET */
    const char *if_match;
    int64_t from, len; /* a range; len 0: all */
    size_t most;       /* bytes of the answer */
};

MUST_CHECK int hub_client_open(struct hub_client **out, const char *base, struct err *e);
/* 0: 200, 206 or 204. The response is to be freed in any case. */
MUST_CHECK int hub_client_send(struct hub_client *c, const struct hub_call *q,
                               struct http_response *r, struct err *e);
/* The object in the answer of `base`; the caller ends it with json_decref. */
MUST_CHECK int hub_answer_tree(const char *base, const struct http_response *r, json_t **out,
                               struct err *e);
void hub_client_close(struct hub_client *c); /* NULL is fine */

#endif
