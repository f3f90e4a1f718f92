/* SPDX-License-Identifier: Apache-2.0 */
/* inflate_internal.h - what the two engines offer to inflate.c. */
#ifndef BASE_INFLATE_INTERNAL_H
#define BASE_INFLATE_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

enum inflate_step {
    STEP_GOES_ON, /* wants input or room */
    STEP_MEMBER,  /* a member ended, its checksum is right */
    STEP_DAMAGED,
};

struct inflate_io {
    const uint8_t *in;
    uint8_t *out;
    size_t in_left, out_left;
};

struct inflate_ops {
    void *(*open)(void);   /* NULL: not here */
    void (*reset)(void *); /* for the next member */
    enum inflate_step (*step)(void *, struct inflate_io *io);
    void (*close)(void *);
};

extern const struct inflate_ops inflate_isal, inflate_zlib;

#endif
