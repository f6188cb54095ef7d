/* Which kernels communicate, by their names. */
#include "tests/unit.h"

#include "analysis/names/name_facts.h"

static void assert_says(const char *name, bool communicates)
{
    if (communication_is_kernel(name) != communicates)
        fail_msg("'%s' %s", name, communicates ? "does not communicate" : "communicates");
}

UNIT_TEST(kernels_of_libraries_that_communicate)
{
    static const char *const names[] = {
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWork*)",
        "void ncclSymDevKernel_AllGather<8>(ncclSymDevArgs)",
        "rcclGenericKernel",
        "ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>) [clone .kd]",
        "void mscclKernel_Sum_half_SimpleNoop<4>(int)",
        "oneccl_allreduce_tiny_bf16",
        "hcom_broadcast__123_0_1",
        "hcom_allReduce__123_0_1",
        "void nvshmemi_reduce_on_stream<int>(int, int)",
        "nvshmem::barrier_all_on_stream(int)",
        "void ep::internode::dispatch<false, 8, true, 8>(int4*, long)",
        "void deep_ep::internode::notify_dispatch<false, 4>(int const*, int*)",
        "void deep_ep::internode::cached_notify<false>(int)",
        "void deep_ep::intranode::combine<__nv_bfloat16, 8, 768, 4096>(__nv_bfloat16*)",
        "void deep_ep::internode_ll::combine<true, 7168, 9>(void*)",
        "void deep_ep::elastic::dispatch_impl<8>(int)",
        "deep_ep::intranode::barrier(int**, int)",
        "_ZN7deep_ep9internode8dispatchILb0ELi8EEEvP4int4l",
        "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*, unsigned long)",
        "void c10d::(anonymous namespace)::one_shot_all_reduce_kernel<float, 16, 8, false>(float**)",
        "two_shot_all_reduce_kernel_inplace",
        "multimem_one_shot_all_reduce_kernel",
        "multimem_all_gather_kernel",
        "one_shot_reduce_scatter_kernel",
        "c10d::symmetric_memory::barrier_kernel(unsigned int**)",
        "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*, vllm::RankSignals)",
        "void sglang::cross_device_reduce_2stage<half, 4>(sglang::RankData*)",
        "void quickreduce::allreduce_prototype_twoshot<1>(int)",
        "void tensorrt_llm::kernels::ar_fusion::allreduce_fusion_kernel_oneshot_lamport<2>(int)",
        "void flashinfer::trtllm_mnnvl_allreduce::oneshotAllreduceFusionKernel<8>(int)",
        "void tensorrt_llm::kernels::twoShotAllReduceKernel<float, 8>(int)",
        "MNNVLAllReduce",
        "void tensorrt_llm::kernels::moeA2ADispatchKernel<int>(int)",
        "mori::moe::EpCombineIntraNodeKernel",
        "void kuserbuffers_pushsendrecv(int)",
        "void mscclpp::allreduceAllPairs<int>(int)",
        "allToAllV(int)",
        "hcom_alltoallv__5",
        "void ncclx::AllGatherKernel<8>(int)",
        "void (anonymous namespace)::multimem_one_shot_reduce_kernel<c10::BFloat16>(c10::BFloat16*)",
        "exchangeSplitAndOffset",
        "void exchangeSplitAndOffset_2d<true>(int*)",
        "void barrier_on_stream_kernel_threadgroup<(threadgroup_t)2>(int)",
        "nvshmemi_transfer_rma_block",
        "MoeDistributeDispatch",
        "aclnnMoeDistributeCombine_MoeDistributeCombineV2_MoeDistributeCombineV2",
        "void mooncake::dispatch<7168>(int)",
        "void deep_ep::internode_ll::clean_low_latency_buffer<128>(int*)",
        "collective-permute.5",
        "collective-permute-start.1",
        "collective-broadcast",
        "ragged-all-to-all.2",
        "all-gather-start.3",
        "triton_one_shot_all_reduce_kernel",
        "void framework_all_reduce<8>(int)",
        "control_plane_all_gather",
        "blocked_all_to_all",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        assert_says(names[i], true);
}

UNIT_TEST(kernels_that_compute)
{
    static const char *const names[] = {
        "void combine_softmax<float>(float*)",
        "void flash::flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<128>, 8>(flash::Flash_fwd_params)",
        "moe_combine_kernel",
        "dispatch_kernel",
        "void deep_ep::layout::get_dispatch_layout<256, 4>(int)",
        "void internode_like::other_dispatch<1>(int)",
        "block_all_reduce_sum_f32_f4_kernel",
        "warpAllReduceSoftmax",
        "small_reduce_kernel",
        "triton_poi_fused_all_gather_into_tensor_wait_tensor_0",
        "triton_red_fused__to_copy_all_reduce_native_layer_norm_3",
        "triton_per_fused_nccl_0",
        "softmax_warp_all_reduce",
        "thread_group_all_reduce",
        "threadgroup_all_reduce",
        "subgroup_allreduce",
        "warpGroupAllReduceMax",
        "simdgroup_all_gather",
        "warp_level_all_gather",
        "blockWideAllToAll",
        "void softmax::warp::all_reduce<float>(float*)",
        "cg_all_reduce_local",
        "all_reduce_within_block_kernel",
        "allReduceWarp",
        "gemm_ncclless",
        "scatter_all_gathered_rows",
        "reduce_scattered_rows",
        "tokens_all_to_allowed",
        "smallGatherKernel",
        "h_compute",
        "multi_memory_copy",
        "sync_clear",
        "copy_user_buffers",
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<ncclFloat, all_reduce> >(allReduce)",
        "void at::native::_scatter_gather_elementwise_kernel<128, 8>(int)",
        "",
        "<<>>((",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        assert_says(names[i], false);
}

UNIT_TEST(a_name_of_any_length_is_read_up_to_its_bound)
{
    static char name[4096];
    memset(name, 'x', sizeof(name) - 1);
    assert_says(name, false);
    memcpy(name, "nccl", 4);
    assert_says(name, true);
}

UNIT_MAIN(NULL, NULL)
