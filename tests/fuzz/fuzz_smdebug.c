/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_smdebug.c - any bytes as an event file of smdebug: what comes out is whole and counted.
 * Checksums of lengths are made right, or nothing behind the first would ever be read. */
#include "import_fuzz.h"
#include "tfrecord_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    return fuzz_event_file(&importer_smdebug, p, n);
}
