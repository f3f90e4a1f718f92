/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_notice.c - answers of a metadata service: any bytes; the body stays within them, and every
 * provider's judgement is a text or nothing. */
#include <stdint.h>
#include <stdlib.h>

#include "agent/notice.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void judge(const char *body, size_t len)
{
    for (const struct notice_provider *v = notice_providers; v->name; v++)
        for (int q = 0; q < NOTICE_QUESTIONS && v->question[q].path; q++) {
            struct notice out = {0};
            v->question[q].judge(body, len, &out);
            if ((out.ends && !out.found) || out.found != (out.text[0] != 0))
                abort();
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    const char *text = (const char *)p;
    struct http_answer a;
    struct err e;
    judge(text, n);
    if (http_answer_parse(text, n, &a, &e))
        return 0;
    if (a.status < 0 || a.status > 999 || a.body < text || a.body + a.len > text + n)
        abort();
    judge(a.body, a.len);
    return 0;
}
