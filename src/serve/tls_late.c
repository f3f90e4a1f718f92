/* SPDX-License-Identifier: Apache-2.0 */
/* tls_late.c - see tls_late.h. */
#include "serve/tls_late.h"

#include <dlfcn.h>
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>

#include "base/mem.h"

/* The library's functions. The process has one GnuTLS, and its callers cannot pass anything in, so
 * this is one of the few things that are global. */
enum call_id {
#define CALL(result, name, ...) AT_##name,
#define CALL_VOID(name, ...)    AT_##name,
#include "serve/tls_calls.def"
#undef CALL
#undef CALL_VOID
    CALL_N
};

static void *loaded[CALL_N];

static const char *const names[CALL_N] = {
#define CALL(result, name, ...) #name,
#define CALL_VOID(name, ...)    #name,
#include "serve/tls_calls.def"
#undef CALL
#undef CALL_VOID
};

static void *call_of(enum call_id id)
{
    if (!loaded[id])
        abort();
    return loaded[id];
}

#define CALL(result, name, declared, passed)                                                       \
    result name declared                                                                           \
    {                                                                                              \
        return ((result(*) declared)call_of(AT_##name))passed;                                     \
    }
#define CALL_VOID(name, declared, passed)                                                          \
    void name declared                                                                             \
    {                                                                                              \
        ((void(*) declared)call_of(AT_##name)) passed;                                             \
    }
#include "serve/tls_calls.def"
#undef CALL
#undef CALL_VOID

/* libmicrohttpd calls these two when the program starts and ends; the library does them itself when
 * it is loaded. */
int gnutls_global_init(void)
{
    return 0;
}

void gnutls_global_deinit(void)
{
}

gnutls_alloc_function gnutls_malloc = malloc;

int tls_load(struct err *e)
{
    void *lib = dlopen("libgnutls.so.30", RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        return err_set(e, ERR_NOT_FOUND, "TLS requires GnuTLS, which could not be loaded: %.300s",
                       dlerror());
    for (size_t i = 0; i < CALL_N; i++) {
        loaded[i] = dlsym(lib, names[i]);
        if (!loaded[i])
            return err_set(e, ERR_VERSION, "the GnuTLS library on this machine has no %s",
                           names[i]);
    }
    return 0;
}
