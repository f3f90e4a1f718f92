/* SPDX-License-Identifier: Apache-2.0 */
/* json_elements.h - the objects of a JSON array, one after the other, whatever is broken in some:
 * each is held in the scanner's window while it is read and told, and read anew when the window has
 * to move. */
#ifndef IMPORT_JSON_ELEMENTS_H
#define IMPORT_JSON_ELEMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json_scan.h"

struct json_elements {
    struct json_scan *scan; /* has just entered the array */
    /* Reads the members of the object that was just entered, from the start each time it is
     * called: JS_END, or a kind from JS_LOST on. */
    enum json_kind (*read)(void *ctx);
    /* What was read is whole: once for each object. */
    void (*tell)(void *ctx);
    void *ctx;
    uint64_t others; /* out: elements that are no objects */
    bool unclosed;   /* out: all were whole, but the array has no end */
};

/* JS_END when the array was left, else the kind that ended it (json_is_over). */
enum json_kind json_elements(struct json_elements *x);

#endif
