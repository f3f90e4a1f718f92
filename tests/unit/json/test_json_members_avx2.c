/* SPDX-License-Identifier: Apache-2.0 */
/* test_json_members_avx2.c - the tests of json_members once more, compiled for AVX2. */
#include "test_json_members.c"
