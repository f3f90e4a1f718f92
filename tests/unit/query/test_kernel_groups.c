/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of kernels, by names that real traces hold. */
#include "base/mem.h"
#include "query/trace.h"
#include "test.h"

static void check_group(const char *name, enum kernel_group want)
{
    const enum kernel_group got = kernel_group_of(name, CAT_KERNEL);
    if (got != want)
        test_fail(__FILE__, __LINE__, "%s is %s, not %s", name, kernel_group_names[got],
                  kernel_group_names[want]);
}

TEST(libraries_of_matrix_products_are_known_by_their_names)
{
    check_group("nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NTT", GROUP_MATMUL);
    check_group("ampere_sgemm_128x64_nn", GROUP_MATMUL);
    check_group(
        "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x6_tn_"
        "align8>(cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x6_tn_align8::"
        "Params)",
        GROUP_MATMUL);
    check_group("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_"
                "execute_segment_k_off_kernel__5x_cublas",
                GROUP_MATMUL);
    check_group("Cijk_Alik_Bljk_B_BS_BH_Bias_HA_S_SAV_UserArgs_MT16x16x128", GROUP_MATMUL);
    check_group("void splitKreduce_kernel<float, float, float, float, true, false, false>(int)",
                GROUP_MATMUL);
    check_group("triton_tem_fused_mm_3", GROUP_MATMUL);
    check_group("void fbgemm_gpu::permute_indices_weights_kernel<false, int, float>(int)",
                GROUP_COPY);
}

TEST(convolutions_and_attention_are_no_plain_matrix_products)
{
    check_group("void cutlass__5x_cudnn::Kernel<cutlass_tensorop_bf16_s16816fprop_optimized_bf16_"
                "256x64_32x4_nhwc_align8>(int)",
                GROUP_CONVOLUTION);
    check_group("volta_scudnn_128x64_relu_small_nn_v1", GROUP_CONVOLUTION);
    check_group("void implicit_convolve_sgemm<float, float, 1024>(kernel_conv_params)",
                GROUP_CONVOLUTION);
    check_group(
        "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, "
        "128, 128, 4, false, false, cutlass::bfloat16_t> >(pytorch_flash::Flash_fwd_params)",
        GROUP_ATTENTION);
    check_group("fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::Params)",
                GROUP_ATTENTION);
    check_group("cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_3",
                GROUP_ATTENTION);
    check_group("attn_fwd", GROUP_ATTENTION);
}

TEST(what_an_elementwise_kernel_does_decides_and_not_its_parameters)
{
    check_group("void at::native::vectorized_elementwise_kernel<4, "
                "at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3> >(int)",
                GROUP_ELEMENTWISE);
    check_group("void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda("
                "at::TensorIteratorBase&)::{lambda()#2}, std::array<char*, 2ul> >(int)",
                GROUP_COPY);
    check_group(
        "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm"
        "1EEEEviT0_T1_",
        GROUP_COPY);
    check_group("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::"
                "FusedOptimizerTensorListMetadata<4>, at::native::FusedAdamMathFunctor<float, 4> "
                ">(int)",
                GROUP_OPTIMIZER);
    check_group("void my_kernel<int>(gemm_params, memcpy_args)", GROUP_OTHER);
}

TEST(reductions_and_communication_are_told_apart)
{
    check_group("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                GROUP_COMMUNICATION);
    check_group("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float> >(int)",
                GROUP_REDUCTION);
    check_group("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, 512, true, 1>(int)",
                GROUP_REDUCTION);
    check_group("triton_per_fused_native_layer_norm_mm_0", GROUP_REDUCTION);
    check_group("triton_poi_fused_add_gather_1", GROUP_ELEMENTWISE);
    check_group("loop_add_fusion_3", GROUP_ELEMENTWISE);
    check_group("input_reduce_fusion", GROUP_REDUCTION);
    CHECK_INT(kernel_group_of("whatever", CAT_MEMCPY), GROUP_COPY);
    CHECK_INT(kernel_group_of("whatever", CAT_COMM), GROUP_COMMUNICATION);
}
