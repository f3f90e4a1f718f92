/* SPDX-License-Identifier: Apache-2.0 */
/* tls_late.h - GnuTLS, loaded only when the server is started with TLS.
 *
 * libmicrohttpd is linked into the program, which must start on machines that have nothing but
 * libc. So what it calls of GnuTLS is defined here and handed on to the system's library once that
 * is loaded. None of it is called before. */
#ifndef SERVE_TLS_LATE_H
#define SERVE_TLS_LATE_H

#include "base/err.h"

/* Once, before the server starts. ERR_NOT_FOUND when the machine has no GnuTLS. */
MUST_CHECK int tls_load(struct err *e);

#endif
