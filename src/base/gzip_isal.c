/* SPDX-License-Identifier: Apache-2.0 */
/* gzip_isal.c - see gzip_isal.h. */
#include "base/gzip_isal.h"

#ifdef FP_HAVE_ISAL
#include <dlfcn.h>
#include <isa-l/igzip_lib.h>
#include <stdlib.h>

#include "base/isal.h"
#include "base/mem.h"

struct gzip_isal_work {
    struct isal_zstream z;
    uint8_t tokens[ISAL_DEF_LVL1_SMALL];
};

struct calls {
    void (*init)(struct isal_zstream *);
    int (*deflate)(struct isal_zstream *);
};

/* Into no more room than the bytes had. */
static bool squeeze_into(const struct calls *c, const void *p, size_t n, struct buf *out)
{
    struct gzip_isal_work *w = xmalloc(sizeof *w);
    buf_reserve(out, n);
    c->init(&w->z);
    w->z.level = 1;
    w->z.level_buf = w->tokens;
    w->z.level_buf_size = sizeof w->tokens;
    w->z.gzip_flag = IGZIP_GZIP;
    w->z.end_of_stream = 1;
    w->z.next_in = (uint8_t *)(uintptr_t)p; /* it does not write there */
    w->z.avail_in = (uint32_t)n;
    w->z.next_out = out->p;
    w->z.avail_out = (uint32_t)n;
    const int rc = c->deflate(&w->z);
    const bool good = rc == COMP_OK && w->z.internal_state.state == ZSTATE_END;
    isal_leave();
    out->len = good ? w->z.total_out : 0;
    free(w);
    return good && out->len < n;
}

bool gzip_isal(const void *p, size_t n, struct buf *out)
{
    struct calls c = {0};
    void *library = n < UINT32_MAX ? isal_open() : NULL;
    if (!library)
        return false;
    *(void **)&c.init = dlsym(library, "isal_deflate_init");
    *(void **)&c.deflate = dlsym(library, "isal_deflate");
    const bool good = c.init && c.deflate && squeeze_into(&c, p, n, out);
    dlclose(library);
    if (!good)
        buf_free(out);
    return good;
}

#else

bool gzip_isal(const void *p, size_t n, struct buf *out)
{
    (void)p;
    (void)n;
    (void)out;
    return false;
}

#endif
