/*
 * Pairs brackets with a stack of open brackets, then reads identifiers, template arguments and qualifiers between them.
 * Tables of the words of libraries are searched from the first row on.
 */
#include "analysis/names/name_scan.h"

#include <string.h>

/* --- words --- */

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

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

/* Returns whether WORD is one of WORDS, which are separated by blanks. */
static bool is_one_of(const char *words, const char *word, size_t length)
{
    for (size_t size; *words; words += size + strspn(words + size, " ")) {
        size = strcspn(words, " ");
        if (size == length && memcmp(words, word, size) == 0)
            return true;
    }
    return false;
}

bool pretty_is_library(const char *word, size_t length)
{
    return is_one_of("at at_cuda_detail c10 c10d caffe2 torch std thrust cub cuda cutlass cutlass3x cute nvcuda cudnn "
                     "cudnn_ops cask cask_cudnn cask_cudnn_v9 cask_plugin cublas cublasLt cufft curand cusparse "
                     "cusolver flash pytorch_flash nccl apex fbgemm_gpu raft rmm Eigen tensorflow stream_executor xla "
                     "jax __gnu_cxx libcudacxx internal transformer_engine gemm_kernel nvinfer1 _V2",
                     word, length);
}

const struct pretty_word *pretty_find(const char *word, size_t length)
{
    static const struct pretty_word words[] = {
        /* wrappers of functors and of kernels, in PyTorch, Thrust and CUB, cutlass and cute */
        {"gpu_kernel_impl_nocast gpu_kernel_impl gpu_index_kernel _kernel_agent normal_iterator Kernel Kernel2 "
         "device_kernel C",
         PRETTY_UNWRAP, 0, false},
        {"ReduceOp func_wrapper_t integral_constant", PRETTY_UNWRAP, 1, false},
        {"launch_legacy_kernel", PRETTY_UNWRAP, 2, false},
        {"BinaryFunctor", PRETTY_UNWRAP, 3, false},
        {"reduce_kernel", PRETTY_NO_NUMBERS, 0, false},
        {"multi_tensor_apply_kernel", PRETTY_OF_FUNCTORS, 0, true},
        /* types for how a kernel reads and writes its tensors */
        {"array Array OffsetCalculator LoadWithoutCast StoreWithoutCast DistAccumType identity_decomposer_t "
         "use_default tag Layout Copy_Atom ComposedLayout TiledMMA SM90_TMA_LOAD SM90_TMA_LOAD_MULTICAST identity",
         PRETTY_LEAVE_OUT, 0, false},
        {"TrivialOffsetCalculator TensorListMetadata TensorListScalarListMetadata FusedOptimizerTensorListMetadata "
         "Flash_kernel_traits",
         PRETTY_LEAVE_OUT, 0, true},
        {"GemmShape MatrixShape TensorNHWCShape tuple PitchLinearShape", PRETTY_SHAPE, 0, false},
        {"Flash_fwd_kernel_traits Flash_bwd_kernel_traits", PRETTY_SPLICE, 0, true},
    };
    static const struct pretty_word left_out = {"", PRETTY_LEAVE_OUT, 0, true};
    for (size_t i = 0; i < COUNT(words); i++)
        if (is_one_of(words[i].words, word, length))
            return &words[i];
    bool of_cublas = begins(word, length, "cublas") && (length > strlen("cublasLt"));
    bool policy = begins(word, length, "Policy") || begins(word, length, "policy_") || ends(word, length, "Policy");
    return of_cublas || policy ? &left_out : NULL;
}

const char *pretty_other_word(const char *word, size_t length)
{
    static const char *const words[][2] = {
        {"half", "Half half_t __half"},
        {"bf16", "BFloat16 bfloat16_t __nv_bfloat16"},
        {"fp8_e4m3", "Float8_e4m3fn float_e4m3_t __nv_fp8_e4m3"},
        {"fp8_e5m2", "Float8_e5m2 float_e5m2_t __nv_fp8_e5m2"},
        {"tf32", "tfloat32_t"},
    };
    for (size_t i = 0; i < COUNT(words); i++)
        if (is_one_of(words[i][1], word, length))
            return words[i][0];
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
            bool keyword = is_one_of("static_kernel", *word, *length);
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

/* --- spans --- */

#define BRACKETS_MAX 256 /* limit of nested brackets */

bool scan_is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || c == '$' || c < 0;
}

size_t scan_span_length(struct span span)
{
    return span.end - span.at;
}

bool scan_starts(const struct name_scan *scan, size_t at, size_t end, const char *text)
{
    size_t size = strlen(text);
    return end - at >= size && memcmp(scan->name + at, text, size) == 0;
}

bool scan_span_is(const struct name_scan *scan, struct span span, const char *text)
{
    return scan_span_length(span) == strlen(text) && scan_starts(scan, span.at, span.end, text);
}

/* --- brackets --- */

size_t scan_operator_size(const struct name_scan *scan, size_t at)
{
    static const char *const symbols[] = {"()", "[]", "<=>", "<<=", ">>=", "->*", "<<",
                                          ">>", "<=", ">=",  "->",  "<",   ">"};
    size_t size = strlen("operator");
    if (!scan_starts(scan, at, scan->length, "operator") || (at > 0 && scan_is_word(scan->name[at - 1])))
        return 0;
    for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++)
        if (scan_starts(scan, at + size, scan->length, symbols[i]))
            return size + strlen(symbols[i]);
    return at + size < scan->length && scan_is_word(scan->name[at + size]) ? 0 : size;
}

/* Returns the bracket that closes OPEN, or '\0' if OPEN is not an opening bracket. */
static char closer_of(char open)
{
    switch (open) {
    case '(': return ')';
    case '[': return ']';
    case '{': return '}';
    case '<': return '>';
    default: return '\0';
    }
}

bool scan_pair_brackets(struct name_scan *scan)
{
    uint32_t open[BRACKETS_MAX];
    size_t depth = 0;
    for (size_t at = 0; at < scan->length; at++) {
        char c = scan->name[at];
        size_t operator= c == 'o' ? scan_operator_size(scan, at) : 0;
        if (operator) {
            at += operator- 1;
        } else if (closer_of(c)) {
            if (depth == BRACKETS_MAX)
                return false;
            open[depth++] = (uint32_t)at;
        } else if (c == '>') {
            if (depth > 0 && scan->name[open[depth - 1]] == '<' && scan->name[at - 1] != '-')
                scan->partner[open[--depth]] = (uint32_t)at;
        } else if (c == ')' || c == ']' || c == '}') {
            while (depth > 0 && scan->name[open[depth - 1]] == '<')
                depth--;
            if (depth == 0 || closer_of(scan->name[open[depth - 1]]) != c)
                return false;
            scan->partner[open[--depth]] = (uint32_t)at;
        }
    }
    return depth == 0;
}

size_t scan_step(const struct name_scan *scan, size_t at)
{
    return (scan->partner[at] ? scan->partner[at] : at) + 1;
}

struct span scan_trim(const struct name_scan *scan, struct span span)
{
    while (span.at < span.end && scan->name[span.at] == ' ')
        span.at++;
    while (span.end > span.at && scan->name[span.end - 1] == ' ')
        span.end--;
    return span;
}

struct span scan_inside(struct span brackets)
{
    return (struct span){brackets.at + 1, brackets.end - 1};
}

bool scan_next_argument(const struct name_scan *scan, struct span *list, struct span *argument)
{
    if (list->at >= list->end)
        return false;
    size_t at = list->at;
    while (at < list->end && scan->name[at] != ',')
        at = scan_step(scan, at);
    at = at < list->end ? at : list->end;
    *argument = scan_trim(scan, (struct span){list->at, at});
    list->at = at + 1;
    return true;
}

/* --- components --- */

size_t scan_skip_qualifiers(const struct name_scan *scan, size_t at, size_t end)
{
    static const char *const qualifiers[] = {" const", " volatile", " &&", " &", " noexcept"};
    for (size_t i = 0; i < sizeof(qualifiers) / sizeof(*qualifiers); i++)
        if (scan_starts(scan, at, end, qualifiers[i]))
            return scan_skip_qualifiers(scan, at + strlen(qualifiers[i]), end);
    return at;
}

size_t scan_unnamed_size(const struct name_scan *scan, size_t at, size_t end)
{
    static const char *const words[] = {"(anonymous namespace)", "<unnamed>", "{anonymous}"};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (scan_starts(scan, at, end, words[i]))
            return strlen(words[i]);
    return 0;
}

static size_t read_component(const struct name_scan *scan, size_t at, size_t end, struct component *component)
{
    size_t unnamed = scan_unnamed_size(scan, at, end);
    *component = (struct component){.word = {at, at}, .unnamed = unnamed > 0};
    if (unnamed > 0)
        return at + unnamed;
    if (scan->name[at] == '{' && scan->partner[at]) {
        component->brace = true;
        at = component->word.end = scan_step(scan, at);
    }
    size_t operator= scan_operator_size(scan, at);
    if (operator)
        at += operator;
    while (at < end && (scan_is_word(scan->name[at]) || scan->name[at] == '~'))
        at++;
    component->word.end = at;
    component->unnamed = scan_starts(scan, component->word.at, at, "_GLOBAL__N_") ||
                         scan_starts(scan, component->word.at, at, "_INTERNAL_");
    while (at < end && scan->partner[at]) {
        struct span brackets = {at, scan_step(scan, at)};
        if (scan->name[at] == '<')
            component->angle = brackets;
        else if (scan->name[at] == '(')
            component->round = brackets;
        at = brackets.end;
    }
    /* Qualifiers within a chain, as in "operator()() const::{lambda()#1}". */
    size_t behind = scan_skip_qualifiers(scan, at, end);
    return scan_starts(scan, behind, end, "::") ? behind : at;
}

size_t scan_read_chain(const struct name_scan *scan, struct span span, struct component *chain, size_t *end)
{
    size_t count = 0, at = span.at;
    for (;;) {
        if (count == COMPONENTS_MAX)
            return 0;
        size_t next = at < span.end ? read_component(scan, at, span.end, &chain[count++]) : at;
        if (next == at)
            return 0;
        at = next;
        if (!scan_starts(scan, at, span.end, "::"))
            break;
        at += strlen("::");
    }
    *end = at;
    return count;
}

bool scan_is_of_library(const struct name_scan *scan, const struct component *chain, size_t count)
{
    size_t first = 0;
    while (first < count && chain[first].unnamed)
        first++;
    return first < count && count > 1 &&
           pretty_is_library(scan->name + chain[first].word.at, scan_span_length(chain[first].word));
}
