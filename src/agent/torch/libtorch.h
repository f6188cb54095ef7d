/*
 * libtorch_cpu.so's interface for observers of operators: at::RecordFunction, whose callbacks run at the start and at
 * the end of each operator.
 *
 * The functions are exported by name, and their arguments are the same from PyTorch 1.12 on. The offsets of fields in
 * an operator's record differ by version and by the form of std::string, so they are found out while the program runs.
 */
#ifndef GPUTRACE_AGENT_TORCH_LIBTORCH_H
#define GPUTRACE_AGENT_TORCH_LIBTORCH_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* at::RecordFunction, used only by pointer. */
struct torch_function;

/* at::RecordScope, the kind of an operator. */
enum torch_scope {
    TORCH_SCOPE_FUNCTION = 0,
    TORCH_SCOPE_BACKWARD = 1,
    TORCH_SCOPE_USER = 7,
    TORCH_SCOPE_COUNT = 10,
};

/* A start callback returns a std::unique_ptr: the caller passes the memory for it, and expects that address back. On
 * aarch64 the memory is not among the arguments, which operators.c puts right. */
typedef void **torch_start_fn(void **observer, const struct torch_function *function);
typedef void torch_end_fn(const struct torch_function *function, void *observer);

/* at::RecordFunctionCallback, passed by value. */
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

/* Columns: name, type, mangled name. Only the last function may be missing. */
#define TORCH_FUNCTIONS(X)                                                                                         \
    X(name, const char *(*)(const struct torch_function *), "_ZNK2at14RecordFunction4nameEv")                      \
    X(add_callback, uint64_t (*)(struct torch_callback), "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE") \
    X(current_thread, uint64_t (*)(void), "_ZN2at14RecordFunction15currentThreadIdEv")

/* Members that every operator needs come first. */
struct torch_library {
    /* Offsets of the sequence number and of the forward pass's thread in an operator's record, set once a layout is
     * trusted. 0 before that. */
    uint32_t sequence_at, forward_at;
#define FUNCTION(name, type, symbol) __typeof__(type) name;
    TORCH_FUNCTIONS(FUNCTION)
#undef FUNCTION
    /* Return the dimensions of an operator's inputs, as vectors of int64_t, and their types, as std::string. NULL if
     * the library lacks one of these functions. */
    struct torch_vector (*input_sizes)(const struct torch_function *function, bool flatten_lists);
    struct torch_vector (*input_types)(const struct torch_function *function);
    void (*delete)(void *memory);
    bool short_strings; /* a std::string has 32 bytes, as in C++11; false: it is a pointer */
    /* Return whether an at::IValue is a list of such values. NULL if the library lacks one of these functions. */
    bool (*is_tensor_list)(const void *value);
    bool (*is_bool_list)(const void *value);
    bool (*concrete_inputs)(void); /* whether the profiler records numbers; NULL before 2.1, which cannot */
    bool shows_list_sizes;         /* the profiler shows the dimensions of tensors in lists: since 2.2 */
};

/* Returns a handle of the library for dlsym(), or NULL if it is not loaded. PATH, unless NULL, is set to its file. The
 * library stays loaded as long as the process, because it has our callbacks. Waits for another thread that is loading
 * it. */
void *torch_library_open(char path[PATH_MAX]);

/* Finds the library in the process. Returns 1 if it was found, 0 if it is not loaded, or -1 if it is not usable; WHY
 * (SIZE bytes) then has the reason. Takes the dynamic loader's lock. */
int torch_library_find(struct torch_library *library, char *why, unsigned size);

/*
 * Layouts of an operator's record. A layout is trusted once the first operators agree with it in everything that is
 * known about them in other ways.
 */

/* The details read from an operator's record. */
struct torch_details {
    int64_t sequence;    /* -1 if there is none */
    uint64_t forward_in; /* in the backward pass, PyTorch's number of the forward pass's thread; else 0 */
};

/* Does the work of torch_layout_read() while no layout is trusted. */
bool torch_layout_try(struct torch_library *library, const struct torch_function *function, enum torch_scope scope,
                      const char *name, struct torch_details *details) __attribute__((cold));

/* Returns the 8 bytes of an operator's record from AT on. */
static inline uint64_t torch_word_at(const struct torch_function *function, uint32_t at)
{
    uint64_t word;
    memcpy(&word, (const char *)function + at, sizeof(word));
    return word;
}

/* Reads the details of FUNCTION, which just began on this thread, in SCOPE (TORCH_SCOPE_FUNCTION stands for any scope
 * other than backward and user). Returns false if no layout fits. */
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

/* Returns the inputs of FUNCTION, an array of *COUNT at::IValue objects, or NULL if their offset is unknown. Call after
 * torch_layout_read(). */
const char *torch_layout_inputs(const struct torch_function *function, uint64_t *count);

/* Warns the user, once, if no layout fits. */
void torch_layout_report_refusal(void) __attribute__((cold));

/* --- torch.profiler in the program --- */

/*
 * Records once for a process that torch.profiler runs in the program beside gputrace: CUPTI serves only one profiler,
 * so one of the two gets no CUDA activity.
 *
 * A function of PyTorch returns whether its profiler runs on a thread. It is called when a thread has waited for its
 * device, which torch.profiler does before it ends if it records CUDA, and at some of PyTorch's operators if these are
 * recorded.
 */

/* Subscribes to waits as TRACE_BITS say. Called once for a process and its forks. Returns 0, or -1 with errno set. */
int torch_profiler_init(uint64_t trace_bits);

/* Looks for PyTorch's profiler if libraries were loaded since the last call. Takes the dynamic loader's lock. */
void torch_profiler_find(void);

/* Asks PyTorch whether its profiler runs on this thread, unless one was noticed before. Takes some nanoseconds. */
void torch_profiler_ask(void);

#endif
