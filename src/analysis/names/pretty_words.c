/*
 * The tables of words, which are searched from the first row on.
 */
#include "analysis/names/pretty_words.h"

#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

static bool is(const char *word, size_t length, const char *known)
{
    return strlen(known) == length && memcmp(word, known, length) == 0;
}

static bool begins(const char *word, size_t length, const char *known)
{
    size_t size = strlen(known);
    return length >= size && memcmp(word, known, size) == 0;
}

static bool ends(const char *word, size_t length, const char *known)
{
    size_t size = strlen(known);
    return length >= size && memcmp(word + length - size, known, size) == 0;
}

bool pretty_is_library(const char *word, size_t length)
{
    static const char libraries[] =
        "at at_cuda_detail c10 c10d caffe2 torch std thrust cub cuda cutlass cutlass3x cute nvcuda cudnn "
        "cudnn_ops cask cask_cudnn cask_cudnn_v9 cask_plugin cublas cublasLt cufft curand cusparse cusolver "
        "flash pytorch_flash nccl apex fbgemm_gpu raft rmm Eigen tensorflow stream_executor xla jax "
        "__gnu_cxx libcudacxx internal transformer_engine gemm_kernel nvinfer1 _V2";
    for (const char *at = libraries; *at; at += strspn(at, " ")) {
        size_t size = strcspn(at, " ");
        if (size == length && memcmp(at, word, size) == 0)
            return true;
        at += size;
    }
    return false;
}

const struct pretty_word *pretty_find(const char *word, size_t length)
{
    static const struct pretty_word words[] = {
        /* PyTorch: wrappers of a functor */
        {"ReduceOp", PRETTY_UNWRAP, 1, false},
        {"func_wrapper_t", PRETTY_UNWRAP, 1, false},
        {"BinaryFunctor", PRETTY_UNWRAP, 3, false},
        {"gpu_kernel_impl_nocast", PRETTY_UNWRAP, 0, false},
        {"gpu_kernel_impl", PRETTY_UNWRAP, 0, false},
        {"gpu_index_kernel", PRETTY_UNWRAP, 0, false},
        {"launch_legacy_kernel", PRETTY_UNWRAP, 2, false},
        {"reduce_kernel", PRETTY_NO_NUMBERS, 0, false},
        {"multi_tensor_apply_kernel", PRETTY_OF_FUNCTORS, 0, true},
        /* how it reads and writes its tensors */
        {"array", PRETTY_LEAVE_OUT, 0, false},
        {"Array", PRETTY_LEAVE_OUT, 0, false},
        {"TrivialOffsetCalculator", PRETTY_LEAVE_OUT, 0, true},
        {"OffsetCalculator", PRETTY_LEAVE_OUT, 0, false},
        {"LoadWithoutCast", PRETTY_LEAVE_OUT, 0, false},
        {"StoreWithoutCast", PRETTY_LEAVE_OUT, 0, false},
        {"TensorListMetadata", PRETTY_LEAVE_OUT, 0, true},
        {"TensorListScalarListMetadata", PRETTY_LEAVE_OUT, 0, true},
        {"FusedOptimizerTensorListMetadata", PRETTY_LEAVE_OUT, 0, true},
        {"DistAccumType", PRETTY_LEAVE_OUT, 0, false},
        /* Thrust and CUB */
        {"_kernel_agent", PRETTY_UNWRAP, 0, false},
        {"normal_iterator", PRETTY_UNWRAP, 0, false},
        {"identity_decomposer_t", PRETTY_LEAVE_OUT, 0, false},
        {"use_default", PRETTY_LEAVE_OUT, 0, false},
        {"tag", PRETTY_LEAVE_OUT, 0, false},
        /* cutlass, cute and FlashAttention */
        {"Kernel", PRETTY_UNWRAP, 0, false},
        {"Kernel2", PRETTY_UNWRAP, 0, false},
        {"device_kernel", PRETTY_UNWRAP, 0, false},
        {"GemmShape", PRETTY_SHAPE, 0, false},
        {"MatrixShape", PRETTY_SHAPE, 0, false},
        {"TensorNHWCShape", PRETTY_SHAPE, 0, false},
        {"tuple", PRETTY_SHAPE, 0, false},
        {"C", PRETTY_UNWRAP, 0, false},
        {"integral_constant", PRETTY_UNWRAP, 1, false},
        {"Layout", PRETTY_LEAVE_OUT, 0, false},
        {"Copy_Atom", PRETTY_LEAVE_OUT, 0, false},
        {"ComposedLayout", PRETTY_LEAVE_OUT, 0, false},
        {"TiledMMA", PRETTY_LEAVE_OUT, 0, false},
        {"SM90_TMA_LOAD", PRETTY_LEAVE_OUT, 0, false},
        {"SM90_TMA_LOAD_MULTICAST", PRETTY_LEAVE_OUT, 0, false},
        {"PitchLinearShape", PRETTY_SHAPE, 0, false},
        {"identity", PRETTY_LEAVE_OUT, 0, false},
        {"Flash_kernel_traits", PRETTY_LEAVE_OUT, 0, true},
        {"Flash_fwd_kernel_traits", PRETTY_SPLICE, 0, true},
        {"Flash_bwd_kernel_traits", PRETTY_SPLICE, 0, true},
    };
    static const struct pretty_word left_out = {"", PRETTY_LEAVE_OUT, 0, true};
    for (size_t i = 0; i < COUNT(words); i++)
        if (is(word, length, words[i].word))
            return &words[i];
    bool of_cublas = begins(word, length, "cublas") && (length > strlen("cublasLt"));
    bool policy = begins(word, length, "Policy") || begins(word, length, "policy_") || ends(word, length, "Policy");
    return of_cublas || policy ? &left_out : NULL;
}

const char *pretty_other_word(const char *word, size_t length)
{
    static const char *const words[][2] = {
        {"Half", "half"},
        {"half_t", "half"},
        {"__half", "half"},
        {"BFloat16", "bf16"},
        {"bfloat16_t", "bf16"},
        {"__nv_bfloat16", "bf16"},
        {"Float8_e4m3fn", "fp8_e4m3"},
        {"Float8_e5m2", "fp8_e5m2"},
        {"float_e4m3_t", "fp8_e4m3"},
        {"float_e5m2_t", "fp8_e5m2"},
        {"__nv_fp8_e4m3", "fp8_e4m3"},
        {"__nv_fp8_e5m2", "fp8_e5m2"},
        {"tfloat32_t", "tf32"},
    };
    for (size_t i = 0; i < COUNT(words); i++)
        if (is(word, length, words[i][0]))
            return words[i][1];
    return NULL;
}

void pretty_strip(const char **word, size_t *length)
{
    static const char *const starts[] = {"CUDAFunctor_", "CUDAFunctor", "launch_"};
    static const char *const tails[] = {"_kernel_cuda_impl", "_kernel_cuda", "_cuda_kernel", "CUDAKernelImpl",
                                        "_kernel_impl",      "KernelImpl",   "_kernel",      "MathFunctor",
                                        "_functor",          "Functor",      "Ops"};
    for (size_t i = 0; i < COUNT(starts); i++)
        if (*length > strlen(starts[i]) && begins(*word, *length, starts[i])) {
            *word += strlen(starts[i]);
            *length -= strlen(starts[i]);
            break;
        }
    for (size_t i = 0; i < COUNT(tails); i++)
        if (*length > strlen(tails[i]) && ends(*word, *length, tails[i])) {
            bool keyword = is(*word, *length, "static_kernel");
            *length -= keyword ? 0 : strlen(tails[i]);
            break;
        }
}

size_t pretty_tail(const char *word, size_t length)
{
    static const char *const tails[] = {
        "_execute_kernel__5x_cublas", "_execute_kernel__5x_cudnn", "_execute_kernel_cudnn", "_execute_kernel_cublas",
        "_kernel__5x_cublas",         "_kernel__5x_cudnn",         "_execute_kernel_trt"};
    for (size_t i = 0; i < COUNT(tails); i++)
        if (length > strlen(tails[i]) && ends(word, length, tails[i]))
            return strlen(tails[i]);
    return 0;
}
