/*
 * The inputs of an operator, by functions of PyTorch's profiler: dimensions and types.
 *
 * They return vectors of C++, which are read here and freed. Tensors whose dimensions are symbols, as torch.compile()
 * has them while it traces, make PyTorch throw. It catches that itself, outside of the callback, and the operator is
 * recorded by then.
 */
#include "agent/torch/operators.h"

#include <stdio.h>
#include <string.h>

#include "agent/spool/recorder.h"
#include "common/clock.h"

#define VECTOR_BYTES sizeof(struct torch_vector)
#define LONG_STRING_BYTES 32 /* a std::string of C++11: pointer, length, short text */
#define INPUTS_MOST 256      /* more are left out … */
#define DIMENSIONS_MOST 64   /* … as are these */

static bool stopped;         /* for good */
static __thread bool inside; /* a call of PyTorch's that has not returned */

static void stop(const char *why)
{
    if (!__atomic_exchange_n(&stopped, true, __ATOMIC_RELAXED))
        recorder_note(SPOOL_NOTE_WARNING, "PyTorch's operators are recorded without their inputs from then on: %s",
                      why);
}

/* --- the text --- */

struct text {
    char bytes[4096];
    size_t length;
    bool cut;
};

static void put(struct text *text, const char *bytes, size_t length)
{
    text->cut |= length > sizeof(text->bytes) - text->length;
    if (text->cut)
        return;
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
}

static void put_number(struct text *text, int64_t number)
{
    char digits[24];
    int length = snprintf(digits, sizeof(digits), "%lld", (long long)number);
    put(text, digits, (size_t)length);
}

/* --- vectors --- */

static bool is_vector(const struct torch_vector *vector, size_t item_bytes, size_t most)
{
    uintptr_t begin = (uintptr_t)vector->begin, end = (uintptr_t)vector->end;
    return begin <= end && end <= (uintptr_t)vector->space_end && (end - begin) % item_bytes == 0 &&
           (end - begin) / item_bytes <= most && begin % sizeof(uint64_t) == 0;
}

static size_t count_of(const struct torch_vector *vector, size_t item_bytes)
{
    return (size_t)(vector->end - vector->begin) / item_bytes;
}

static bool put_dimensions(struct text *text, const struct torch_vector *dimensions)
{
    if (!is_vector(dimensions, sizeof(int64_t), DIMENSIONS_MOST))
        return false;
    put(text, "[", 1);
    for (size_t i = 0; i < count_of(dimensions, sizeof(int64_t)); i++) {
        int64_t dimension;
        memcpy(&dimension, dimensions->begin + i * sizeof(dimension), sizeof(dimension));
        put(text, ",", i > 0);
        put_number(text, dimension);
    }
    put(text, "]", 1);
    return true;
}

static bool put_sizes(struct text *text, const struct torch_vector *sizes)
{
    bool known = true;
    put(text, "[", 1);
    for (size_t i = 0; i < count_of(sizes, VECTOR_BYTES) && known; i++) {
        struct torch_vector dimensions;
        memcpy(&dimensions, sizes->begin + i * VECTOR_BYTES, sizeof(dimensions));
        put(text, ",", i > 0);
        known = put_dimensions(text, &dimensions);
    }
    put(text, "]", 1);
    return known;
}

/* PyTorch's profiler has one word for all numbers, and one for lists of them. */
static const char *shown_type(const char *type)
{
    static const char *const words[][2] = {
        {"Int", "Scalar"},           {"Double", "Scalar"},      {"Bool", "Scalar"},
        {"ComplexDouble", "Scalar"}, {"IntList", "ScalarList"}, {"DoubleList", "ScalarList"},
        {"BoolList", "ScalarList"},
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (strcmp(type, words[i][0]) == 0)
            return words[i][1];
    return type;
}

/* The text of the string at AT, which ends with a NUL. */
static const char *string_at(const char *at)
{
    const char *text;
    memcpy(&text, at, sizeof(text));
    return text;
}

/* Each with its NUL. */
static void put_types(struct text *text, const struct torch_vector *types, size_t string_bytes)
{
    for (size_t i = 0; i < count_of(types, string_bytes); i++) {
        const char *type = shown_type(string_at(types->begin + i * string_bytes));
        put(text, type, strlen(type) + 1);
    }
}

/* --- freeing --- */

static void free_vector(const struct torch_library *library, const struct torch_vector *vector)
{
    if (vector->begin)
        library->delete (vector->begin);
}

static void free_sizes(const struct torch_library *library, const struct torch_vector *sizes)
{
    for (size_t i = 0; i < count_of(sizes, VECTOR_BYTES); i++)
        free_vector(library, (const struct torch_vector *)(const void *)(sizes->begin + i * VECTOR_BYTES));
    free_vector(library, sizes);
}

/* Long texts of the old strings are shared and counted, which costs less to leave than to know. */
static void free_types(const struct torch_library *library, const struct torch_vector *types, size_t string_bytes)
{
    for (size_t i = 0; i < count_of(types, string_bytes) && library->short_strings; i++) {
        char *at = types->begin + i * string_bytes;
        if (string_at(at) != at + 2 * sizeof(uint64_t))
            library->delete ((void *)(uintptr_t)string_at(at));
    }
    free_vector(library, types);
}

/* --- an operator's inputs --- */

static void record(const struct torch_library *library, uint32_t self, const struct torch_vector *sizes,
                   const struct torch_vector *types)
{
    size_t string_bytes = library->short_strings ? LONG_STRING_BYTES : sizeof(char *);
    struct text text;
    text.length = 0;
    text.cut = false;
    bool known = is_vector(sizes, VECTOR_BYTES, INPUTS_MOST) && is_vector(types, string_bytes, INPUTS_MOST) &&
                 count_of(sizes, VECTOR_BYTES) == count_of(types, string_bytes) && put_sizes(&text, sizes);
    if (!known) {
        stop("its vectors are not as expected");
        return;
    }
    put(&text, "", 1);
    put_types(&text, types, string_bytes);
    if (!text.cut && sizes->begin != sizes->end)
        record_write(SPOOL_RECORD_TORCH_INPUTS, torch_inputs, clock_now(), .self = self,
                     .inputs = operator_text(SPOOL_OPERATOR_INPUTS, text.bytes, text.length));
    free_sizes(library, sizes);
    free_types(library, types, string_bytes);
}

void operator_inputs_record(const struct torch_library *library, const struct torch_function *function, uint32_t self)
{
    struct torch_vector sizes = {0}, types = {0};
    if (inside)
        stop("PyTorch could not give them");
    inside = false;
    if (__atomic_load_n(&stopped, __ATOMIC_RELAXED))
        return;
    inside = true;
    library->input_sizes(&sizes, function, false);
    library->input_types(&types, function);
    inside = false;
    record(library, self, &sizes, &types);
}
