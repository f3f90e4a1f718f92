/* SPDX-License-Identifier: Apache-2.0 */
/* err.c - see err.h. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *e, enum err_code code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(e->msg, sizeof e->msg, fmt, ap);
    va_end(ap);
    e->code = code;
    e->sys = 0;
    return code;
}

int err_sys(struct err *e, const char *fmt, ...)
{
    const int sys = errno;
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(e->msg, sizeof e->msg, fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n < sizeof e->msg)
        snprintf(e->msg + n, sizeof e->msg - (size_t)n, ": %s", strerror(sys));
    e->code = ERR_SYS;
    e->sys = sys;
    return ERR_SYS;
}

bool err_no_file(int rc, const struct err *e)
{
    return rc == ERR_SYS && e->sys == ENOENT;
}

int err_in(struct err *e, const char *fmt, ...)
{
    char old[sizeof e->msg];
    memcpy(old, e->msg, sizeof old);
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(e->msg, sizeof e->msg, fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n < sizeof e->msg)
        snprintf(e->msg + n, sizeof e->msg - (size_t)n, ": %.400s", old);
    return e->code;
}
