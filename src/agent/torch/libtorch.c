/*
 * Finds libtorch_cpu.so and its functions in the process, and finds out by comparison with the first operators where
 * this version keeps the fields of an operator's record. If no layout fits, the fields are not read.
 */
#include "agent/torch/libtorch.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "agent/dispatch/registry.h"
#include "agent/spool/recorder.h"
#include "common/machine.h"
#include "common/memory.h"
#include "common/settings.h"

#define LIBRARY "libtorch_cpu.so"

/* A function that exists since PyTorch 1.12: callbacks of earlier versions do not reach threads that run already. */
#define NEEDED "_ZN2at14RecordFunctionC1EONS_13StepCallbacksE"

_Static_assert(sizeof(struct torch_callback) == 40, "as PyTorch has it");

#define SIZES "_ZN5torch8profiler4impl10inputSizesERKN2at14RecordFunctionEb"
#define TYPES "_ZN5torch8profiler4impl10inputTypesERKN2at14RecordFunctionE"
#define TYPES_SHORT_STRINGS "_ZN5torch8profiler4impl10inputTypesB5cxx11ERKN2at14RecordFunctionE"
#define DELETE "_ZdlPv"
#define TENSOR_LIST "_ZNK3c106IValue12isTensorListEv"
#define BOOL_LIST "_ZNK3c106IValue10isBoolListEv"
#define CONCRETE_INPUTS "_ZN5torch8profiler4impl34get_record_concrete_inputs_enabledEv"
/* The beginning of variantShapesToStr()'s name, and its parameters. The mark of C++11 strings may stand between them.
 */
#define LIST_SIZES "_ZN5torch8profiler4impl18variantShapesToStr"
#define LIST_SIZES_OF "ERKSt6vectorISt7variantIJS2_IlSaIlEES2_IS5_SaIS5_EEEESaIS8_EE"

static void resolve_inputs(struct torch_library *library, void *handle)
{
    void *types = dlsym(handle, TYPES_SHORT_STRINGS), *delete = dlsym(RTLD_DEFAULT, DELETE);
    library->short_strings = types != NULL;
    library->input_types = (__typeof__(library->input_types))(types ? types : dlsym(handle, TYPES));
    library->input_sizes = (__typeof__(library->input_sizes))dlsym(handle, SIZES);
    library->delete = (__typeof__(library->delete))(delete ? delete : dlsym(handle, DELETE));
    if (!library->input_types || !library->delete)
        library->input_sizes = NULL;
    library->is_tensor_list = (__typeof__(library->is_tensor_list))dlsym(handle, TENSOR_LIST);
    library->is_bool_list = (__typeof__(library->is_bool_list))dlsym(handle, BOOL_LIST);
    library->concrete_inputs = (__typeof__(library->concrete_inputs))dlsym(handle, CONCRETE_INPUTS);
    library->shows_list_sizes =
        dlsym(handle, LIST_SIZES "B5cxx11" LIST_SIZES_OF) || dlsym(handle, LIST_SIZES LIST_SIZES_OF);
    if (!library->is_bool_list)
        library->is_tensor_list = NULL;
}

static const char *missing_of(struct torch_library *library, void *handle)
{
    const char *missing = dlsym(handle, NEEDED) ? NULL : NEEDED;
#define FUNCTION(function, type, symbol)                                      \
    library->function = (__typeof__(library->function))dlsym(handle, symbol); \
    if (!library->function)                                                   \
        missing = symbol;
    TORCH_FUNCTIONS(FUNCTION)
#undef FUNCTION
    return missing;
}

void *torch_library_open(char path[PATH_MAX])
{
    char found[PATH_MAX];
    if (!library_is_loaded(LIBRARY, found))
        return NULL;
    if (path)
        strcpy(path, found);
    return dlopen(found, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

int torch_library_find(struct torch_library *library, char *why, unsigned size)
{
    char path[PATH_MAX];
    void *handle = torch_library_open(path);
    if (!handle)
        return 0;
    *library = (struct torch_library){0};
    if (MACHINE == EM_NONE) {
        snprintf(why, size, "their callbacks are known on x86-64 and aarch64 alone");
        return -1;
    }
    const char *missing = missing_of(library, handle);
    if (missing)
        snprintf(why, size, "'%s' has no %s: PyTorch 1.12 or newer is needed", path, missing);
    else
        resolve_inputs(library, handle);
    return missing ? -1 : 1;
}

/* --- an operator's record --- */

/*
 * The layout of at::RecordFunction, with the members in order:
 *
 *        0  the virtual function table
 *        8  StepCallbacks: callbacks, 80 bytes; the thread's number; the scope
 *      104  whether start callbacks were called
 *      112  ObserverContextList, 48 bytes
 *      160  the operator: std::variant<std::string, std::reference_wrapper<FunctionSchema>>
 *           the sequence number
 *           inputs: pointer and count
 *           inputs with keywords: std::unordered_map, 56 bytes, since PyTorch 2.0
 *           outputs: std::vector, 24 bytes
 *           the thread of the forward pass
 */
#define THREAD 88
#define SCOPE 96
#define WHAT 160

struct layout {
    unsigned variant;                              /* offset of the variant's index: 0 string, 1 reference */
    unsigned sequence, keywords, outputs, forward; /* offsets; keywords is 0 before PyTorch 2.0 */
};

static const struct layout layouts[] = {
    {.variant = 192, .sequence = 200, .keywords = 224, .outputs = 280, .forward = 304},
    {.variant = 192, .sequence = 200, .outputs = 224, .forward = 248},
    /* a std::string is a pointer in PyTorch's own packages up to 2.5 */
    {.variant = 168, .sequence = 176, .keywords = 200, .outputs = 256, .forward = 280},
    {.variant = 168, .sequence = 176, .outputs = 200, .forward = 224},
};
#define LAYOUTS (sizeof(layouts) / sizeof(*layouts))

/* The load factor's offset in GCC's std::unordered_map: bucket array, its length, first node, count, load factor, next
 * size, a single bucket. */
#define KEYWORDS_LOAD_FACTOR 32

#define SEQUENCE_MOST ((int64_t)1 << 40)
#define THREADS_MOST ((uint64_t)1 << 24)

/* Number of operators that must fit a layout before it is trusted. */
#define TRIALS 256

static struct {
    const struct layout *layout; /* NULL if no layout was chosen */
    uint32_t trials;             /* number of operators that fitted */
    bool refused;                /* no layout fits; nothing is read any more */
    bool reported;
} chosen;

static bool keywords_fit(const struct torch_function *function, unsigned at)
{
    float load_factor;
    uint64_t buckets = torch_word_at(function, at), count = torch_word_at(function, at + 8);
    memcpy(&load_factor, (const char *)function + at + KEYWORDS_LOAD_FACTOR, sizeof(load_factor));
    return buckets != 0 && count > 0 && count < UINT32_MAX && !(load_factor < 1 || load_factor > 1);
}

/* Whether the record fits the layout. Each member is read only if those before it fit, because the record may be
 * shorter than in other versions. */
static bool fits(const struct layout *layout, const struct torch_function *function, enum torch_scope scope,
                 const char *name)
{
    uint8_t variant = *((const uint8_t *)function + layout->variant);
    if (variant != 1 && (variant != 0 || torch_word_at(function, WHAT) != (uint64_t)(uintptr_t)name))
        return false;
    int64_t sequence = (int64_t)torch_word_at(function, layout->sequence);
    if (sequence < -1 || sequence >= SEQUENCE_MOST || (layout->keywords && !keywords_fit(function, layout->keywords)))
        return false;
    for (unsigned i = 0; i < 3; i++) /* an operator has no outputs when it starts */
        if (torch_word_at(function, layout->outputs + i * 8) != 0)
            return false;
    uint64_t forward = torch_word_at(function, layout->forward);
    return forward == 0 || (scope == TORCH_SCOPE_BACKWARD && forward < THREADS_MOST);
}

static bool refuse(struct torch_library *library)
{
    __atomic_store_n(&chosen.refused, true, __ATOMIC_SEQ_CST);
    __atomic_store_n(&library->sequence_at, 0, __ATOMIC_SEQ_CST);
    return false;
}

static bool is_passed(struct torch_library *library, const struct torch_function *function, enum torch_scope scope,
                      const char *name)
{
    const struct layout *layout = __atomic_load_n(&chosen.layout, __ATOMIC_RELAXED), *none = NULL;
    uint8_t its = *((const uint8_t *)function + SCOPE);
    bool scope_fits = scope != TORCH_SCOPE_FUNCTION
                          ? its == scope
                          : its < TORCH_SCOPE_COUNT && its != TORCH_SCOPE_BACKWARD && its != TORCH_SCOPE_USER;
    if (torch_word_at(function, THREAD) != library->current_thread() || !scope_fits)
        return refuse(library);
    if (!layout) {
        for (size_t i = 0; i < LAYOUTS && !layout; i++)
            layout = fits(&layouts[i], function, scope, name) ? &layouts[i] : NULL;
        if (!layout)
            return refuse(library);
        __atomic_compare_exchange_n(&chosen.layout, &none, layout, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
        layout = none ? none : layout;
    }
    return fits(layout, function, scope, name) || refuse(library);
}

bool torch_layout_try(struct torch_library *library, const struct torch_function *function, enum torch_scope scope,
                      const char *name, struct torch_details *details)
{
    if (__atomic_load_n(&chosen.refused, __ATOMIC_RELAXED) || !is_passed(library, function, scope, name))
        return false;
    const struct layout *layout = __atomic_load_n(&chosen.layout, __ATOMIC_RELAXED);
    details->sequence = (int64_t)torch_word_at(function, layout->sequence);
    details->forward_in = torch_word_at(function, layout->forward);
    if (__atomic_add_fetch(&chosen.trials, 1, __ATOMIC_RELAXED) != TRIALS)
        return true;
    library->forward_at = layout->forward;
    __atomic_store_n(&library->sequence_at, layout->sequence, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&chosen.refused, __ATOMIC_SEQ_CST)) /* another thread refused the layout meanwhile */
        refuse(library);
    return true;
}

/* The pointer to the inputs and their count follow the sequence number. */
const char *torch_layout_inputs(const struct torch_function *function, uint64_t *count)
{
    const struct layout *layout = __atomic_load_n(&chosen.layout, __ATOMIC_RELAXED);
    if (!layout || __atomic_load_n(&chosen.refused, __ATOMIC_RELAXED))
        return NULL;
    *count = torch_word_at(function, layout->sequence + 16);
    return (const char *)(uintptr_t)torch_word_at(function, layout->sequence + 8);
}

void torch_layout_report_refusal(void)
{
    if (__atomic_load_n(&chosen.refused, __ATOMIC_RELAXED) &&
        !__atomic_exchange_n(&chosen.reported, true, __ATOMIC_RELAXED))
        recorder_note(
            SPOOL_NOTE_WARNING,
            "PyTorch's operators are recorded without sequence numbers: this version's records are not known");
}

/* --- torch.profiler in the program --- */

/* torch::profiler::impl::profilerEnabled(), since PyTorch 1.11 */
#define ENABLED "_ZN5torch8profiler4impl15profilerEnabledEv"

typedef bool enabled_fn(void);

static struct {
    enabled_fn *enabled; /* NULL if PyTorch is not loaded, or does not have the function */
    uint64_t libraries;  /* counter of loaded libraries at the last search */
    uint32_t noticed;    /* fork generation of the process in which the profiler was noticed; 0: none */
} profiler;

void torch_profiler_find(void)
{
    uint64_t libraries = library_changes();
    if (__atomic_load_n(&profiler.enabled, __ATOMIC_RELAXED) ||
        __atomic_exchange_n(&profiler.libraries, libraries, __ATOMIC_RELAXED) == libraries)
        return;
    void *handle = torch_library_open(NULL);
    if (handle)
        __atomic_store_n(&profiler.enabled, (enabled_fn *)dlsym(handle, ENABLED), __ATOMIC_RELAXED);
}

void torch_profiler_ask(void)
{
    enabled_fn *enabled = __atomic_load_n(&profiler.enabled, __ATOMIC_RELAXED);
    uint32_t process = fork_generation();
    if (!enabled || process == 0 || __atomic_load_n(&profiler.noticed, __ATOMIC_RELAXED) == process || !enabled())
        return;
    if (__atomic_exchange_n(&profiler.noticed, process, __ATOMIC_RELAXED) != process)
        recorder_note(SPOOL_NOTE_WARNING,
                      "torch.profiler ran in this process, too: CUPTI serves one profiler, so one of "
                      "the two traces lacks CUDA activity");
}

static void waited(void *data, const struct gputrace_device_synchronization *wait)
{
    (void)data, (void)wait;
    torch_profiler_find();
    torch_profiler_ask();
}

int torch_profiler_init(uint64_t trace_bits)
{
    return (trace_bits & TRACE_SYNC) ? registry_device_synchronization_register(waited, NULL) : 0;
}
