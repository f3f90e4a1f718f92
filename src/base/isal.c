/* SPDX-License-Identifier: Apache-2.0 */
/* isal.c - see isal.h. */
#include "base/isal.h"

#include <dlfcn.h>

#include "base/cpu.h"

void *isal_open(void)
{
    return dlopen("libisal.so.2", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

#ifdef __x86_64__
__attribute__((target("avx"))) static void clean_registers(void)
{
    __builtin_ia32_vzeroupper();
}

void isal_leave(void)
{
    if (CPU_AVX)
        clean_registers();
}
#else
void isal_leave(void)
{
}
#endif
