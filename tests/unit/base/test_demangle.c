/* SPDX-License-Identifier: Apache-2.0 */
/* Short names of kernels. */
#include <string.h>

#include "base/demangle.h"
#include "base/mem.h"
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
    const char *kernel = "void at::native::vectorized_layer_norm_kernel<4, "
                         "at::native::BinaryFunctorWithAVeryLongNameIndeed<float, float, float, "
                         "at::native::binary_internal::MulFunctor<float> >, "
                         "at::detail::Array<char*, 2> >(int, at::detail::Array<char*, 2>)";
    check_short(kernel,
                "vectorized_layer_norm_kernel<4, BinaryFunctorWithAVeryLongNameIndeed, Array>");
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

/* ---- functors ---- */

TEST(kernels_that_apply_a_functor_are_named_by_it)
{
    check_short(
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
        "at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<float>, "
        "at::detail::Array<char*, 3>)",
        "vectorized_elementwise_kernel<CUDAFunctor_add<float>>");
    check_short(
        "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, "
        "float, float, at::native::binary_internal::MulFunctor<float> >, "
        "at::detail::Array<char*, 3> >(int)",
        "vectorized_elementwise_kernel<MulFunctor<float>>");
    check_short(
        "void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>, float, float, "
        "float, float, int>(int, int volatile*)",
        "multi_tensor_apply_kernel<AdamFunctor<float>>");
    check_short(
        "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
        "namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous "
        "namespace)::FusedAdamMathFunctor<float, 4, (at::native::ADAM_MODE)1, false>, float "
        "const*, double>(int)",
        "multi_tensor_apply_kernel<FusedAdamMathFunctor<float, 4, 1, false>>");
}

TEST(a_lambda_is_named_by_the_function_that_it_is_in)
{
    check_short(
        "void at::native::unrolled_elementwise_kernel<at::native::(anonymous "
        "namespace)::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() "
        "const::{lambda()#8}::operator()() const::{lambda(long)#1}, at::detail::Array<char*, 2>, "
        "TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithCast<1> >(int)",
        "unrolled_elementwise_kernel<direct_copy_kernel_cuda>");
    check_short(
        "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<at::native::"
        "tanh_backward_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() "
        "const::{lambda(float, float)#1}>(at::TensorIteratorBase&, int)::{lambda(int)#1}>(int)",
        "elementwise_kernel<tanh_backward_kernel_cuda>");
    check_short(
        "void at::native::reduce_kernel<128, 4, at::native::ReduceOp<float, "
        "at::native::func_wrapper_t<float, at::native::sum_functor<float, float, "
        "float>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, float, "
        "4> >(int)",
        "reduce_kernel<sum_functor<float, float, float>>");
}

TEST(a_mangled_kernel_is_named_by_its_functor_too)
{
    check_short(
        "_ZN2at6native27unrolled_elementwise_kernelINS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EELi4E"
        "23TrivialOffsetCalculatorILi2EjES7_ILi1EjENS0_6memory15LoadWithoutCastENSA_"
        "16StoreWithoutCastEEEviT_T0_T2_T3_T4_T5_",
        "unrolled_elementwise_kernel<CUDAFunctor_add<float>>");
    check_short(
        "_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_23direct_copy_kernel_cudaERNS_"
        "18TensorIteratorBaseEENKUlvE2_clEvENKUlvE5_clEvEUlfE_St5arrayIPcLm2EEEEviT0_T1_",
        "vectorized_elementwise_kernel<direct_copy_kernel_cuda>");
}

TEST(a_kernel_in_no_namespace_but_a_nameless_one_is_shortened)
{
    check_short("void (anonymous namespace)::softmax_warp_backward<float, 10, true>(float*, int)",
                "softmax_warp_backward<float, 10, true>");
}

TEST(a_compiled_graph_is_named_by_the_begin_of_its_hash)
{
    check_short("## Call CompiledFxGraph fbby3gtf3xvmrqz6opqcdgrkvtqgnyhiqhfbvwyqazytjgyylfce ##",
                "CompiledFxGraph fbby3gtf");
}

TEST(a_name_without_parameters_keeps_its_scopes_and_template_arguments)
{
    char text[256];
    name_without_parameters("void cudnn::cnn::wgrad_alg0_engine<float, 128>(int, gemm_params)",
                            text, sizeof text);
    CHECK_STR(text, "cudnn::cnn::wgrad_alg0_engine<float, 128>");
    name_without_parameters("_ZN2at6native6kernelILi4EfEEvT0_", text, sizeof text);
    CHECK_STR(text, "at::native::kernel<4, float>");
    name_without_parameters("ampere_sgemm_128x64_nn", text, sizeof text);
    CHECK_STR(text, "ampere_sgemm_128x64_nn");
}

/* ---- mangled names ---- */

static const char *plain(const char *mangled, char to[4096])
{
    name_without_parameters(mangled, to, 4096);
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
         "std::array<char*, 1ul> >"},
        {"_Z1fIJidPKcEEvDpT_", "f<int, double, char const*>"},
        {"_Z1fIPFviEEvT_", "f<void (*)(int)>"},
        {"_Z1fIRA3_KcEvT_", "f<char const (&) [3]>"},
        {"_Z1fILn7EEvv", "f<(__int128)7>"},
        {"_Z1fILin7EEvv", "f<-7>"},
        {"_Z1fIXadL_Z1gvEEEvv", "f<&(g())>"},
        {"_ZZN1a1bEvENKUlvE_clEv", "a::b()::{lambda()#1}::operator()"},
        {"_Z1fIDF16_EvT_", "f<_Float16>"},
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
              "at::native::k<at::native::F<float>, at::native::F<float> >");
    CHECK_STR(plain("_Z1kISt6vectorIiSaIiEES2_EvT_", to),
              "k<std::vector<int, std::allocator<int> >, std::vector<int, std::allocator<int> > >");
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

TEST(names_that_end_early_or_refer_to_nothing_stay_mangled)
{
    static const char *const bad[] = {
        "_Z",      "_ZN",      "_ZN2a", "_Z9ab",    "_Z1fI",         "_Z1fIP",  "_Z1fIS5_E",
        "_Z1fIiS", "_Z1fILi4", "_ZZ1f", "_Z1fIA3_", "_Z1fIMi",       "_Z1fIFv", "_Z0",
        "_Z1fIDv", "_ZN1aUlE", "_ZNE",  "_Z1fIJE",  "_Z99999999999a"};
    char to[4096];
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        CHECK_STR(plain(bad[i], to), bad[i]);
}

/* Each argument has the one before twice, so 40 of them expand to 2^40 names. */
TEST(a_short_name_that_expands_to_gigabytes_stays_mangled)
{
    char name[4096], to[4096];
    size_t n = (size_t)snprintf(name, sizeof name, "_Z1fI1aIiE");
    for (unsigned i = 0; i < 40; i++) {
        static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        const unsigned before = 2 * i + 1;
        char ref[3] = {digits[before / 36], digits[before % 36]};
        const char *s = before < 36 ? ref + 1 : ref;
        n += (size_t)snprintf(name + n, sizeof name - n, "1bIS%s_S%s_E", s, s);
    }
    snprintf(name + n, sizeof name - n, "Evv");
    CHECK_STR(plain(name, to), name);
    name_shorten(name, to, sizeof to);
    CHECK_STR(to, "f");
}

TEST(a_name_longer_than_the_cpp_library_accepts_is_decoded)
{
    char name[4096], to[4096];
    size_t n = (size_t)snprintf(name, sizeof name, "_ZN7cutlass13device_kernelINS_4GemmIJ");
    while (n < 2000)
        n += (size_t)snprintf(name + n, sizeof name - n, "Li64E");
    snprintf(name + n, sizeof name - n, "EEEEEvNT_6ParamsE");
    CHECK(strncmp(plain(name, to), "cutlass::device_kernel<cutlass::Gemm<64, 64, ", 45) == 0);
    name_shorten(name, to, sizeof to);
    CHECK_STR(to, "device_kernel<Gemm>");
}

TEST(names_that_would_need_megabytes_of_stack_stay_mangled)
{
    enum { TEXT = 6000 };
    char name[TEXT], to[TEXT];
    memset(name, 'P', sizeof name - 1);
    memcpy(name, "_Z1fI", 5);
    name[sizeof name - 1] = '\0';
    name_without_parameters(name, to, sizeof to);
    CHECK_STR(to, name);
    size_t n = (size_t)snprintf(name, sizeof name, "_Z1fIiE1aI");
    while (n < 4000)
        n += (size_t)snprintf(name + n, sizeof name - n, "RT_1aIiE");
    name_without_parameters(name, to, sizeof to);
    CHECK_STR(to, name);
}
