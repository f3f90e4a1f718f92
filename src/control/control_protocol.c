/* SPDX-License-Identifier: Apache-2.0 */
/* control_protocol.c - parses a request, and names the socket. See control_protocol.h. */
#include "control/control_protocol.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/vec.h"
#include "config/settings.h"

static int control_parse_interval(const char *value, struct control_request *out, struct err *e)
{
    return duration_parse_within("interval", value, INTERVAL_MIN_NS, INTERVAL_MAX_NS, &out->number,
                                 e);
}

static int control_parse_switch(const char *value, struct control_request *out, struct err *e)
{
    const bool on = strcmp(value, "on") == 0;
    if (!on && strcmp(value, "off") != 0)
        return err_set(e, ERR_USAGE, "monitoring: '%s' is neither 'on' nor 'off'", value);
    out->number = on;
    return 0;
}

static int control_parse_detail(const char *value, struct control_request *out, struct err *e)
{
    return settings_detail_parse(value, &out->detail, e) == 0 ? 0 : err_in(e, "detail");
}

static const struct {
    const char *key;
    enum control_kind kind;
    int (*value)(const char *text, struct control_request *out, struct err *e); /* NULL: none */
} requests[] = {
    {"interval", CONTROL_INTERVAL, control_parse_interval},
    {"monitoring", CONTROL_MONITORING, control_parse_switch},
    {"detail", CONTROL_DETAIL, control_parse_detail},
    {"stop", CONTROL_STOP, NULL},
    {"status", CONTROL_STATUS, NULL},
};

int control_parse(const char *line, size_t len, struct control_request *out, struct err *e)
{
    char text[CONTROL_LINE];
    if (len >= sizeof text)
        return err_set(e, ERR_USAGE, "the request is longer than %d bytes", CONTROL_LINE - 1);
    for (size_t i = 0; i < len; i++)
        if (line[i] < 0x20 || line[i] > 0x7e)
            return err_set(e, ERR_USAGE, "the request is not plain text");
    memcpy(text, line, len);
    text[len] = 0;
    char *value = strchr(text, '=');
    if (value)
        *value++ = 0;
    for (size_t i = 0; i < COUNT_OF(requests); i++) {
        if (strcmp(requests[i].key, text) != 0)
            continue;
        if (!requests[i].value != !value)
            return err_set(e, ERR_USAGE, "'%s' %s", text,
                           value ? "takes no value" : "needs a value: write key=value");
        struct control_request r = {.kind = requests[i].kind};
        if (value && requests[i].value(value, &r, e))
            return e->code;
        *out = r;
        return 0;
    }
    return err_set(e, ERR_USAGE,
                   "'%s' cannot be set; use interval=TIME, monitoring=on|off, detail=WINDOW|off, "
                   "stop or status",
                   text);
}

bool control_path(char out[CONTROL_PATH], unsigned n, uid_t owner, const char *run_id,
                  const char *node_id)
{
    char base[64] = "";
    const char *xdg = owner == getuid() ? getenv("XDG_RUNTIME_DIR") : NULL;
    const char *dir = base;
    struct stat st;
    if (n == 0)
        dir = xdg && *xdg == '/' ? xdg : "";
    else if (n == 1)
        snprintf(base, sizeof base, "/run/user/%u", (unsigned)owner);
    else if (n == 2)
        snprintf(base, sizeof base, "/tmp/footplate-%u", (unsigned)owner);
    else
        return false;
    const char *const of[] = {run_id, "\xff", node_id, "\xff"};
    uint64_t h = HASH_BEGIN; /* distinguishes a user's runs, nothing more */
    for (size_t i = 0; i < COUNT_OF(of); i++)
        h = hash_more(h, of[i], strlen(of[i]));
    const int len =
        snprintf(out, CONTROL_PATH, "%s/footplate/%016llx.sock", dir, (unsigned long long)h);
    if (!*dir || len < 0 || len >= CONTROL_PATH || (n < 2 && stat(dir, &st) < 0))
        out[0] = 0; /* this folder does not exist here; the next may */
    return true;
}
