/* SPDX-License-Identifier: Apache-2.0 */
/* sm_line.h - one line of SageMaker's system metrics, as bytes in and a struct out.
 *
 *     {"Type":"cpu","Name":"cpu3","Dimension":"CPUUtilization","Value":37.5,"NodeId":"algo-2",
 *      "Timestamp":1700000000.2514321}
 *
 * Two readers that agree: sm_line_fast for lines as they are usually written, in any order of
 * fields and with any white space; sm_line_slow for all that JSON allows beside (escapes,
 * exponents, further members). */
#ifndef IMPORT_SM_LINE_H
#define IMPORT_SM_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json/json.h"

enum { SM_PAD = 32, SM_TEXT_MOST = 128, SM_TEXTS = 4 };

/* At least 16 bytes may be read after its end. */
struct sm_text {
    const char *p;
    uint32_t len;
};

struct sm_line {
    struct sm_text type, name, dimension, node; /* len 0: not there */
    bool has_value, has_time;
    double value;
    int64_t time_ns;
    char room[SM_TEXTS][SM_TEXT_MOST + SM_PAD]; /* of sm_line_slow: where the texts are */
};

/* `out` is zeroed before the first line. Reads the object at p; SM_PAD bytes after the input are
 * readable and hold zeros. Returns what is after the object, or NULL when it is not of the
 * usual shape or not whole. The texts are those of the input. */
const char *sm_line_fast(const char *p, struct sm_line *out);
void sm_line_keys(struct json_keys *keys);
/* False when the n bytes are no object. What was mended is counted. `keys` from sm_line_keys. */
bool sm_line_slow(const char *p, size_t n, struct json_keys *keys, struct json_faults *f,
                  struct sm_line *out);

#endif
