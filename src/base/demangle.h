/* SPDX-License-Identifier: Apache-2.0 */
/* demangle.h - names of C++ functions, short enough to read.
 *
 * Traces have kernels as their whole signature: return type, namespaces, template arguments of
 * template arguments, parameters. What distinguishes kernels for a reader is the last part of the
 * name and the outer template arguments. Of kernels that only apply a functor to every element
 * (demangle_carriers.def) it is the functor, or the function around a lambda:
 * "elementwise_kernel<CUDAFunctor_add<float>>", "elementwise_kernel<direct_copy_kernel_cuda>".
 * Mangled names (_ZN...) are decoded first; one that cannot be decoded is reduced to its last part
 * without arguments. What does not look like C++ is left as it is. Callers store the whole name
 * too: several kernels may share a short one. Decoding takes up to 1 MB of stack. */
#ifndef BASE_DEMANGLE_H
#define BASE_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

enum { SHORT_NAME_AIM = 96, SHORT_NAME_LEN = 128 };

/* The short name into to[room], room at least 8; one that is still too long ends with "...".
 * Returns its length. Template arguments stay two levels deep if that fits SHORT_NAME_AIM, else
 * one, else none. */
size_t name_shorten(const char *full, char *to, size_t room);

/* "CompiledFxGraph fbby3gtf" of the annotation that torch.compile puts around a graph. False: it is
 * not such a name, and `to` is unchanged. */
bool name_shorten_graph(const char *full, char *to, size_t room);

/* The name with its scopes and template arguments, without return type and parameters; names that
 * are not C++ as they are. What has no room ends with "...". */
void name_without_parameters(const char *full, char *to, size_t room);

#endif
