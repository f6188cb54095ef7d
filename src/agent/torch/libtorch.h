/*
 * What libtorch_cpu.so offers to observers of its operators: at::RecordFunction, whose callbacks run at the start and
 * at the end of each operator.
 *
 * Its functions are exported by name, and their arguments are the same from PyTorch 1.12 on. Where an operator's record
 * has its fields differs by version and by the form of std::string, so that is found out while the program runs.
 */
#ifndef GPUTRACE_AGENT_TORCH_LIBTORCH_H
#define GPUTRACE_AGENT_TORCH_LIBTORCH_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* at::RecordFunction, of which only a pointer is known. */
struct torch_function;

/* at::RecordScope: what kind of an operator it is. */
enum torch_scope {
    TORCH_SCOPE_FUNCTION = 0,
    TORCH_SCOPE_BACKWARD = 1,
    TORCH_SCOPE_USER = 7,
    TORCH_SCOPE_COUNT = 10,
};

/* A start callback returns a std::unique_ptr: the caller passes where it is to be, and gets that back. */
typedef void **torch_start_fn(void **observer, const struct torch_function *function);
typedef void torch_end_fn(const struct torch_function *function, void *observer);

/* at::RecordFunctionCallback, which is passed by value. */
struct torch_callback {
    torch_start_fn *start;
    torch_end_fn *end;
    double sampling_probability;
    bool scopes[TORCH_SCOPE_COUNT];
    bool needs_inputs, needs_outputs, needs_ids;
};

/* A std::vector<T>. */
struct torch_vector {
    char *begin, *end, *space_end;
};

/*      name, type, mangled name; the last alone may be missing */
#define TORCH_FUNCTIONS(X)                                                                                         \
    X(name, const char *(*)(const struct torch_function *), "_ZNK2at14RecordFunction4nameEv")                      \
    X(add_callback, uint64_t (*)(struct torch_callback), "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE") \
    X(current_thread, uint64_t (*)(void), "_ZN2at14RecordFunction15currentThreadIdEv")

/* What every operator needs comes first. */
struct torch_library {
    /* Where an operator's record has its sequence number and the thread of its forward pass: once a layout is trusted.
     * 0: it is not, or not yet. */
    uint32_t sequence_at, forward_at;
#define FUNCTION(name, type, symbol) __typeof__(type) name;
    TORCH_FUNCTIONS(FUNCTION)
#undef FUNCTION
    /* The dimensions of an operator's inputs, as vectors of int64_t, and their types, as std::string. NULL: it lacks
     * one of these. */
    struct torch_vector *(*input_sizes)(struct torch_vector *result, const struct torch_function *function,
                                        bool flatten_lists);
    struct torch_vector *(*input_types)(struct torch_vector *result, const struct torch_function *function);
    void (*delete)(void *memory);
    bool short_strings; /* a std::string is 32 bytes, as C++11 wants it; else a pointer */
    /* What an at::IValue is a list of; NULL: the library lacks one of these. */
    bool (*is_tensor_list)(const void *value);
    bool (*is_bool_list)(const void *value);
    bool (*concrete_inputs)(void); /* whether its profiler records numbers; NULL, before 2.1: it cannot */
    bool shows_list_sizes;         /* its profiler shows the dimensions of tensors in lists: since 2.2 */
};

/* A handle of the library, for dlsym(), where it is loaded, else NULL; PATH, if not NULL, is set to its file. It stays
 * loaded as long as the process, with our callbacks. Waits for another thread that is loading it. */
void *torch_library_open(char path[PATH_MAX]);

/* Finds the library in the process, where it is loaded. Returns 1, 0: it is not, or -1: it is not usable, and WHY (SIZE
 * bytes) says so. Takes the dynamic loader's lock. */
int torch_library_find(struct torch_library *library, char *why, unsigned size);

/*
 * Where an operator's record has its fields. A layout is trusted while the first operators agree with it, each in all
 * that is known of it in other ways.
 */

/* What is read of an operator's record. */
struct torch_details {
    int64_t sequence;    /* -1: none */
    uint64_t forward_in; /* of the backward pass: PyTorch's number of the thread of the forward pass, else 0 */
};

/* What torch_layout_read() does as long as no layout is trusted. */
bool torch_layout_try(struct torch_library *library, const struct torch_function *function, enum torch_scope scope,
                      const char *name, struct torch_details *details) __attribute__((cold));

/* The 8 bytes of an operator's record from AT on. */
static inline uint64_t torch_word_at(const struct torch_function *function, uint32_t at)
{
    uint64_t word;
    memcpy(&word, (const char *)function + at, sizeof(word));
    return word;
}

/* Reads the details of FUNCTION, which just began on this thread, in SCOPE (of TORCH_SCOPE_FUNCTION: any other than the
 * two others). False: they cannot be read, with any layout. */
static inline bool torch_layout_read(struct torch_library *library, const struct torch_function *function,
                                     enum torch_scope scope, const char *name, struct torch_details *details)
{
    uint32_t sequence_at = __atomic_load_n(&library->sequence_at, __ATOMIC_ACQUIRE);
    if (sequence_at == 0)
        return torch_layout_try(library, function, scope, name, details);
    details->sequence = (int64_t)torch_word_at(function, sequence_at);
    details->forward_in = scope == TORCH_SCOPE_BACKWARD ? torch_word_at(function, library->forward_at) : 0;
    return true;
}

/* The inputs of FUNCTION, as an array of *COUNT at::IValue's; NULL: where they are is not known. After
 * torch_layout_read(). */
const char *torch_layout_inputs(const struct torch_function *function, uint64_t *count);

/* Tells the user, once, if details were refused. */
void torch_layout_report_refusal(void) __attribute__((cold));

/* --- torch.profiler in the program --- */

/*
 * A note says that torch.profiler runs in the program, beside gputrace, once for a process. CUPTI serves one profiler,
 * so one of the two has no CUDA activity.
 *
 * PyTorch says whether its profiler runs on a thread. It is asked where a thread has waited for its device, which
 * torch.profiler does before it ends if it records CUDA, and at some of PyTorch's operators, where these are recorded.
 */

/* Listens to waits as TRACE_BITS say. Returns 0, or -1 with errno set. Once for a process and its forks. */
int torch_profiler_init(uint64_t trace_bits);

/* Finds PyTorch's profiler, when libraries came since the last call. Takes the dynamic loader's lock. */
void torch_profiler_find(void);

/* Asks PyTorch whether its profiler runs on this thread, as long as none was noticed; some nanoseconds. */
void torch_profiler_ask(void);

#endif
