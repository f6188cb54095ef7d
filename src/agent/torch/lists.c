/*
 * Lists among an operator's inputs, shown as the torch.profiler of the same version of PyTorch shows them.
 *
 *              tensors                             up to 30 numbers, or empty      others
 *     to 2.0   "TensorList", []                    ""                              ""
 *     2.1      "TensorList", []                    "ScalarList", []                "", []
 *     2.2      "TensorList", the dimensions of     "ScalarList", []                "", []
 *              each, [] of more than 30
 *
 * inputTypes() has the word "GenericList" for all of these, so the values themselves are looked at: an at::IValue is 16
 * bytes, a payload and a tag, and that of a list points to a count of references and a std::vector of such values. Of
 * every operator the tags must agree with what inputTypes() says of the same inputs, or lists are not looked at again.
 */
#include <string.h>

#include "agent/spool/recorder.h"
#include "agent/torch/operators.h"
#include "common/memory.h"

#define VALUE_BYTES 16
#define TAG_AT 8
#define SHOWN_MOST 30                   /* as torch.profiler has it */
#define FLATTENED_MOST ((uint64_t)4096) /* tensors: of an operator with more, no dimensions of lists */
#define VALUES_MOST ((uint64_t)1 << 24)

/* at::IValue's tags that are the same in all versions. */
enum { TAG_TENSOR = 1, TAG_DOUBLE = 3, TAG_COMPLEX = 4, TAG_INT = 5 };

static bool refused;      /* for good */
static uint32_t list_tag; /* 0: none was met */

static uint32_t tag_of(const char *value)
{
    return LOAD(uint32_t, value + TAG_AT);
}

static bool is_list(const char *type)
{
    return strcmp(type, "GenericList") == 0;
}

/* The tag that inputs of this TYPE have. 0: any. */
static uint32_t tag_of_type(const char *type)
{
    static const struct {
        const char *type;
        uint32_t tag;
    } tags[] = {{"", 0},
                {"Double", TAG_DOUBLE},
                {"ComplexDouble", TAG_COMPLEX},
                {"Int", TAG_INT},
                {"Bool", 0},
                {"SymInt", 0},
                {"SymFloat", 0},
                {"SymBool", 0},
                {"UInt", 0}};
    for (size_t i = 0; i < sizeof(tags) / sizeof(*tags); i++)
        if (strcmp(type, tags[i].type) == 0)
            return tags[i].tag;
    return TAG_TENSOR;
}

static bool tag_fits(const char *type, uint32_t tag)
{
    uint32_t wanted = is_list(type) ? __atomic_load_n(&list_tag, __ATOMIC_RELAXED) : tag_of_type(type);
    if (wanted != 0)
        return tag == wanted;
    if (is_list(type) && tag > TAG_INT)
        __atomic_store_n(&list_tag, tag, __ATOMIC_RELAXED);
    return !is_list(type) || tag > TAG_INT;
}

/* The values of the list: *COUNT of them; NULL of an empty one. False: this is not a list. */
static bool open_list(const char *value, const char **items, uint64_t *count)
{
    /* After the table of virtual functions and one count of references, or two. */
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

static bool are_numbers(const struct torch_library *library, const char *value, const char *items, uint64_t count)
{
    if (!library->concrete_inputs || !library->concrete_inputs() || count > SHOWN_MOST)
        return false;
    return count == 0 || (tag_of(items) >= TAG_DOUBLE && tag_of(items) <= TAG_INT) || library->is_bool_list(value);
}

static bool read_list(struct input_list *list, const struct torch_library *library, const char *value)
{
    const char *items;
    uint64_t count;
    if (!open_list(value, &items, &count))
        return false;
    uint32_t tensors = 0;
    for (uint64_t i = 0; i < count; i++)
        tensors += tag_of(items + i * VALUE_BYTES) == TAG_TENSOR;
    bool of_tensors = library->is_tensor_list(value);
    if (of_tensors && tensors != count)
        return false;
    list->kind = of_tensors ? INPUT_TENSORS : are_numbers(library, value, items, count) ? INPUT_NUMBERS : INPUT_OTHERS;
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
        if (!tag_fits(type, tag_of(value)) || (is_list(type) && !read_list(list, library, value)))
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
