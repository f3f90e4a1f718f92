/* SPDX-License-Identifier: Apache-2.0 */
/* Short names of kernels. */
#include "base/demangle.h"
#include "test.h"

static void check_short(const char *full, const char *want)
{
    char text[SHORT_NAME_LEN];
    CHECK_INT(name_shorten(full, text, sizeof text), strlen(text));
    CHECK_STR(text, want);
}

TEST(namespaces_return_type_and_parameters_go)
{
    check_short("cask_cudnn::computeOffsetsKernel(cask_cudnn::ComputeOffsetsParams)",
                "computeOffsetsKernel");
    check_short("void at::native::(anonymous namespace)::reduce(int, float const*)", "reduce");
    check_short("volta_scudnn_128x64_relu_medium_nn_v1", "volta_scudnn_128x64_relu_medium_nn_v1");
}

TEST(template_arguments_stay_two_levels_deep_without_their_namespaces)
{
    check_short("void at::native::fill<4, at::native::Functor<float, c10::Half> >(int)",
                "fill<4, Functor<float, Half>>");
    check_short("void a::f<a::G<a::H<int, a::I<long> > > >(int)", "f<G<H>>");
    check_short("void f<std::enable_if<true, int>::type, 3>(int)", "f<type, 3>");
    check_short("void f<(cudnn::Type)0, (anonymous namespace)::X>()", "f<(Type)0, X>");
}

TEST(arguments_that_are_too_long_go_level_by_level)
{
    const char *kernel = "void at::native::vectorized_elementwise_kernel<4, "
                         "at::native::BinaryFunctorWithAVeryLongNameIndeed<float, float, float, "
                         "at::native::binary_internal::MulFunctor<float> >, "
                         "at::detail::Array<char*, 2> >(int, at::detail::Array<char*, 2>)";
    check_short(kernel,
                "vectorized_elementwise_kernel<4, BinaryFunctorWithAVeryLongNameIndeed, Array>");
    check_short("void k<aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, "
                "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb>(int)",
                "k");
}

TEST(a_scope_that_is_a_function_goes_too)
{
    check_short("void f(int)::inner<3>::run<int>(float)", "run<int>");
}

TEST(names_that_are_no_cpp_stay_as_they_are)
{
    check_short("Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pageable -> Device)");
    check_short("triton_poi_fused_add_0", "triton_poi_fused_add_0");
    check_short("a > b", "a > b");
    check_short("f<int", "f<int");
    check_short("f)(", "f)(");
    check_short("ends::", "ends::");
    check_short("", "");
    check_short("()", "()");
}

TEST(a_mangled_name_is_decoded_or_becomes_its_last_part)
{
    check_short("_ZN2at6native29vectorized_elementwise_kernelILi4EEEviT0_T1_",
                "vectorized_elementwise_kernel<4>");
    check_short("_ZN2at6native29vectorized_elementwise_kernelIXsr1aEEEviT0_T1_",
                "vectorized_elementwise_kernel");
    check_short("_Z6kernelPfi", "kernel");
    check_short("_ZN2at99shortEv", "_ZN2at99shortEv");
    check_short("_Z", "_Z");
    check_short("_Z99999999999999999999x", "_Z99999999999999999999x");
}

TEST(what_is_too_long_is_cut_between_characters)
{
    char text[8];
    CHECK_INT(name_shorten("abcdefgh", text, sizeof text), 7);
    CHECK_STR(text, "abcd...");
    CHECK_INT(name_shorten("abcdefg", text, sizeof text), 7);
    CHECK_STR(text, "abcdefg");
    name_shorten("abc\xC3\xA4"
                 "fgh",
                 text, sizeof text);
    CHECK_STR(text, "abc...");
}

TEST(a_hundred_thousand_brackets_are_fine)
{
    const size_t n = 100000;
    char *deep = calloc(2 * n + 2, 1), text[SHORT_NAME_LEN];
    deep[0] = 'f';
    memset(deep + 1, '<', n);
    memset(deep + 1 + n, '>', n);
    name_shorten(deep, text, sizeof text);
    CHECK_STR(text, "f<<>>");
    deep[n + 5] = '\0';
    CHECK_INT(name_shorten(deep, text, sizeof text), SHORT_NAME_LEN - 1);
    free(deep);
}
