/* SPDX-License-Identifier: Apache-2.0 */
/* kineto_read_avx2.c - kineto_read.c, compiled for AVX2 where the processor may have it. */
#ifdef __AVX2__
#include "import/kineto_read.c" // NOLINT(bugprone-suspicious-include)
#endif
