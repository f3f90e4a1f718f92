/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_xml.c - answers of object storage: any bytes. */
#include <stdlib.h>

#include "net/xml.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct xml x = xml_of(p, n);
    struct buf text = {0};
    while (xml_next(&x)) {
        if (x.depth > XML_DEPTH_MOST || x.name_len == 0)
            abort();
        if (x.name_len % 2)
            xml_text(&x, &text);
        if (text.len > n)
            abort(); /* nothing may grow */
    }
    buf_free(&text);
    free(xml_find(p, n, "Code"));
    return 0;
}
