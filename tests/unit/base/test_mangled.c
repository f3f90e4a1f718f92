/* SPDX-License-Identifier: Apache-2.0 */
/* test_mangled.c - mangled names of C++, as compilers of kernels write them. */
#include <string.h>

#include "base/demangle.h"
#include "base/mem.h"
#include "test.h"

static const char *plain(const char *mangled, char to[4096])
{
    CHECK(name_demangle(mangled, to, 4096));
    return to;
}

TEST(names_have_their_scopes_and_template_arguments)
{
    static const char *const all[][2] = {
        {"_Z4copyPfS_i", "copy"},
        {"_ZN2at6native6kernelILi4EfEEvT0_", "at::native::kernel<4, float>"},
        {"_Z6reduceILj256ELb1ELb0EEvPKfPf", "reduce<256u, true, false>"},
        {"_ZN12_GLOBAL__N_13addEv", "(anonymous namespace)::add"},
        {"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_"
         "11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_"
         "T1_",
         "at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
         "std::array<char*, 1ul>>"},
        {"_Z1fIJidPKcEEvDpT_", "f<int, double, char const*>"},
        {"_Z1fIPFviEEvT_", "f<void (*)(int)>"},
        {"_Z1fIRA3_KcEvT_", "f<char const (&) [3]>"},
        {"_Z1fILn7EEvv", "f<(__int128)7>"},
        {"_Z1fILin7EEvv", "f<-7>"},
        {"_Z1fIXadL_Z1gvEEEvv", "f<&g>"},
        {"_ZZN1a1bEvENKUlvE_clEv", "a::b::{lambda#1}::operator()"},
        {"_Z1fIDF16_DF16bEvv", "f<_Float16, _Float16b>"},
    };
    char to[4096];
    for (size_t i = 0; i < COUNT_OF(all); i++)
        CHECK_STR(plain(all[i][0], to), all[i][1]);
}

TEST(what_was_written_can_be_referred_to)
{
    char to[4096];
    /* S0_ is at::native, S3_ the functor. */
    CHECK_STR(plain("_ZN2at6native1kINS0_1FIfEES3_EEvT_", to),
              "at::native::k<at::native::F<float>, at::native::F<float>>");
    CHECK_STR(plain("_Z1kISt6vectorIiSaIiEES2_EvT_", to),
              "k<std::vector<int, std::allocator<int>>, std::vector<int, std::allocator<int>>>");
}

TEST(short_names_of_mangled_and_plain_ones_are_the_same)
{
    char a[SHORT_NAME_LEN], b[SHORT_NAME_LEN];
    name_shorten(
        "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm"
        "1EEEEviT0_T1_",
        a, sizeof a);
    name_shorten(
        "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
        "std::array<char*, 1ul> >(int, at::native::FillFunctor<float>, "
        "std::array<char*, 1ul>)",
        b, sizeof b);
    CHECK_STR(a, b);
    CHECK_STR(a, "vectorized_elementwise_kernel<FillFunctor<float>>");
}

TEST(what_is_not_understood_is_not_decoded_but_still_shortened)
{
    char to[SHORT_NAME_LEN];
    CHECK(!name_demangle("_ZN2at6native6kernelIXsr3std1vEEEvv", to, sizeof to));
    CHECK_STR(to, "");
    name_shorten("_ZN2at6native6kernelIXsr3std1vEEEvv", to, sizeof to);
    CHECK_STR(to, "kernel");
    CHECK(!name_demangle("sgemm", to, sizeof to));
}

TEST(names_that_end_early_or_refer_to_nothing_are_refused)
{
    static const char *const bad[] = {
        "_Z",      "_ZN",      "_ZN2a", "_Z9ab",    "_Z1fI",         "_Z1fIP",  "_Z1fIS5_E",
        "_Z1fIiS", "_Z1fILi4", "_ZZ1f", "_Z1fIA3_", "_Z1fIMi",       "_Z1fIFv", "_Z0",
        "_Z1fIDv", "_ZN1aUlE", "_ZNE",  "_Z1fIJE",  "_Z99999999999a"};
    char to[256];
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        CHECK(!name_demangle(bad[i], to, sizeof to));
}

TEST(a_short_text_that_stands_for_an_endless_one_is_refused_at_once)
{
    /* Each argument holds the one before twice. */
    char name[4096] = "_Z1fI1aIiE", to[4096];
    size_t n = strlen(name);
    for (unsigned i = 0; i < 30; i++)
        n += (size_t)snprintf(name + n, sizeof name - n, "1bIS%c_S%c_E", "0123456789"[i % 10],
                              "0123456789"[i % 10]);
    snprintf(name + n, sizeof name - n, "Evv");
    if (name_demangle(name, to, sizeof to))
        CHECK(strlen(to) < sizeof to);
    memset(name, 'P', sizeof name - 1);
    memcpy(name, "_Z1fI", 5);
    name[sizeof name - 1] = '\0';
    CHECK(!name_demangle(name, to, sizeof to));
}
