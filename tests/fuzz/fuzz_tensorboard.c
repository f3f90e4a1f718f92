/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_tensorboard.c - any bytes as an event file of TensorBoard: what comes out is whole and
 * counted. */
#include "import_fuzz.h"
#include "tfrecord_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    return fuzz_event_file(&importer_tensorboard, p, n);
}
