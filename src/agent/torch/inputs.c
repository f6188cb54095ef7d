/*
 * The inputs of an operator, by functions of PyTorch's profiler: dimensions and types.
 *
 * These functions return C++ vectors, which are read and freed here. Tensors with symbolic dimensions, as
 * torch.compile() uses while it traces, make PyTorch throw. PyTorch catches the exception itself, outside of our
 * callback, and the operator is already recorded by then.
 */
#include <stdio.h>
#include <string.h>

#include "agent/spool/recorder.h"
#include "agent/spool/writer.h"
#include "agent/torch/operators.h"
#include "common/clock.h"
#include "common/memory.h"

#define VECTOR_BYTES sizeof(struct torch_vector)
#define LONG_STRING_BYTES 32 /* size of a C++11 std::string: pointer, length, short text */
#define DIMENSIONS_MOST 64   /* maximum of dimensions of an input; an operator with more is left out */
#define SIZES_MOST 65536

static bool stopped;         /* inputs are not recorded any more */
static __thread bool inside; /* a call of PyTorch's has not returned on this thread */

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
        char digits[24];
        int64_t dimension = LOAD(int64_t, dimensions->begin + i * sizeof(dimension));
        put(text, ",", i > 0);
        put(text, digits, (size_t)snprintf(digits, sizeof(digits), "%lld", (long long)dimension));
    }
    put(text, "]", 1);
    return true;
}

/* Puts the dimensions of COUNT tensors from *AT on, and moves *AT behind them. */
static bool put_tensors(struct text *text, const char **at, uint32_t count)
{
    bool known = true;
    for (uint32_t i = 0; i < count && known; i++, *at += VECTOR_BYTES) {
        const struct torch_vector dimensions = LOAD(struct torch_vector, *at);
        put(text, ",", i > 0);
        known = put_dimensions(text, &dimensions);
    }
    return known;
}

/* Puts the dimensions of COUNT inputs. If PyTorch has flattened LISTS, lists whose sizes are not shown are empty. */
static bool put_sizes(struct text *text, const struct torch_vector *sizes, const struct input_lists *lists,
                      size_t count)
{
    const char *at = sizes->begin;
    bool known = true;
    put(text, "[", 1);
    for (size_t i = 0; i < count && known; i++) {
        const struct input_list *list = &lists->items[i];
        put(text, ",", i > 0);
        if (!lists->flatten || list->kind == INPUT_ALONE) {
            known = put_tensors(text, &at, 1);
            continue;
        }
        put(text, "[", 1);
        if (list->shown)
            known = put_tensors(text, &at, list->sizes);
        else
            at += list->sizes * VECTOR_BYTES;
        put(text, "]", 1);
    }
    put(text, "]", 1);
    return known;
}

/* Returns the type's name as in PyTorch's profiler, which has one word for all numbers. */
static const char *shown_type(const char *type, enum input_kind kind)
{
    static const char *const words[][2] = {
        {"Int", "Scalar"}, {"Double", "Scalar"}, {"Bool", "Scalar"}, {"ComplexDouble", "Scalar"}};
    static const char *const lists[] = {
        [INPUT_TENSORS] = "TensorList", [INPUT_NUMBERS] = "ScalarList", [INPUT_OTHERS] = ""};
    if (kind != INPUT_ALONE)
        return lists[kind];
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (strcmp(type, words[i][0]) == 0)
            return words[i][1];
    return type;
}

/* --- an operator's inputs --- */

static void free_vector(const struct torch_library *library, const struct torch_vector *vector)
{
    if (vector->begin)
        library->delete(vector->begin);
}

static void free_sizes(const struct torch_library *library, const struct torch_vector *sizes)
{
    for (size_t i = 0; i < count_of(sizes, VECTOR_BYTES); i++)
        free_vector(library, (const struct torch_vector *)(const void *)(sizes->begin + i * VECTOR_BYTES));
    free_vector(library, sizes);
}

/* Records the inputs, unless their text is too long. Returns false if the vectors are not as expected. */
static bool record(uint32_t self, const struct torch_vector *sizes, const struct torch_vector *types,
                   size_t string_bytes, const struct input_lists *lists)
{
    size_t count = count_of(types, string_bytes);
    struct text text;
    text.length = 0;
    text.cut = false;
    if (!is_vector(sizes, VECTOR_BYTES, SIZES_MOST) ||
        count_of(sizes, VECTOR_BYTES) != (lists->flatten ? lists->sizes : count) ||
        !put_sizes(&text, sizes, lists, count))
        return false;
    put(&text, "", 1);
    for (size_t i = 0; i < count; i++) { /* each type ends with a NUL */
        enum input_kind kind = lists->known ? (enum input_kind)lists->items[i].kind : INPUT_ALONE;
        const char *type = shown_type(LOAD(const char *, types->begin + i * string_bytes), kind);
        put(&text, type, strlen(type) + 1);
    }
    if (!text.cut && count > 0)
        record_write(SPOOL_RECORD_TORCH_INPUTS, torch_inputs, clock_now(), .self = self,
                     .inputs = operator_text(SPOOL_OPERATOR_INPUTS, text.bytes, text.length));
    return true;
}

void operator_inputs_record(const struct torch_library *library, const struct torch_function *function, uint32_t self)
{
    struct torch_vector sizes = {0}, types = {0};
    struct input_lists lists;
    size_t string_bytes = library->short_strings ? LONG_STRING_BYTES : sizeof(char *);
    if (inside)
        stop("PyTorch could not give them");
    inside = false;
    if (__atomic_load_n(&stopped, __ATOMIC_RELAXED))
        return;
    inside = true;
    types = library->input_types(function);
    bool known = is_vector(&types, string_bytes, INPUTS_MOST);
    if (known) {
        input_lists_read(&lists, library, function, types.begin, string_bytes, count_of(&types, string_bytes));
        sizes = library->input_sizes(function, lists.flatten);
        /* Undefined tensors in lists have no dimensions, so the number does not match: then dimensions are read again
         * without those of lists. */
        if (lists.flatten && is_vector(&sizes, VECTOR_BYTES, SIZES_MOST) &&
            count_of(&sizes, VECTOR_BYTES) != lists.sizes) {
            free_sizes(library, &sizes);
            lists.flatten = false;
            sizes = library->input_sizes(function, false);
        }
    }
    inside = false;
    if (!known || !record(self, &sizes, &types, string_bytes, &lists)) {
        stop("its vectors are not as expected");
        return;
    }
    free_sizes(library, &sizes);
    /* Frees the types. Long texts of old-style strings are shared and reference-counted: leaking them is cheaper than
     * releasing them correctly. */
    for (size_t i = 0; i < count_of(&types, string_bytes) && library->short_strings; i++) {
        char *at = types.begin + i * string_bytes, *text = LOAD(char *, at);
        if (text != at + 2 * sizeof(uint64_t))
            library->delete(text);
    }
    free_vector(library, &types);
}

/* --- lists among inputs --- */

/*
 * Lists among an operator's inputs, shown as the torch.profiler of the same version of PyTorch shows them.
 *
 *               tensors                             up to 30 numbers, or empty      others
 *      to 2.0   "TensorList", []                    ""                              ""
 *      2.1      "TensorList", []                    "ScalarList", []                "", []
 *      2.2      "TensorList", the dimensions of     "ScalarList", []                "", []
 *               each, [] of more than 30
 *
 * inputTypes() has the word "GenericList" for all of these, so the values themselves are read: an at::IValue is 16
 * bytes, a payload and a tag. A list's payload points to a reference count and a std::vector of such values. For every
 * operator the tags must agree with inputTypes(); otherwise lists are not read any more.
 */

#define VALUE_BYTES 16
#define TAG_AT 8
#define SHOWN_MOST 30                   /* the limit of torch.profiler */
#define FLATTENED_MOST ((uint64_t)4096) /* for an operator with more tensors, no dimensions of lists are read */
#define VALUES_MOST ((uint64_t)1 << 24)

/* Tags of at::IValue with the same number in all versions. */
enum { TAG_TENSOR = 1, TAG_DOUBLE = 3, TAG_COMPLEX = 4, TAG_INT = 5 };

static bool refused;      /* lists are not read any more */
static uint32_t list_tag; /* tag of a list; 0 before the first list */

#define TAG_OF(value) LOAD(uint32_t, (value) + TAG_AT)
#define LIST "GenericList"

/* Whether inputs of this TYPE may have this TAG. Learns the tag of lists from the first one. */
static bool tag_fits(const char *type, uint32_t tag)
{
    static const struct {
        const char *type;
        uint32_t tag; /* 0: any tag */
    } tags[] = {{"", 0},
                {"Double", TAG_DOUBLE},
                {"ComplexDouble", TAG_COMPLEX},
                {"Int", TAG_INT},
                {"Bool", 0},
                {"SymInt", 0},
                {"SymFloat", 0},
                {"SymBool", 0},
                {"UInt", 0}};
    if (strcmp(type, LIST) == 0) {
        uint32_t known = __atomic_load_n(&list_tag, __ATOMIC_RELAXED);
        if (known == 0 && tag > TAG_INT)
            __atomic_store_n(&list_tag, tag, __ATOMIC_RELAXED);
        return known ? tag == known : tag > TAG_INT;
    }
    for (size_t i = 0; i < sizeof(tags) / sizeof(*tags); i++)
        if (strcmp(type, tags[i].type) == 0)
            return tags[i].tag == 0 || tag == tags[i].tag;
    return tag == TAG_TENSOR;
}

/* Returns in *ITEMS the values of the list, NULL for an empty list, and in *COUNT their number. Returns false if VALUE
 * is not a list. */
static bool open_list(const char *value, const char **items, uint64_t *count)
{
    /* The vector follows the virtual function table and one or two reference counts. */
    static const unsigned places[] = {16, 24};
    const char *list = (const char *)(uintptr_t)LOAD(uint64_t, value);
    for (unsigned i = 0; i < 2; i++) {
        uint64_t begin = LOAD(uint64_t, list + places[i]), end = LOAD(uint64_t, list + places[i] + 8);
        uint64_t space_end = LOAD(uint64_t, list + places[i] + 16);
        if (begin > end || end > space_end || begin % sizeof(uint64_t) != 0 || (end - begin) % VALUE_BYTES != 0 ||
            (space_end - begin) % VALUE_BYTES != 0 || (begin == 0) != (space_end == 0))
            continue;
        *items = (const char *)(uintptr_t)begin;
        *count = (end - begin) / VALUE_BYTES;
        return *count <= VALUES_MOST;
    }
    return false;
}

static bool read_list(struct input_list *list, const struct torch_library *library, const char *value)
{
    const char *items;
    uint64_t count;
    if (!open_list(value, &items, &count))
        return false;
    uint32_t tensors = 0;
    for (uint64_t i = 0; i < count; i++)
        tensors += TAG_OF(items + i * VALUE_BYTES) == TAG_TENSOR;
    bool of_tensors = library->is_tensor_list(value);
    if (of_tensors && tensors != count)
        return false;
    list->kind = of_tensors ? INPUT_TENSORS : INPUT_OTHERS;
    if (!of_tensors && library->concrete_inputs && library->concrete_inputs() && count <= SHOWN_MOST &&
        (count == 0 || (TAG_OF(items) >= TAG_DOUBLE && TAG_OF(items) <= TAG_INT) || library->is_bool_list(value)))
        list->kind = INPUT_NUMBERS;
    list->sizes = tensors > 0 ? tensors : 1;
    list->shown = of_tensors && library->shows_list_sizes && tensors > 0 && tensors <= SHOWN_MOST;
    return true;
}

static bool read_all(struct input_lists *lists, const struct torch_library *library, const char *values,
                     const char *types, size_t string_bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *type = (const char *)(uintptr_t)LOAD(uint64_t, types + i * string_bytes),
                   *value = values + i * VALUE_BYTES;
        struct input_list *list = &lists->items[i];
        *list = (struct input_list){.kind = INPUT_ALONE, .sizes = 1};
        if (!tag_fits(type, TAG_OF(value)) || (strcmp(type, LIST) == 0 && !read_list(list, library, value)))
            return false;
        lists->flatten |= list->shown;
        lists->sizes += list->sizes;
    }
    lists->flatten &= lists->sizes <= FLATTENED_MOST;
    return true;
}

void input_lists_read(struct input_lists *lists, const struct torch_library *library,
                      const struct torch_function *function, const char *types, size_t string_bytes, size_t count)
{
    uint64_t held = 0;
    lists->known = lists->flatten = false;
    lists->sizes = 0;
    if (!library->is_tensor_list || __atomic_load_n(&refused, __ATOMIC_RELAXED))
        return;
    const char *values = torch_layout_inputs(function, &held);
    bool fits = values && held == count && (uintptr_t)values % sizeof(uint64_t) == 0;
    lists->known = count == 0 || (fits && read_all(lists, library, values, types, string_bytes, count));
    if (!lists->known && !__atomic_exchange_n(&refused, true, __ATOMIC_RELAXED))
        recorder_note(SPOOL_NOTE_WARNING, "PyTorch's operators are recorded without what lists among their inputs "
                                          "hold: this version's values are not known");
    lists->flatten &= lists->known;
}
