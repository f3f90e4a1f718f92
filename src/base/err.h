/* SPDX-License-Identifier: Apache-2.0 */
/* err.h - why something failed, in a sentence that names the thing and the cause.
 * A function that can fail returns 0 or the negative code that err_set/err_sys hand back, and takes
 * a `struct err *` last. The caller owns it; code below agent/, serve/ and cmd/ never prints it. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdbool.h>

#define MUST_CHECK          __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, a) __attribute__((format(printf, fmt, a)))

enum err_code {
    ERR_SYS = -1,       /* the system refused; err.sys is errno */
    ERR_FORMAT = -2,    /* bytes that are not what they should be */
    ERR_LIMIT = -3,     /* larger than we are willing to handle */
    ERR_USAGE = -4,     /* the user requested something that does not exist */
    ERR_NOT_FOUND = -5, /* no such run, node, metric... */
    ERR_BUSY = -6,      /* in use by another process */
    ERR_VERSION = -7,   /* written by a newer version */
};

struct err {
    int code; /* 0 or enum err_code */
    int sys;  /* errno of ERR_SYS */
    char msg[512];
};

/* Both return e->code so that `return err_set(...)` reads well. */
int err_set(struct err *e, enum err_code code, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Appends ": <strerror(errno)>". */
int err_sys(struct err *e, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Returns the error of a call to the caller of this function, for functions that have nothing to
 * give back. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        const int try_rc_ = (call);                                                                \
        if (try_rc_)                                                                               \
            return try_rc_;                                                                        \
    } while (0)

/* Whether a call that returned `rc` failed because there is no such file or object. */
bool err_no_file(int rc, const struct err *e);
/* Puts "<text>: " before the message already there; returns e->code. */
int err_in(struct err *e, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
