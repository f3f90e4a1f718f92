/* SPDX-License-Identifier: Apache-2.0 */
/* rights_web.c - what browsers tell about who asks: Host, Origin, cookies. Pure. */
#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "serve/rights.h"

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

static bool is_address(const char *name)
{
    unsigned char bytes[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, name, bytes) == 1 || inet_pton(AF_INET6, name, bytes) == 1;
}

bool host_allowed(const char *header, const char *const *hosts, size_t n, bool any_address)
{
    char name[HOST_MOST + 1];
    if (!header || !host_name(header, name))
        return false;
    for (size_t i = 0; i < n; i++)
        if (strcasecmp(hosts[i], name) == 0)
            return true;
    return any_address && is_address(name);
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
